import os, random, socket, sys, threading, time, uuid

begin, wall = time.monotonic(), time.time()


def say(*what):
    print(round((time.monotonic() - begin) * 1000), round((time.time() - wall) * 1000), *what, flush=True)


def day():
    time.sleep(3600)
    say("slept")
    event, lock = threading.Event(), threading.Lock()
    lock.acquire()

    def work():
        time.sleep(10)
        event.set()
        say("lock", lock.acquire(timeout=7.5))

    worker = threading.Thread(target=work)
    worker.start()
    say("early", event.wait(4))
    say("event", event.wait(100))
    worker.join()
    say("joined")
    child = os.fork()
    if child == 0:
        time.sleep(4)
        os._exit(5)
    say("child", os.waitpid(child, 0)[1] >> 8)
    print("random", random.random(), uuid.uuid4(), hash("x"), os.urandom(4).hex(), flush=True)


def serve(port):
    listener = socket.create_server(("", int(port)))
    conn, _ = listener.accept()
    say("accepted", conn.getpeername()[0])
    for line in conn.makefile():
        time.sleep(1)
        say("heard", line.strip())
        conn.sendall(b"you said " + line.encode())
    say("over")


def ask(host, port):
    conn = socket.create_connection((host, int(port)))
    say("connected")
    answers = conn.makefile()
    for word in ("one", "two"):
        conn.sendall(word.encode() + b"\n")
        say(answers.readline().strip())
    conn.close()


def crash():
    time.sleep(2)
    os.abort()


{"day": day, "serve": serve, "ask": ask, "crash": crash}[sys.argv[1]](*sys.argv[2:])
