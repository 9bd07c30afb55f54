import org.springframework.context.Lifecycle;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** What the lock programs of libraries over Spring Data Redis share. */
final class SpringProgram {
    static LettuceConnectionFactory connect(SimAdapter.Setup setup) throws Exception {
        if (setup.nodes().size() != 1) throw new SimAdapter.Unsupported("it locks on one node");
        var node = setup.nodes().get(0);
        var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(node.host(), node.port()));
        factory.afterPropertiesSet();
        if ((Object) factory instanceof Lifecycle cycle) cycle.start(); // since Spring Data 3
        try (var connection = factory.getConnection()) {
            connection.ping();
        }
        return factory;
    }
}
