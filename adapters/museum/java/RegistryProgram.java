import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** The lock program of Spring Integration's RedisLockRegistry, whose waiters hear of releases by pub/sub: VERSION. */
final class RegistryProgram {
    public static void main(String[] args) {
        SimAdapter.serve(new SimAdapter.Program("RedisLockRegistry", args[0], "single", "registry:{key}")
                .with("homepage", "https://github.com/spring-projects/spring-integration"), setup -> {
            var registry = new RedisLockRegistry(SpringProgram.connect(setup), "registry", setup.ttl().longValue());
            return wait -> {
                Lock lock = registry.obtain(setup.key());
                if (!lock.tryLock(wait == null ? Long.MAX_VALUE : wait.longValue(), TimeUnit.MILLISECONDS)) {
                    throw new SimAdapter.Refused("taken");
                }
                return new SimAdapter.Grant(() -> {
                    try {
                        lock.unlock();
                    } catch (IllegalStateException err) {
                        throw new SimAdapter.Refused(err.getMessage());
                    }
                });
            };
        });
    }
}
