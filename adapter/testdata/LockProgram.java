import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The lock program of program_test.go, in Java. The lock's key says what it does. */
final class LockProgram {
    static final List<String> CLOSED = new ArrayList<>();
    static final List<String> OBJECTS = new ArrayList<>();
    static final List<WeakReference<Object>> HANDLES = new ArrayList<>();

    public static void main(String[] args) {
        var about = new SimAdapter.Program("test", "1.0", "single", "{key}").with("about", "a lock; its client").can("validity", "setup-again")
                .with("points", List.of("inside", "not armed"));
        SimAdapter.serve(about, setup -> {
            switch (setup.key()) {
                case "broken" -> throw new IllegalStateException("no such node");
                case "unsupported" -> throw new SimAdapter.Unsupported("no such topology");
                case "slow-open" -> new CountDownLatch(1).await();
                case "first" -> List.of("a", "b").forEach(what -> setup.onClose(() -> CLOSED.add(what)));
                default -> { }
            }
            return wait -> acquire(setup, wait);
        });
    }

    static void refuse() throws SimAdapter.Refused { throw new SimAdapter.Refused("taken"); }

    static SimAdapter.Grant acquire(SimAdapter.Setup setup, Double wait) throws Exception {
        var key = setup.key();
        var grant = new SimAdapter.Grant(() -> {
            if (key.equals("not-ours")) refuse();
        });
        switch (key) {
            case "refuse" -> refuse();
            case "doubt" -> throw new IllegalStateException("timeout");
            case "block" -> {
                new CountDownLatch(1).await(wait == null ? Long.MAX_VALUE : (long) (wait * 1e6), TimeUnit.NANOSECONDS);
                refuse();
            }
            case "print" -> System.out.println("a library's noise");
            case "point" -> {
                setup.point("inside");
                setup.point("not armed");
            }
            case "tell" -> {
                var a = setup.nodes().get(0);
                var b = setup.nodes().get(1);
                grant.owner(String.join(" ", setup.client(), setup.seed().toString(), setup.ttl() / 1e3 + "", setup.nodeTimeout() / 1e3 + "",
                        (String) setup.options().get("a"), a.name(), a.host(), a.port() + "", a.password(), (String) b.tls().get("ca")));
                grant.token(7).until(in(1)).extend(() -> in(2));
            }
            case "again" -> grant.owner(setup.ttl() / 1e3 + " " + String.join("", CLOSED));
            case "clients" -> grant.owner(setup.client() + " " + setup.once(() -> {
                OBJECTS.add(key);
                return OBJECTS.size();
            }));
            case "object" -> {
                setup.lockObject(() -> OBJECTS.add(key));
                grant.owner(OBJECTS.size() + "");
            }
            case "thread" -> grant.owner(Thread.currentThread().getId() + "");
            case "forget" -> {
                var handle = new Object();
                var collected = HANDLES.stream().filter(h -> h.get() == null).count();
                HANDLES.add(new WeakReference<>(handle));
                return new SimAdapter.Grant(handle::hashCode).owner(collected + "");
            }
            case "events" -> {
                grant.renewed(in(3));
                grant.lost("nobody answers");
            }
            case "flood" -> new Thread(() -> {
                while (true) grant.renewed(null);
            }).start();
            default -> { }
        }
        return grant;
    }

    static long in(int seconds) { return System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds); }
}
