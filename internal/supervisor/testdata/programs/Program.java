import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;

public class Program {
    static final long begin = System.nanoTime(), wall = System.currentTimeMillis();

    static void say(Object... what) {
        StringBuilder line = new StringBuilder();
        for (Object o : what) line.append(' ').append(o);
        System.out.println(Math.round((System.nanoTime() - begin) / 1e6) + " " + (System.currentTimeMillis() - wall) + line);
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "day" -> day();
            case "serve" -> serve(Integer.parseInt(args[1]));
            case "ask" -> ask(args[1], Integer.parseInt(args[2]));
            case "crash" -> {
                Thread.sleep(2000);
                Runtime.getRuntime().halt(134);
            }
        }
    }

    static void day() throws Exception {
        Thread.sleep(36_000); // it has a thread that naps for 50 ms
        say("slept");
        ScheduledExecutorService timers = Executors.newScheduledThreadPool(2);
        CountDownLatch latch = new CountDownLatch(1);
        timers.schedule(() -> latch.countDown(), 10, TimeUnit.SECONDS);
        say("early", latch.await(4, TimeUnit.SECONDS));
        say("latch", latch.await(100, TimeUnit.SECONDS));
        Object lock = new Object();
        synchronized (lock) {
            lock.wait(7500);
        }
        say("waited");
        timers.shutdown();
        say("child", new ProcessBuilder("/bin/sh", "-c", "sleep 4; exit 5").start().waitFor());
        System.out.println("random " + new Random().nextInt() + " " + Math.random() + " " + UUID.randomUUID());
    }

    static void serve(int port) throws Exception {
        try (ServerSocket listener = new ServerSocket(port); Socket conn = listener.accept()) {
            say("accepted", conn.getInetAddress().getHostAddress());
            BufferedReader in = new BufferedReader(new InputStreamReader(conn.getInputStream()));
            for (String line; (line = in.readLine()) != null; ) {
                Thread.sleep(1000);
                say("heard", line);
                conn.getOutputStream().write(("you said " + line + "\n").getBytes());
            }
            say("over");
        }
    }

    static void ask(String host, int port) throws Exception {
        try (Socket conn = new Socket(host, port)) {
            say("connected");
            BufferedReader in = new BufferedReader(new InputStreamReader(conn.getInputStream()));
            for (String word : List.of("one", "two")) {
                conn.getOutputStream().write((word + "\n").getBytes());
                say(in.readLine());
            }
        }
    }
}
