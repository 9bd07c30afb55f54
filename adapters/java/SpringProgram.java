import io.lettuce.core.event.connection.DisconnectedEvent;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
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
        ClientResources resources = DefaultClientResources.create();
        setup.onClose(() -> resources.shutdown(0, 0, TimeUnit.SECONDS).get());
        resources.eventBus().get().subscribe(event -> {
            if (event instanceof DisconnectedEvent) BROKE.incrementAndGet();
        });
        var client = LettuceClientConfiguration.builder().clientResources(resources).build();
        var factory = factory(setup, client);
        setup.onClose(factory::destroy);
        factory.afterPropertiesSet();
        if ((Object) factory instanceof Lifecycle cycle) cycle.start(); // since Spring Data 3
        try {
            var connection = factory.getConnection(); // AutoCloseable since Spring Data 2.2 alone
            connection.ping();
            connection.close();
        } catch (RuntimeException err) {
            System.err.println("not connected: " + err);
        }
        return factory;
    }

    static LettuceConnectionFactory factory(SimAdapter.Setup setup, LettuceClientConfiguration client) throws Exception {
        if (!setup.sentinels().isEmpty()) {
            var sentinels = new RedisSentinelConfiguration().master(setup.master());
            for (var s : setup.sentinels()) sentinels.sentinel(s.host(), s.port());
            return new LettuceConnectionFactory(sentinels, client);
        }
        if ("cluster".equals(setup.topology())) {
            var nodes = new RedisClusterConfiguration();
            for (var n : setup.nodes()) nodes.clusterNode(n.host(), n.port());
            return new LettuceConnectionFactory(nodes, client);
        }
        if (setup.nodes().size() != 1) throw new SimAdapter.Unsupported("it locks on one node");
        var node = setup.nodes().get(0);
        var server = new RedisStandaloneConfiguration(node.host(), node.port());
        if (!node.password().isEmpty()) server.setPassword(node.password());
        return new LettuceConnectionFactory(server, client);
    }
}
