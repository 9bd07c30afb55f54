"""The lock program of program_test.go, in Python. The lock's key says what it does."""
import os
import sys
import threading
import time
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, Unsupported, on_cancel, serve  # noqa: E402


closed, collected, objects = [], [], []


class Handle:
    def release(self):
        pass


def refuse():
    raise Refused("taken")


def open_lock(setup):
    if setup.key == "broken":
        raise OSError("no such node")
    if setup.key == "unsupported":
        raise Unsupported("no such topology")
    if setup.key == "slow-open":
        threading.Event().wait()
    if setup.key == "first":
        setup.on_close(lambda: closed.append("a"))
        setup.on_close(lambda: closed.append("b"))

    def acquire(wait):
        if setup.key == "refuse":
            refuse()
        if setup.key == "doubt":
            raise OSError("timeout")
        if setup.key == "block":
            cancelled = threading.Event()
            on_cancel(cancelled.set)
            cancelled.wait(wait)
            refuse()
        if setup.key == "print":
            print("a library's noise")
            os.system("echo a child\\'s noise")
        if setup.key == "point":
            setup.point("inside")
            setup.point("not armed")
        grant = Grant(release=refuse if setup.key == "not-ours" else lambda: None)
        if setup.key == "tell":
            about = [setup.client, setup.seed, setup.ttl, setup.node_timeout, setup.options["a"], setup.nodes[0].name,
                     setup.nodes[0].host, setup.nodes[0].port, setup.nodes[0].password, setup.nodes[1].tls["ca"]]
            grant.owner, grant.token, grant.until = " ".join(map(str, about)), 7, time.monotonic() + 1
            grant.extend = lambda: time.monotonic() + 2
        if setup.key == "again":
            grant.owner = f"{setup.ttl} {''.join(closed)}"
        if setup.key == "clients":
            grant.owner = f"{setup.client} {setup.once(lambda: objects.append(1) or len(objects))}"
        if setup.key == "object":
            setup.lock_object(lambda: objects.append(1) or objects)
            grant.owner = str(len(objects))
        if setup.key == "forget":
            handle = Handle()
            handle.self = handle  # a cycle, which counting references does not free
            weakref.finalize(handle, collected.append, 1)
            grant.release, grant.owner = handle.release, str(len(collected))
        if setup.key == "events":
            grant.renewed(time.monotonic() + 3)
            grant.lost("nobody answers")
        if setup.key == "flood":
            threading.Thread(target=lambda: [grant.renewed() for _ in iter(int, 1)]).start()
        return grant

    return acquire


serve(Program("test", "1.0", about="a lock; its client", kind="single", keys=["{key}"], can=["validity", "setup-again"], points=["inside", "not armed"]), open_lock)
