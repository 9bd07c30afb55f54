import java.io.BufferedInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * The lock program that sim starts for each client. Put your own lock in the place of this one, and your client library in the place of
 * Redis. A lock on one node: SET NX PX with a value of its own, and a release that compares it.
 */
final class MyLock {
    static final String RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    final Redis client;
    final String key;
    final long ttl;
    final String value = UUID.randomUUID().toString();

    MyLock(Redis client, String key, long ttl) {
        this.client = client;
        this.key = key;
        this.ttl = ttl;
    }

    boolean acquire(long wait) throws Exception {
        long begin = System.nanoTime();
        while (client.call("SET", key, value, "NX", "PX", String.valueOf(ttl)) == null) {
            if (System.nanoTime() - begin > TimeUnit.MILLISECONDS.toNanos(wait)) return false;
            Thread.sleep(20);
        }
        return true;
    }

    void release() throws Exception {
        if (client.call("EVAL", RELEASE, "1", key, value).equals("0")) throw new SimAdapter.Refused("not ours any more");
    }

    /** opener is called once for each client, with the servers, the key and the ttl (in milliseconds). The program's class is single (one
     *  node), quorum (several, as Redlock), session, or other. can says what else your lock does; sim tests nothing of it otherwise. Say it
     *  only if it is true, as new SimAdapter.Program(...).can("renew"):
     *  renew: it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable.
     *  extend: its user can make the lease longer: give the grant an extend. lost: it sees that it has lost the lock: then call its lost().
     *  docs/reference/lock-protocol.md has all words. */
    public static void main(String[] args) {
        String about = "the sample of sim init: put your own lock in its place, and say here which it is";
        SimAdapter.serve(new SimAdapter.Program("my-lock", "1.0", "single", "{key}").with("about", about), setup -> {
            var node = setup.nodes().get(0);
            var client = new Redis(node.host(), node.port(), setup.nodeTimeout().intValue()); // 0: waits for ever
            return wait -> {
                var lock = new MyLock(client, setup.key(), setup.ttl().longValue());
                boolean held = lock.acquire(wait == null ? Long.MAX_VALUE : wait.longValue()); // null: no limit
                // Certainly not held; after any other exception it may be.
                if (!held) throw new SimAdapter.Refused("taken");
                return new SimAdapter.Grant(lock::release);
            };
        });
    }

    /** As much of a client as this lock needs: commands whose replies are one line. */
    static final class Redis {
        final String host;
        final int port;
        final int timeout;
        Socket socket;
        BufferedInputStream in;

        Redis(String host, int port, int timeout) {
            this.host = host;
            this.port = port;
            this.timeout = timeout;
        }

        synchronized String call(String... words) throws IOException {
            try {
                if (socket == null) {
                    socket = new Socket();
                    socket.setTcpNoDelay(true);
                    socket.setSoTimeout(timeout);
                    socket.connect(new InetSocketAddress(host, port), timeout);
                    in = new BufferedInputStream(socket.getInputStream());
                }
                var text = new StringBuilder("*" + words.length + "\r\n");
                for (var word : words) text.append('$').append(word.getBytes(StandardCharsets.UTF_8).length).append("\r\n" + word + "\r\n");
                socket.getOutputStream().write(text.toString().getBytes(StandardCharsets.UTF_8));
                return reply();
            } catch (IOException err) {
                if (socket != null) socket.close(); // a late reply is lost with it
                socket = null;
                throw err;
            }
        }

        private String reply() throws IOException {
            var line = new StringBuilder();
            for (int c; (c = in.read()) != '\n'; line.append((char) c)) {
                if (c < 0) throw new IOException("the connection was closed");
            }
            var said = line.substring(1).trim();
            if (line.charAt(0) == '-') throw new IOException(said);
            return line.charAt(0) == '$' ? null : said;
        }
    }
}
