import java.nio.file.Path;
import java.time.Duration;

/** Tries LockLog.java: java Try correct|broken|many|nowhere FILE, or measure FILE. */
public final class Try {
    private static LockLog log;

    private static void use(LockLog.Hold hold) throws InterruptedException {
        hold.granted("o\"\n\u00e9", Duration.ofSeconds(10), null, false, 7L);
        long began = LockLog.now();
        Thread.sleep(2);
        hold.writeDone(began, 7L);
        hold.renewed(LockLog.now(), Duration.ofSeconds(10), null);
    }

    public static void main(String[] args) throws Exception {
        log = new LockLog(Path.of(args[1]), "web-1");
        switch (args[0]) {
            case "correct": {
                LockLog.Hold first = log.ask("orders"), second = log.ask("orders");
                use(first);
                first.releasing();
                first.released();
                Thread.sleep(2);
                second.granted("p", Duration.ofSeconds(10), null, false, 8L);
                second.releasing();
                second.releasedInVain();
                break;
            }
            case "broken": {
                LockLog.Hold first = log.ask("orders"), second = log.ask("orders");
                use(first);
                second.granted("p", Duration.ofSeconds(10), null, false, 6L);
                Thread.sleep(2);
                for (LockLog.Hold h : new LockLog.Hold[] {first, second}) {
                    h.releasing();
                    h.released();
                }
                break;
            }
            case "many": {
                Thread[] threads = new Thread[4];
                for (int i = 0; i < threads.length; i++) {
                    threads[i] = new Thread(() -> {
                        for (int n = 0; n < 1000; n++) log.ask("orders").notGranted();
                    });
                    threads[i].start();
                }
                for (Thread t : threads) t.join();
                break;
            }
            case "nowhere":
                log.ask("orders").lost();
                log.flush();
                System.out.println(log.dropped());
                break;
            case "measure": {
                LockLog.Hold hold = log.ask("orders");
                int n = 200_000;
                double took = 0;
                for (int count : new int[] {n, n}) {
                    long began = System.nanoTime();
                    for (int i = 0; i < count; i++) hold.granted("0123456789abcdef", Duration.ofSeconds(10), null, false, 7L);
                    took = System.nanoTime() - began;
                }
                System.out.printf("%.2f%n", took / n / 1000);
                break;
            }
        }
    }
}
