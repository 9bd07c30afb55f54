import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The lock program of Curator's InterProcessMutex. The TTL is the timeout of the client's session, in which its locks are. */
final class CuratorProgram {
    public static void main(String[] args) {
        SimAdapter.serve(new SimAdapter.Program("Curator InterProcessMutex", Library.version(InterProcessMutex.class), "session", "{key}")
                .with("store", "zookeeper").with("ttl_min_ms", 200).with("homepage", "https://curator.apache.org")
                .with("about", "ExponentialBackoffRetry(1000, 3), as its documentation has it; the session's timeout is the TTL").can("renew", "lost", "fair", "setup-again", "cancel"), setup -> {
            var held = ConcurrentHashMap.<SimAdapter.Grant>newKeySet();
            var client = connect(setup, held);
            setup.onClose(client);
            return wait -> {
                var mutex = new InterProcessMutex(client, "/" + setup.key());
                if (wait == null) mutex.acquire();
                // It says no once its node is deleted; if that fails, it says so.
                else if (!mutex.acquire(wait.longValue(), TimeUnit.MILLISECONDS)) throw new SimAdapter.Refused("taken");
                var made = new SimAdapter.Grant[1];
                made[0] = new SimAdapter.Grant(() -> {
                    held.remove(made[0]);
                    mutex.release();
                });
                held.add(made[0]);
                return made[0];
            };
        });
    }

    /** Its grants are lost when the session is: "If a LOST state is reported it is certain that you no longer hold the lock." */
    static CuratorFramework connect(SimAdapter.Setup setup, Set<SimAdapter.Grant> held) throws Exception {
        var node = setup.nodes().get(0);
        var client = CuratorFrameworkFactory.builder().connectString(node.host() + ":" + node.port())
                .sessionTimeoutMs(setup.ttl().intValue()).connectionTimeoutMs(Math.min(15_000, setup.ttl().intValue()))
                .retryPolicy(new ExponentialBackoffRetry(1000, 3)).build();
        client.getConnectionStateListenable().addListener((from, state) -> {
            if (state == ConnectionState.LOST) held.forEach(grant -> grant.lost("LOST"));
        });
        client.start();
        client.blockUntilConnected(5, TimeUnit.SECONDS);
        return client;
    }
}
