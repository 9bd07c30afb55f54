import java.io.*;
import java.math.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Makes a lock program of a lock library: a program that redlock-sim puts on trial.
 *
 * <p>It speaks version 1 of the protocol for lock programs, JSON lines on standard input and output. One file, no dependencies, Java 17
 * or later. The library stays as it is:
 *
 * <pre>{@code
 * SimAdapter.serve(new SimAdapter.Program("mylock", "1.0", "single", "{key}"), setup -> {
 *     var client = MyLock.connect(setup.nodes().get(0).host(), setup.nodes().get(0).port());
 *     return wait -> {
 *         var lock = client.lock(setup.key(), setup.ttl());
 *         if (!lock.tryLock(wait)) throw new SimAdapter.Refused("taken");
 *         return new SimAdapter.Grant(lock::unlock);
 *     };
 * });
 * }</pre>
 */
public final class SimAdapter {
    private static final int MAX_LINE = 1 << 20;
    private static final int BACKLOG = 1024; // lines that wait to be written
    private static final long GRACE_MS = 500; // to write the last ones

    /** The lock is certainly not held, and nothing of the attempt stays; from release and extend: the lock was not ours any more.
     *  After any other exception it may be held. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        public Refused(String why) { super(why); }
    }

    /** From what opens the lock: the library refuses by design what setup asks for, such as this topology. A trial that needs it is
     *  then not applicable. */
    public static final class Unsupported extends Exception {
        private static final long serialVersionUID = 1;

        public Unsupported(String why) { super(why); }
    }

    /** What a lock program says of itself. */
    public static final class Program {
        private final Map<String, Object> about = new LinkedHashMap<>();
        private final List<String> can = new ArrayList<>();

        /** kind is its class (quorum, single, session or other), keys are patterns of what the library writes; {key} is the lock's key. */
        public Program(String name, String version, String kind, String... keys) {
            with("name", name).with("version", version).with("class", kind).with("keys", List.of(keys));
        }

        /** What it can, beside what was said before: validity, renew, lost, extend, forget, token, owner, busy, setup-again, sentinel,
         *  no-ttl (a ttl of null is none), one-object (the lock object is what Setup.lockObject gives), permits (Setup.permits is how many clients may
         *  hold the lock at once), modes (the lock has readers and writers, and with Setup.shared the client is a reader), fair (it serves clients in the order in which they ask), at-least (the lock stays for Setup.atLeast, also if it is released before), wakes (a release wakes those who wait), cancel (the thread of an acquire may be interrupted; an InterruptedException does not tell what became of the attempt), clients (the program can be several clients: the lock is opened for each of them, and each has one thread). */
        public Program can(String... can) {
            this.can.addAll(List.of(can));
            return with("can", this.can);
        }

        /** Another field of the message ready: homepage, points (a List), ttl_min_ms, ttl_step_ms, ttl_extra_ms, store, lease,
         *  about (one line: which lock, its client library, its timeouts and retries). */
        public Program with(String field, Object value) {
            about.put(field, value);
            return this;
        }
    }

    /** A server, or the simulator's link to it. tls: null, or server_name, and ca: a file with certificates to trust. */
    public record Node(String name, String host, int port, String username, String password, Map<String, Object> tls) {}

