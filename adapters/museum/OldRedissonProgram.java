import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.connection.ConnectionListener;

/** The lock program of Redisson's RLock before version 3.12, with a lease: its client connects at once, and its settings are fewer. --fair: its fair
 *  lock; --read-write: its lock with readers and writers. */
final class OldRedissonProgram {
    static final AtomicLong BROKE = new AtomicLong(); // connections

    public static void main(String[] args) {
        var flags = List.of(args);
        boolean fair = flags.contains("--fair"), modes = flags.contains("--read-write");
        var program = new SimAdapter.Program("Redisson " + (fair ? "fair lock" : modes ? "RReadWriteLock" : "RLock"), Library.version(Redisson.class), "single", "{key}");
        SimAdapter.serve(program.can(fair ? "fair" : modes ? "modes" : "clients", "wakes").with("homepage", "https://github.com/redisson/redisson"), setup -> {
            if (setup.nodes().size() != 1) throw new SimAdapter.Unsupported("it locks on one node");
            var client = setup.once(() -> new Connected(setup));
            try {
                client.get();
            } catch (Exception err) {
                System.err.println("not connected: " + err);
            }
            return wait -> {
                var redisson = client.get();
                RLock lock = fair ? redisson.getFairLock(setup.key()) : !modes ? redisson.getLock(setup.key())
                        : setup.shared() ? redisson.getReadWriteLock(setup.key()).readLock() : redisson.getReadWriteLock(setup.key()).writeLock();
                long begin = BROKE.get();
                if (!lock.tryLock(wait == null ? 86_400_000 : wait.longValue(), setup.ttl().longValue(), TimeUnit.MILLISECONDS)) throw no(begin, "taken");
                return new SimAdapter.Grant(() -> {
                    long before = BROKE.get();
                    try {
                        lock.unlock();
                    } catch (IllegalMonitorStateException err) {
                        throw no(before, err.getMessage());
                    }
                });
            };
        });
    }

    /** Connected is a client, once its node is there. */
    static final class Connected {
        private final SimAdapter.Setup setup;
        private RedissonClient client;

        Connected(SimAdapter.Setup setup) { this.setup = setup; }

        synchronized RedissonClient get() {
            if (client != null) return client;
            var node = setup.nodes().get(0);
            var config = new Config();
            config.setThreads(2).setNettyThreads(2).setCodec(StringCodec.INSTANCE); // the default one looks into the classes of an old Java
            config.useSingleServer().setAddress("redis://" + node.host() + ":" + node.port()).setPassword(node.password().isEmpty() ? null : node.password())
                    .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4).setSubscriptionConnectionPoolSize(2);
            client = Redisson.create(config);
            client.getNodesGroup().addConnectionListener(new ConnectionListener() {
                @Override public void onConnect(InetSocketAddress address) {}
                @Override public void onDisconnect(InetSocketAddress address) { BROKE.incrementAndGet(); }
            });
            return client;
        }
    }

    /** For a no: it is sure if no connection broke since. */
    static Exception no(long broke, String why) { return BROKE.get() == broke ? new SimAdapter.Refused(why) : new IllegalStateException(why); }
}
