import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/**
 * The lock program of Curator's InterProcessSemaphoreV2 with one lease, which is a mutex. With --interrupt a client that has waited for long
 * enough is interrupted, as by Future.cancel or ExecutorService.shutdownNow; else the library is told how long it may wait.
 */
final class CuratorSemaphoreProgram {
    public static void main(String[] args) {
        boolean interrupts = args.length > 0 && args[0].equals("--interrupt");
        SimAdapter.serve(new SimAdapter.Program("Curator InterProcessSemaphoreV2", Library.version(InterProcessSemaphoreV2.class), "session", "{key}")
                .with("store", "zookeeper").with("ttl_min_ms", 200).with("homepage", "https://curator.apache.org")
                .with("about", "one lease; ExponentialBackoffRetry(1000, 3); the session's timeout is the TTL"
                        + (interrupts ? "; a client gives up by an interrupt" : "")).can("renew", "lost", "cancel"), setup -> {
            var held = ConcurrentHashMap.<SimAdapter.Grant>newKeySet();
            var client = CuratorProgram.connect(setup, held);
            setup.onClose(client);
            return wait -> {
                var semaphore = new InterProcessSemaphoreV2(client, "/" + setup.key(), 1);
                Lease lease;
                if (wait == null) lease = semaphore.acquire();
                else if (interrupts) lease = interruptedAfter(wait.longValue(), semaphore);
                else lease = semaphore.acquire(wait.longValue(), TimeUnit.MILLISECONDS);
                if (lease == null) throw new SimAdapter.Refused("taken");
                var made = new SimAdapter.Grant[1];
                made[0] = new SimAdapter.Grant(() -> {
                    held.remove(made[0]);
                    lease.close();
                });
                held.add(made[0]);
                return made[0];
            };
        });
    }

    private static final Timer ALARMS = new Timer(true);

    /** Waits for a lease without a bound, and is interrupted after a while: null. */
    private static Lease interruptedAfter(long millis, InterProcessSemaphoreV2 semaphore) throws Exception {
        var waits = Thread.currentThread();
        var waiting = new AtomicBoolean(true);
        var alarm = new TimerTask() {
            @Override
            public void run() {
                synchronized (waiting) {
                    if (waiting.get()) waits.interrupt();
                }
            }
        };
        ALARMS.schedule(alarm, millis);
        try {
            return semaphore.acquire();
        } catch (InterruptedException err) {
            return null;
        } finally {
            synchronized (waiting) {
                waiting.set(false);
                Thread.interrupted(); // it may have come when there was a lease
            }
            alarm.cancel();
        }
    }
}