    /** What the simulator asks for. Times are in milliseconds; null: not told. */
    public record Setup(String client, BigInteger seed, String key, Double ttl, Double nodeTimeout, Map<String, Object> options,
            List<Node> nodes, String topology, List<Node> sentinels, String master, List<String> points, boolean oneObject, int permits,
            double atLeast, boolean shared, List<String> process) {

        /** The lock object to ask with: a new one, or the first one again, as the simulator asks. */
        @SuppressWarnings("unchecked")
        public <T> T lockObject(Supplier<T> make) {
            synchronized (SimAdapter.class) {
                return oneObject ? (T) OBJECTS.computeIfAbsent(client, c -> make.get()) : make.get();
            }
        }

        /** What all clients of this process share, such as their connections: made by the first of them that asks. */
        @SuppressWarnings("unchecked")
        public <T> T once(Callable<T> make) throws Exception {
            synchronized (SimAdapter.class) {
                if (once == null) once = make.call();
                return (T) once;
            }
        }

        /** Reports that the program is at the point and waits until the simulator lets it go on, where the point is armed; else does
         *  nothing. */
        public void point(String name) throws InterruptedException {
            if (points.contains(name)) atPoint(name, client);
        }

        /** Calls close before the lock is opened again. A program that can do setup-again closes all that it has opened: connections,
         *  threads that renew. */
        public void onClose(AutoCloseable close) { CLOSERS.push(close); }
    }

    /** Opens the lock: connects to the nodes. */
    public interface Opener {
        Lock open(Setup setup) throws Exception;
    }

    /** Gets the lock once more. wait is the longest time in milliseconds; null: no limit. Calls may overlap. */
    public interface Lock {
        Grant acquire(Double wait) throws Exception;
    }

    /** What release calls. */
    public interface Release {
        void release() throws Exception;
    }

    /** What extend calls. It returns the new end of the promise as System.nanoTime tells it; null: the library does not tell. */
    public interface Extend {
        Long extend() throws Exception;
    }

    /** A lock in hand. What is not set the library does not tell, or cannot. lost and renewed are for the library to call, from any
     *  thread. */
    public static final class Grant {
        private final Release release;
        private Extend extend;
        private byte[] owner;
        private Long until;
        private Long token;
        private Long number;
        private boolean ended; // no more events
        private final List<Map<String, Object>> early = new ArrayList<>(); // events before the answer
        private final BlockingQueue<Runnable> calls = new LinkedBlockingQueue<>(); // what its thread is to do

        public Grant(Release release) { this.release = release; }

        public Grant extend(Extend extend) { this.extend = extend; return this; }

        /** The value in the lock's key. */
        public Grant owner(byte[] owner) { this.owner = owner; return this; }

        public Grant owner(String owner) { return owner(owner.getBytes(StandardCharsets.UTF_8)); }

        /** The end of the promise, as System.nanoTime tells it. */
        public Grant until(long until) { this.until = until; return this; }

        /** A fencing token. */
        public Grant token(long token) { this.token = token; return this; }

        /** The library says that the lock is lost. */
        public void lost(String why) { event(line("lost", "at_ns", System.nanoTime(), "why", why)); }

        /** The library has renewed the lock by itself, until System.nanoTime tells that; null: it does not tell. */
        public void renewed(Long until) { event(promise(line("renewed"), until)); }

        private synchronized void event(Map<String, Object> line) {
            if (number == null) {
                early.add(line);
            } else if (!ended) {
                line.put("grant", number);
                send(line);
            }
        }

        private synchronized void begin(long id, Map<String, Object> answer) {
            number = id;
            send(answer);
            early.forEach(this::event);
        }

        private synchronized void end() { ended = true; }
    }

    private static final BlockingQueue<String> LINES = new LinkedBlockingQueue<>(BACKLOG); // an empty one ends them
    private static final CountDownLatch WRITTEN = new CountDownLatch(1);
    private static final Map<Long, Grant> GRANTS = new ConcurrentHashMap<>(); // not released
    private static final Deque<AutoCloseable> CLOSERS = new ConcurrentLinkedDeque<>();
    private static final Map<Long, Attempt> ATTEMPTS = new ConcurrentHashMap<>(); // the acquires that have no answer
    private static final Map<Long, CountDownLatch> WAITING = new ConcurrentHashMap<>(); // one for each point where a thread waits
    private static final AtomicLong POINTS = new AtomicLong();
    private static final Map<String, Client> CLIENTS = new ConcurrentHashMap<>(); // by their names
    private static final Map<String, Object> OBJECTS = new HashMap<>(); // lock objects, by their clients
    private static Object once; // what all clients share
    private static volatile double busy; // milliseconds

