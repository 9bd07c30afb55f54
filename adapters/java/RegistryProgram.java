import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** The lock program of Spring Integration's RedisLockRegistry. --pubsub: waiters hear of releases by pub/sub (so they do by themselves
 *  before version 5.5.13, which had no other way). */
final class RegistryProgram {
    public static void main(String[] args) {
        boolean pubsub = List.of(args).contains("--pubsub");
        var program = new SimAdapter.Program("RedisLockRegistry" + (pubsub ? ", pub/sub" : ""), Library.version(RedisLockRegistry.class), "single", "registry:{key}")
                .with("homepage", "https://github.com/spring-projects/spring-integration").with("about", "client Lettuce with its defaults");
        program.can("sentinel", "cluster", "clients", "cancel", "setup-again", "one-object");
        if (pubsub) program.can("wakes");
        SimAdapter.serve(program, setup -> {
            var registry = setup.once(() -> {
                var shared = new RedisLockRegistry(SpringProgram.connect(setup), "registry", setup.ttl().longValue());
                if (pubsub) hearOfReleases(shared);
                setup.onClose(shared::destroy);
                return shared;
            });
            return wait -> {
                Lock lock = setup.lockObject(() -> registry.obtain(setup.key()));
                long begin = SpringProgram.BROKE.get();
                if (!lock.tryLock(wait == null ? 86_400_000 : wait.longValue(), TimeUnit.MILLISECONDS)) throw SpringProgram.no(begin, "taken");
                return new SimAdapter.Grant(() -> {
                    long before = SpringProgram.BROKE.get();
                    try {
                        lock.unlock();
                    } catch (IllegalStateException | ConcurrentModificationException err) {
                        throw SpringProgram.no(before, err.getMessage());
                    }
                });
            };
        });
    }

    static void hearOfReleases(RedisLockRegistry registry) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(RedisLockRegistry.class.getName() + "$RedisLockType");
        } catch (ClassNotFoundException before) {
            return; // they hear of releases by themselves
        }
        RedisLockRegistry.class.getMethod("setRedisLockType", type).invoke(registry, type.getField("PUB_SUB_LOCK").get(null));
    }
}
