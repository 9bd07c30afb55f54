import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;

/** The lock program of ShedLock on Redis. --safe: with its safe update. */
final class ShedLockProgram {
    static final int PAUSE_MS = 50; // between two tries: ShedLock itself tries once

    public static void main(String[] args) {
        boolean safe = List.of(args).contains("--safe");
        SimAdapter.serve(new SimAdapter.Program("ShedLock" + (safe ? ", safe update" : ""), Library.version(RedisLockProvider.class), "single", "job-lock:default:{key}")
                .with("homepage", "https://github.com/lukas-krecan/ShedLock").with("about", "client Lettuce with its defaults").can("sentinel", "cluster", "at-least", "extend", "setup-again"), setup -> {
            LockProvider provider = provider(setup, safe);
            return wait -> {
                long end = wait == null ? Long.MAX_VALUE : System.nanoTime() + (long) (wait * 1e6);
                long begin = SpringProgram.BROKE.get();
                var lease = Duration.ofMillis(setup.ttl().longValue());
                var atLeast = Duration.ofMillis((long) setup.atLeast()); // lockAtLeastFor
                while (true) {
                    var lock = provider.lock(new LockConfiguration(Instant.now(), setup.key(), lease, atLeast));
                    if (lock.isPresent()) {
                        var held = new AtomicReference<SimpleLock>(lock.get()); // an extended lock is another object
                        return new SimAdapter.Grant(() -> held.get().unlock()).extend(() -> {
                            long asked = SpringProgram.BROKE.get();
                            held.set(held.get().extend(lease, atLeast).orElseThrow(() -> SpringProgram.no(asked, "not extended")));
                            return null;
                        });
                    }
                    if (System.nanoTime() + PAUSE_MS * 1_000_000L >= end) throw SpringProgram.no(begin, "taken");
                    Thread.sleep(PAUSE_MS);
                }
            };
        });
    }

    static LockProvider provider(SimAdapter.Setup setup, boolean safe) throws Exception {
        var builder = new RedisLockProvider.Builder(SpringProgram.connect(setup));
        if (safe) { // by its name: the versions before do not have it
            RedisLockProvider.Builder.class.getMethod("safeUpdate", boolean.class).invoke(builder, true);
        }
        return builder.build();
    }
}