    /** A client. calls are what its thread is to do, if the program is several clients, or the client has one lock object; null: each grant has a thread of its own. */
    private record Client(Lock lock, BlockingQueue<Runnable> calls) {}

    private SimAdapter() {}

    /**
     * Speaks with the simulator until standard input ends, and exits. Each grant has a thread of its own, in which it is acquired,
     * extended and released: a lock may belong to a thread. Of several clients (clients) each has one thread for all that it asks,
     * and so has a client with one lock object (one-object). What is printed goes to standard error.
     *
     * <p>A program that says setup-again lets the simulator use it for one trial after the other: opener is called again, after what
     * it has given to setup.onClose. Of a program that says forget, the simulator can drop a grant without releasing it: then nothing
     * but the library may refer to the lock. A program that says busy computes, after each grant, in the thread that got the lock.
     */
    public static void serve(Program program, Opener opener) {
        var out = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        start(() -> write(out));
        var text = "";
        try (var in = new BufferedInputStream(new FileInputStream(FileDescriptor.in))) {
            while ((text = readLine(in)) != null) handle(program, opener, object(new Json(text).read()));
        } catch (Exception err) { // whatever it is, the simulator shall know
            fail("failed to handle " + (text.length() > 200 ? text.substring(0, 200) : text) + ": " + err);
        }
        exit(0);
    }

