import io.lettuce.core.event.connection.DisconnectedEvent;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** What the lock programs of libraries over Spring Data Redis share. */
final class SpringProgram {
    /** How many connections broke: Lettuce connects again, and sends once more what was not answered. */
    static final AtomicLong BROKE = new AtomicLong();

    /** For a no: it is sure if no connection broke since. */
    static Exception no(long broke, String why) {
        return BROKE.get() == broke ? new SimAdapter.Refused(why) : new IllegalStateException(why);
    }

    static LettuceConnectionFactory connect(SimAdapter.Setup setup) throws Exception {
        if (setup.nodes().size() != 1) throw new SimAdapter.Unsupported("it locks on one node");
        var node = setup.nodes().get(0);
        ClientResources resources = DefaultClientResources.create();
        resources.eventBus().get().subscribe(event -> {
            if (event instanceof DisconnectedEvent) BROKE.incrementAndGet();
        });
        var server = new RedisStandaloneConfiguration(node.host(), node.port());
        if (!node.password().isEmpty()) server.setPassword(node.password());
        var factory = new LettuceConnectionFactory(server, LettuceClientConfiguration.builder().clientResources(resources).build());
        factory.afterPropertiesSet();
        if ((Object) factory instanceof Lifecycle cycle) cycle.start(); // since Spring Data 3
        try (var connection = factory.getConnection()) {
            connection.ping();
        } catch (RuntimeException err) {
            System.err.println("not connected: " + err);
        }
        return factory;
    }
}
