import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The lock program of Redisson: VERSION, and --reenter: each holder enters an RLock with a watchdog twice; or --multi: a lock over two
 *  names, with a lease in seconds. */
final class RedissonProgram {
    public static void main(String[] args) {
        boolean multi = List.of(args).contains("--multi");
        var program = multi
                ? new SimAdapter.Program("Redisson MultiLock", args[0], "single", "{key}", "{key}:second").with("ttl_min_ms", 1000).with("ttl_step_ms", 1000)
                : new SimAdapter.Program("Redisson RLock", args[0], "single", "{key}").can("renew");
        SimAdapter.serve(program.with("homepage", "https://github.com/redisson/redisson"), setup -> {
            if (setup.nodes().size() != 1) throw new SimAdapter.Unsupported("it locks on one node");
            RedissonClient client = connect(setup);
            return multi ? wait -> both(client, setup) : wait -> twice(client.getLock(setup.key()), wait);
        });
    }

    static RedissonClient connect(SimAdapter.Setup setup) {
        var node = setup.nodes().get(0);
        var config = new Config();
        config.setLockWatchdogTimeout(setup.ttl().longValue()).setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress("redis://" + node.host() + ":" + node.port())
                .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4).setSubscriptionConnectionPoolSize(2);
        return Redisson.create(config);
    }

    static long orForEver(Double wait) { return wait == null ? 86_400_000 : wait.longValue(); }

    static SimAdapter.Grant twice(RLock lock, Double wait) throws Exception {
        if (!lock.tryLock(orForEver(wait), -1, TimeUnit.MILLISECONDS)) throw new SimAdapter.Refused("taken");
        if (!lock.tryLock(orForEver(wait), -1, TimeUnit.MILLISECONDS)) throw new IllegalStateException("its holder may not enter it again");
        return new SimAdapter.Grant(() -> {
            unlock(lock);
            unlock(lock);
        });
    }

    /** It waits for ever: a lock over several names that is to wait for less time asks in another way. */
    static SimAdapter.Grant both(RedissonClient client, SimAdapter.Setup setup) {
        var lock = client.getMultiLock(client.getLock(setup.key()), client.getLock(setup.key() + ":second"));
        lock.lock(setup.ttl().longValue() / 1000, TimeUnit.SECONDS);
        return new SimAdapter.Grant(() -> unlock(lock));
    }

    static void unlock(RLock lock) throws SimAdapter.Refused {
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException err) {
            throw new SimAdapter.Refused(err.getMessage());
        }
    }
}
