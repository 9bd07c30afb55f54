import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.connection.ConnectionListener;

/** The lock program of Redisson's RLock, with a lease. --watchdog: its watchdog renews it; --reenter: so, and each holder enters it twice; --fair: its fair
 *  lock, with a lease; --redlock: RedissonRedLock over the nodes, with a lease; --multi: a lock over two names, with a lease in seconds; --fenced: its lock with
 *  fencing tokens, with a lease; --permits: its semaphore whose permits have a lease; --read-write: its lock with readers and writers, with a lease. */
final class RedissonProgram {
    static final AtomicLong BROKE = new AtomicLong(); // connections

    public static void main(String[] args) {
        var flags = List.of(args);
        String kind = flags.contains("--permits") ? "RPermitExpirableSemaphore" : flags.contains("--read-write") ? "RReadWriteLock" : flags.contains("--multi") ? "MultiLock" : flags.contains("--redlock") ? "RedLock" : flags.contains("--fair") ? "fair lock" : flags.contains("--fenced") ? "RFencedLock" : "RLock";
        boolean renews = flags.contains("--watchdog") || flags.contains("--reenter");
        boolean multi = kind.equals("MultiLock"), quorum = kind.equals("RedLock");
        boolean permits = kind.equals("RPermitExpirableSemaphore");
        var program = new SimAdapter.Program("Redisson " + kind + (renews ? ", watchdog" : ""), Library.version(Redisson.class), quorum ? "quorum" : "single",
                multi ? new String[] {"{key}", "{key}:second"} : new String[] {permits ? "{{key}}:timeout" : "{key}"});
        if (multi) program.with("ttl_min_ms", 1000).with("ttl_step_ms", 1000);
        if (permits) program.with("lease", "ttl").can("permits", "owner", "sentinel", "cluster", "wakes");
        else if (kind.equals("RReadWriteLock")) program.can("modes", "sentinel", "cluster", "wakes");
        else if (kind.equals("fair lock")) program.can("fair", "sentinel", "cluster", "wakes");
        else program.can("sentinel", "cluster");
        if (renews) program.can("renew");
        if (kind.equals("RFencedLock")) program.can("token");
        if (!permits) program.can("one-object");
        if (!multi) program.can("cancel"); // lock() of the MultiLock cannot be interrupted
        if (kind.equals("RLock") || kind.equals("RFencedLock")) program.can("wakes", "clients");
        SimAdapter.serve(program.with("homepage", "https://github.com/redisson/redisson").with("about", "Redisson's own client with its defaults, but for two threads each of its own and of Netty"), setup -> {
            boolean several = setup.nodes().size() > 1 && !"cluster".equals(setup.topology());
            if (several && !quorum) throw new SimAdapter.Unsupported("it locks on one node");
            var clients = setup.once(() -> several ? setup.nodes().stream().map(node -> connect(setup, List.of(node))).toList() : List.of(connect(setup, setup.nodes())));
            var client = clients.get(0);
            long lease = renews ? -1 : setup.ttl().longValue();
            return wait -> switch (kind) {
                case "MultiLock" -> both(setup.lockObject(() -> client.getMultiLock(client.getLock(setup.key()), client.getLock(setup.key() + ":second"))), setup);
                case "RReadWriteLock" -> {
                    var lock = setup.lockObject(() -> client.getReadWriteLock(setup.key()));
                    yield once(setup.shared() ? lock.readLock() : lock.writeLock(), wait, lease, true);
                }
                case "RFencedLock" -> fenced(setup.lockObject(() -> client.getFencedLock(setup.key())), wait, lease);
                case "fair lock" -> once(setup.lockObject(() -> client.getFairLock(setup.key())), wait, lease, true);
                case "RPermitExpirableSemaphore" -> permit(client.getPermitExpirableSemaphore(setup.key()), setup.permits(), wait, lease);
                case "RedLock" -> once(setup.lockObject(() -> new RedissonRedLock(clients.stream().map(c -> c.getLock(setup.key())).toArray(RLock[]::new))), wait, lease, false);
                default -> {
                    var lock = setup.lockObject(() -> client.getLock(setup.key()));
                    yield flags.contains("--reenter") ? twice(lock, wait) : once(lock, wait, lease, true);
                }
            };
        });
    }

