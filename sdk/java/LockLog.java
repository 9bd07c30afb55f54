import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;

/**
 * Writes a lock log in production: what an application knows of its locks, a line for each event.
 *
 * <p>{@code sim check} judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md One file,
 * no dependency, Java 11 or later. Keep it in your application:
 *
 * <pre>{@code
 * LockLog log = new LockLog(Path.of("/var/log/shop/locks.locklog"), "web-1");
 * LockLog.Hold hold = log.ask("orders");
 * RLock lock = redisson.getLock("orders"); lock.lock();
 * hold.granted(null, Duration.ofSeconds(30), null, true, null);
 * ...
 * hold.releasing(); lock.unlock(); hold.released();
 * }</pre>
 *
 * <p>Threads may share it. It throws nothing: what it cannot write it drops, and counts. Lines wait until there are 256, or an event comes a
 * second after the last write; when the JVM shuts down they are written. The file is opened for each write, so it may be renamed at any time.
 */
public final class LockLog {
    private final Path path;
    private final String head;
    private final StringBuilder lines = new StringBuilder();
    private int waiting;
    private long next, holds, written, dropped;
    private boolean torn;
    private final long start = System.nanoTime();

    /** host is the name of this machine, or of this container. */
    public LockLog(Path path, String host) {
        this.path = path;
        head = "{\"locklog\":1,\"host\":" + text(host) + ",\"process\":\"" + ProcessHandle.current().pid() + "-"
                + String.format("%08x", new SecureRandom().nextInt()) + "\",\"line\":";
        Runtime.getRuntime().addShutdownHook(new Thread(this::flush));
    }

    /** Asks for a lock: what is granted and released together is one hold. */
    public synchronized Hold ask(String lock) {
        Hold hold = new Hold(",\"hold\":" + ++holds + ",\"lock\":" + text(lock));
        hold.asked();
        return hold;
    }

    /** Before a renewal or a write, for {@code began}. */
    public static long now() {
        return System.nanoTime();
    }

    /** How many lines could not be written. */
    public synchronized long dropped() {
        return dropped;
    }

    /** A hold of a lock. What is not known is null. */
    public final class Hold {
        private final String tail;

        private Hold(String tail) {
            this.tail = tail;
        }

        /** Before each further try, where the application itself tries again. */
        public void asked() { write("asked", tail, null, null, null, false, null, null); }

        /** validity is what the library says is left of it; renews: the library renews it by itself. */
        public void granted(String owner, Duration ttl, Duration validity, boolean renews, Long token) {
            write("granted", tail, owner, ttl, validity, renews, token, null);
        }

        public void notGranted() { write("not-granted", tail, null, null, null, false, null, null); }
        public void renewed(long began, Duration ttl, Duration validity) { write("renewed", tail, null, ttl, validity, false, null, began); }
        public void lost() { write("lost", tail, null, null, null, false, null, null); }
        public void releasing() { write("releasing", tail, null, null, null, false, null, null); }
        public void released() { write("released", tail, null, null, null, false, null, null); }
        public void releasedInVain() { write("released-in-vain", tail, null, null, null, false, null, null); }
        public void writeDone(long began, Long token) { write("write-done", tail, null, null, null, false, token, began); }
        public void writeRefused(long began, Long token) { write("write-refused", tail, null, null, null, false, token, began); }
    }

    private synchronized void write(String event, String tail, String owner, Duration ttl, Duration validity, boolean renews, Long token,
            Long began) {
        int before = lines.length();
        try {
            Instant wall = Instant.now();
            long mono = System.nanoTime();
            lines.append(head).append(next).append(",\"wall\":").append(wall.getEpochSecond() * 1_000_000 + wall.getNano() / 1000);
            lines.append(",\"mono\":").append((mono - start) / 1000).append(",\"event\":\"").append(event).append('"').append(tail);
            if (owner != null) lines.append(",\"owner\":").append(text(owner));
            if (ttl != null) lines.append(",\"ttl\":").append(ttl.toNanos() / 1000);
            if (validity != null) lines.append(",\"validity\":").append(Math.max(0, validity.toNanos() / 1000));
            if (renews) lines.append(",\"renews\":true");
            if (token != null) lines.append(",\"token\":").append(token.longValue());
            if (began != null) lines.append(",\"took\":").append(Math.max(0, (mono - began) / 1000));
            lines.append("}\n");
            next++;
            if (++waiting >= 256 || mono - written >= 1_000_000_000L || written == 0) flush();
        } catch (Throwable e) {
            lines.setLength(Math.min(before, lines.length()));
            next++; // so that a reader sees that a line is missing
            dropped++;
        }
    }

    /** Writes what waits. */
    public synchronized void flush() {
        if (waiting == 0) return;
        boolean whole = false;
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            ByteBuffer data = ByteBuffer.wrap(((torn ? "\n" : "") + lines).getBytes(StandardCharsets.UTF_8));
            file.write(data);
            whole = !data.hasRemaining();
        } catch (Throwable e) {
            // counted below
        }
        if (!whole) dropped += waiting;
        torn = !whole;
        waiting = 0;
        lines.setLength(0);
        written = System.nanoTime();
    }

    private static String text(String value) {
        StringBuilder b = new StringBuilder(value.length() + 2).append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < ' ' || c > '~') b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }
}