    private static String readLine(InputStream in) throws IOException {
        var line = new ByteArrayOutputStream();
        for (int c; (c = in.read()) != '\n'; line.write(c)) {
            if (c < 0 && line.size() == 0) return null;
            if (c < 0) break;
            if (line.size() == MAX_LINE) throw new IOException("the line is too long");
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private static void handle(Program program, Opener opener, Map<String, Object> m) {
        var kind = m.get("type");
        if ("hello".equals(kind) && list(m, "protocols").contains(BigDecimal.ONE)) {
            var ready = line("ready", "protocol", 1, "clock", "libc");
            ready.putAll(program.about);
            send(ready);
        } else if ("setup".equals(kind)) {
            start(() -> setUp(opener, m));
        } else if ("clocks".equals(kind)) {
            send(line("clocks", "id", m.get("id"), "wall_ms", System.currentTimeMillis(), "monotonic_ms", System.nanoTime() / 1e6));
        } else if ("go".equals(kind) && WAITING.containsKey(id(m, "id"))) {
            WAITING.remove(id(m, "id")).countDown();
        } else if ("acquire".equals(kind) && client(m) != null) {
            var client = client(m);
            ATTEMPTS.put(id(m, "id"), new Attempt());
            if (client.calls == null) start(() -> hold(m));
            else client.calls.add(() -> answer(m.get("id"), () -> get(m)));
        } else if ("cancel".equals(kind)) {
            var attempt = ATTEMPTS.get(id(m, "id"));
            if (attempt != null) attempt.cancel();
        } else if ("release".equals(kind) || "extend".equals(kind) || "forget".equals(kind)) {
            call(m);
        } else {
            throw new IllegalArgumentException("not known, or not in this place");
        }
    }

    private static Thread start(Runnable run) {
        var t = new Thread(run);
        t.setDaemon(true);
        t.start();
        return t;
    }

    private static void setUp(Opener opener, Map<String, Object> m) {
        try {
            var process = list(m, "process").stream().map(String::valueOf).toList();
            var name = (String) m.get("client");
            if (process.indexOf(name) <= 0) { // it does not join others
                var gone = List.copyOf(CLIENTS.values());
                var left = List.copyOf(GRANTS.values());
                CLIENTS.clear();
                OBJECTS.clear();
                once = null;
                GRANTS.clear();
                left.forEach(grant -> grant.calls.add(() -> { })); // its thread ends
                gone.stream().filter(c -> c.calls != null).forEach(c -> c.calls.add(() -> { }));
                for (AutoCloseable close; (close = CLOSERS.poll()) != null;) close.close();
            }
            busy = number(m, "busy_ms") == null ? 0 : number(m, "busy_ms");
            var of = object(m.get("lock"));
            var points = list(m, "points").stream().map(String::valueOf).toList();
            boolean oneObject = Boolean.TRUE.equals(m.get("one_object"));
            var lock = opener.open(new Setup(name, m.get("seed") == null ? null : ((BigDecimal) m.get("seed")).toBigInteger(),
                    (String) of.get("key"), number(of, "ttl_ms"), number(of, "node_timeout_ms"), object(of.get("options")), nodes(m, "nodes"),
                    (String) m.get("topology"), nodes(m, "sentinels"), (String) m.get("master"), points,
                    oneObject, number(of, "permits") == null ? 1 : number(of, "permits").intValue(),
                    number(of, "at_least_ms") == null ? 0 : number(of, "at_least_ms"), "shared".equals(of.get("mode")), process));
            var client = new Client(lock, process.isEmpty() && !oneObject ? null : new LinkedBlockingQueue<>());
            CLIENTS.put(name, client);
            if (client.calls != null) start(() -> be(name, client));
            send(line("set-up"));
        } catch (Unsupported err) {
            send(line("unsupported", "why", err.getMessage()));
        } catch (Throwable err) {
            err.printStackTrace();
            fail("failed to open the lock: " + err);
        }
    }

    private static List<Node> nodes(Map<String, Object> m, String some) {
        return list(m, some).stream().map(SimAdapter::object).map(n -> new Node((String) n.get("name"), (String) n.get("host"),
                number(n, "port").intValue(), (String) n.getOrDefault("username", ""), (String) n.getOrDefault("password", ""),
                n.get("tls") == null ? null : object(n.get("tls")))).toList();
    }

    private interface Action {
        void run() throws Exception;
    }

    private static void answer(Object id, Action action) {
        try {
            action.run();
        } catch (Throwable err) {
            send(line(err instanceof Refused ? "refused" : "unknown", "id", id, "why", err.toString()));
        }
    }

    /** An acquire. A cancel interrupts the thread that it is in, once it is in one, and no other time of that thread. */
    private static final class Attempt {
        private Thread thread;
        private boolean cancelled;

        synchronized void begin() {
            thread = Thread.currentThread();
            if (cancelled) thread.interrupt();
        }

        synchronized void cancel() {
            cancelled = true;
            if (thread != null) thread.interrupt();
        }

        synchronized void end() {
            thread = null;
            Thread.interrupted();
        }
    }

    /** Who asks: the one that is named, or the only one. */
    private static Client client(Map<String, Object> m) {
        var named = m.get("client");
        return named == null ? CLIENTS.values().stream().findFirst().orElse(null) : CLIENTS.get((String) named);
    }

    /** The life of a client that has a thread. */
    private static void be(String name, Client client) {
        try {
            while (CLIENTS.get(name) == client) client.calls.take().run();
        } catch (InterruptedException err) {
            fail("a client was interrupted: " + err);
        }
    }

    /** The life of a grant, in its thread. */
    private static void hold(Map<String, Object> m) {
        var grants = new ArrayDeque<BlockingQueue<Runnable>>(1);
        answer(m.get("id"), () -> grants.add(get(m)));
        // From here on nothing in this thread refers to the grant, but for what it is to do next.
        try {
            while (!grants.isEmpty()) {
                grants.peek().take().run();
                if (!GRANTS.containsKey(id(m, "id"))) grants.clear();
            }
        } catch (InterruptedException err) {
            fail("a holder was interrupted: " + err);
        }
    }

    private static BlockingQueue<Runnable> get(Map<String, Object> m) throws Exception {
        Grant grant;
        var attempt = ATTEMPTS.get(id(m, "id"));
        attempt.begin();
        try {
            grant = client(m).lock.acquire(number(m, "wait_ms"));
        } finally {
            attempt.end();
            ATTEMPTS.remove(id(m, "id"));
        }
        var acquired = promise(line("acquired", "id", m.get("id")), grant.until);
        if (grant.owner != null) acquired.put("owner_b64", Base64.getEncoder().encodeToString(grant.owner));
        if (grant.token != null) acquired.put("token", grant.token);
        GRANTS.put(id(m, "id"), grant);
        grant.begin(id(m, "id"), acquired);
        if (busy > 0) {
            while (!LINES.isEmpty()) Thread.sleep(1); // the answer comes first
            for (long until = System.nanoTime() + (long) (busy * 1e6); System.nanoTime() < until;) Thread.onSpinWait();
        }
        return grant.calls;
    }

    /** Has the thread of a grant do what is asked for. */
    private static void call(Map<String, Object> m) {
        var grant = GRANTS.get(id(m, "grant"));
        if (grant == null) {
            send(line("refused", "id", m.get("id"), "why", "grant " + m.get("grant") + " is not held"));
            return;
        }
        var calls = client(m) == null || client(m).calls == null ? grant.calls : client(m).calls;
        switch ((String) m.get("type")) {
            case "release" -> {
                grant.end();
                calls.add(() -> answer(m.get("id"), () -> {
                    try {
                        grant.release.release();
                    } finally { // it has ended, whatever comes of it
                        GRANTS.remove(id(m, "grant"));
                    }
                    send(line("released", "id", m.get("id")));
                }));
            }
            case "extend" -> {
                if (grant.extend == null) fail("this lock cannot extend");
                calls.add(() -> answer(m.get("id"), () -> send(promise(line("extended", "id", m.get("id")), grant.extend.extend()))));
            }
            default -> {
                grant.end();
                GRANTS.remove(id(m, "grant"));
                grant.calls.add(() -> { }); // its thread ends
                start(() -> forgotten(m.get("id")));
            }
        }
    }

    private static void forgotten(Object id) {
        System.gc();
        send(line("forgotten", "id", id));
    }

    private static void atPoint(String name, String client) throws InterruptedException {
        var number = POINTS.incrementAndGet();
        var passed = new CountDownLatch(1);
        WAITING.put(number, passed);
        send(line("point", "id", number, "client", client, "name", name));
        passed.await();
    }

    /** Adds how long a promise still lasts. Reads the clock first: a pause between the two readings may shorten the promise, and never
     *  makes it longer. */
    private static Map<String, Object> promise(Map<String, Object> line, Long until) {
        if (until != null) {
            line.put("at_ns", System.nanoTime());
            line.put("validity_ms", (until - System.nanoTime()) / 1e6);
        }
        return line;
    }

    private static Map<String, Object> line(String type, Object... fields) {
        var line = new LinkedHashMap<String, Object>();
        line.put("type", type);
        for (int i = 0; i < fields.length; i += 2) line.put((String) fields[i], fields[i + 1]);
        return line;
    }

    /** Does not wait: the library must not stand still because nobody reads. */
    private static void send(Map<String, Object> line) {
        var text = new StringBuilder();
        Json.write(text, line);
        if (!LINES.offer(text.append('\n').toString())) die(BACKLOG + " lines wait to be read");
    }

    private static void write(OutputStream out) {
        try {
            for (String line; !(line = LINES.take()).isEmpty();) out.write(line.getBytes(StandardCharsets.UTF_8));
        } catch (IOException | InterruptedException err) {
            die("failed to write: " + err);
        }
        WRITTEN.countDown();
    }

    private static void die(String why) {
        System.err.println("lock program: " + why);
        Runtime.getRuntime().halt(1);
    }

    /** Tells the error and ends the program. */
    private static void fail(String why) {
        System.err.println("lock program: " + why);
        send(line("error", "why", why));
        exit(1);
    }

    private static void exit(int code) {
        try {
            if (LINES.offer("")) WRITTEN.await(GRACE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException err) {
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value) {
        return value == null ? Map.of() : (Map<String, Object>) value;
    }

    private static List<?> list(Map<String, Object> m, String name) {
        return m.get(name) == null ? List.of() : (List<?>) m.get(name);
    }

    private static Double number(Map<String, Object> m, String name) {
        return m.get(name) == null ? null : ((BigDecimal) m.get(name)).doubleValue();
    }

    private static long id(Map<String, Object> m, String name) { return ((BigDecimal) m.get(name)).longValueExact(); }

    /** JSON: objects are maps, arrays lists, numbers BigDecimals. */
    private static final class Json {
        private final String text;
        private int at;

        Json(String text) { this.text = text; }

        Object read() {
            var value = value(0);
            if (peek() != 0) throw wrong();
            return value;
        }

        /** The next character that is no space; 0 at the end. */
        private char peek() {
            while (at < text.length() && text.charAt(at) <= ' ') at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean take(char c) {
            if (peek() != c) return false;
            at++;
            return true;
        }

        private IllegalArgumentException wrong() { return new IllegalArgumentException("no JSON at character " + at); }

        private void expect(char c) {
            if (!take(c)) throw wrong();
        }

        private Object value(int depth) {
            if (depth > 100) throw wrong();
            var c = peek();
            if (c == '"') return string();
            if (take('{')) {
                var object = new LinkedHashMap<String, Object>();
                for (boolean first = true; !take('}'); first = false) {
                    if (!first) expect(',');
                    peek();
                    var name = string();
                    expect(':');
                    object.put(name, value(depth + 1));
                }
                return object;
            }
            if (take('[')) {
                var list = new ArrayList<Object>();
                for (boolean first = true; !take(']'); first = false) {
                    if (!first) expect(',');
                    list.add(value(depth + 1));
                }
                return list;
            }
            var begin = at;
            while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || "+-.".indexOf(text.charAt(at)) >= 0)) at++;
            var word = text.substring(begin, at);
            return switch (word) {
                case "null" -> null;
                case "true" -> true;
                case "false" -> false;
                default -> new BigDecimal(word);
            };
        }

        private String string() {
            if (at >= text.length() || text.charAt(at++) != '"') throw wrong();
            var s = new StringBuilder();
            while (true) {
                if (at >= text.length()) throw wrong();
                var c = text.charAt(at++);
                if (c == '"') return s.toString();
                if (c != '\\') {
                    s.append(c);
                    continue;
                }
                if (at >= text.length()) throw wrong();
                c = text.charAt(at++);
                var plain = "\"\\/bfnrt".indexOf(c);
                if (plain >= 0) {
                    s.append("\"\\/\b\f\n\r\t".charAt(plain));
                } else if (c == 'u' && at + 4 <= text.length()) {
                    s.append((char) Integer.parseInt(text.substring(at, at += 4), 16));
                } else {
                    throw wrong();
                }
            }
        }

        static void write(StringBuilder s, Object value) {
            if (value instanceof Map<?, ?> object) {
                var before = '{';
                for (var e : object.entrySet()) {
                    s.append(before);
                    write(s, e.getKey());
                    write(s.append(':'), e.getValue());
                    before = ',';
                }
                s.append(before == '{' ? "{}" : "}");
            } else if (value instanceof List<?> list) {
                s.append('[');
                for (int i = 0; i < list.size(); i++) write(i > 0 ? s.append(',') : s, list.get(i));
                s.append(']');
            } else if (value == null || value instanceof Number || value instanceof Boolean) {
                s.append(value instanceof BigDecimal n ? n.toPlainString() : String.valueOf(value));
            } else {
                s.append('"');
                for (char c : value.toString().toCharArray()) {
                    if (c == '"' || c == '\\') s.append('\\').append(c);
                    else if (c < ' ') s.append(String.format("\\u%04x", (int) c));
                    else s.append(c);
                }
                s.append('"');
            }
        }
    }
}