    static RedissonClient connect(SimAdapter.Setup setup, List<SimAdapter.Node> nodes) {
        var config = new Config();
        config.setLockWatchdogTimeout(setup.ttl().longValue()).setThreads(2).setNettyThreads(2);
        config.setLazyInitialization(true); // a node may be down
        config.setConnectionListener(new ConnectionListener() {
            @Override public void onConnect(InetSocketAddress address) {}
            @Override public void onDisconnect(InetSocketAddress address) { BROKE.incrementAndGet(); }
        });
        if (!setup.sentinels().isEmpty()) {
            config.useSentinelServers().setMasterName(setup.master()).addSentinelAddress(addresses(setup.sentinels()));
        } else if ("cluster".equals(setup.topology())) {
            config.useClusterServers().addNodeAddress(addresses(nodes));
        } else {
            var node = nodes.get(0);
            config.useSingleServer().setAddress(addresses(nodes)[0])
                    .setUsername(node.username().isEmpty() ? null : node.username()).setPassword(node.password().isEmpty() ? null : node.password());
        }
        return Redisson.create(config);
    }

    static String[] addresses(List<SimAdapter.Node> nodes) {
        return nodes.stream().map(node -> "redis://" + node.host() + ":" + node.port()).toArray(String[]::new);
    }

    static long orForEver(Double wait) { return wait == null ? 86_400_000 : wait.longValue(); }

    /** For a no: it is sure if no connection broke since. */
    static Exception no(long broke, String why) { return BROKE.get() == broke ? new SimAdapter.Refused(why) : new IllegalStateException(why); }

    static SimAdapter.Grant once(RLock lock, Double wait, long lease, boolean sure) throws Exception {
        long begin = BROKE.get();
        if (!lock.tryLock(orForEver(wait), lease, TimeUnit.MILLISECONDS)) throw sure ? no(begin, "taken") : new IllegalStateException("taken");
        return new SimAdapter.Grant(() -> unlock(lock));
    }

    static SimAdapter.Grant fenced(RFencedLock lock, Double wait, long lease) throws Exception {
        long begin = BROKE.get();
        Long token = lock.tryLockAndGetToken(orForEver(wait), lease, TimeUnit.MILLISECONDS);
        if (token == null) throw no(begin, "taken");
        return new SimAdapter.Grant(() -> unlock(lock)).token(token);
    }

    static SimAdapter.Grant permit(RPermitExpirableSemaphore semaphore, int permits, Double wait, long lease) throws Exception {
        long begin = BROKE.get();
        semaphore.trySetPermits(permits); // where nobody has
        String permit = semaphore.tryAcquire(orForEver(wait), lease, TimeUnit.MILLISECONDS);
        if (permit == null) throw no(begin, "taken");
        return new SimAdapter.Grant(() -> {
            long released = BROKE.get();
            if (!semaphore.tryRelease(permit)) throw no(released, "the permit was not ours any more");
        }).owner(HexFormat.of().parseHex(permit)); // so it stands in the key
    }

    static SimAdapter.Grant twice(RLock lock, Double wait) throws Exception {
        long begin = BROKE.get();
        if (!lock.tryLock(orForEver(wait), -1, TimeUnit.MILLISECONDS)) throw no(begin, "taken");
        if (!lock.tryLock(orForEver(wait), -1, TimeUnit.MILLISECONDS)) throw new IllegalStateException("its holder may not enter it again");
        return new SimAdapter.Grant(() -> {
            unlock(lock);
            unlock(lock);
        });
    }

    /** It waits for ever: a lock over several names that is to wait for less time asks in another way. */
    static SimAdapter.Grant both(RLock lock, SimAdapter.Setup setup) {
        lock.lock(setup.ttl().longValue() / 1000, TimeUnit.SECONDS);
        return new SimAdapter.Grant(() -> unlock(lock));
    }

    static void unlock(RLock lock) throws Exception {
        long begin = BROKE.get();
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException err) {
            throw no(begin, err.getMessage());
        }
    }
}
