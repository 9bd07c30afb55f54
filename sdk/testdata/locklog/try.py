"""Tries lock_log.py: python3 try.py correct|broken|many|nowhere FILE, or measure FILE."""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from lock_log import LockLog  # noqa: E402

what, path = sys.argv[1:3]
log = LockLog(path, host="web-1")


def use(hold):
    hold.granted(owner="o\"\n\u00e9", ttl=10.0, token=7)
    began = log.now()
    time.sleep(0.002)
    hold.write_done(since=began, token=7)
    began = log.now()
    hold.renewed(since=began, ttl=10.0)


if what == "correct":
    first, second = log.ask("orders"), log.ask("orders")
    use(first)
    first.releasing()
    first.released()
    time.sleep(0.002)
    second.granted(owner="p", ttl=10.0, token=8)
    second.releasing()
    second.released_in_vain()
elif what == "broken":
    first, second = log.ask("orders"), log.ask("orders")
    use(first)
    second.granted(owner="p", ttl=10.0, token=6)
    time.sleep(0.002)
    for h in (first, second):
        h.releasing()
        h.released()
elif what == "many":
    def work():
        for _ in range(500):
            log.ask("orders").not_granted()
    threads = [threading.Thread(target=work) for _ in range(4)]
    child = os.fork()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if child == 0:
        log.flush()
        os._exit(0)
    os.waitpid(child, 0)
elif what == "nowhere":
    log.ask("orders").lost()
    log.flush()
    print(log.dropped)
elif what == "measure":
    hold = log.ask("orders")
    n = 200_000
    for count in (n // 10, n):
        began = time.perf_counter()
        for _ in range(count):
            hold.granted(owner="0123456789abcdef", ttl=10.0, token=7)
        took = time.perf_counter() - began
    print(f"{took / n * 1e6:.2f}")
