"""Makes a lock program of a lock library: a program that redlock-sim puts on trial.

It speaks version 1 of the protocol for lock programs, JSON lines on standard input and
output. One file, standard library, Python 3.9 or later. The library stays as it is:

    def open_lock(setup):
        client = mylock.connect(setup.nodes[0].host, setup.nodes[0].port)
        def acquire(wait):
            lock = client.lock(setup.key, setup.ttl)
            if not lock.acquire(timeout=wait):
                raise Refused("taken")
            return Grant(release=lock.release)
        return acquire

    serve(Program("mylock", "1.0", kind="single", keys=["{key}"]), open_lock)
"""
import base64
import ctypes
import gc
import itertools
import json
import os
import queue
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional

MAX_LINE = 1 << 20
BACKLOG = 1024  # lines that wait to be written
GRACE = 0.5  # seconds to write the last ones
# The number of the kernel's clock_gettime, where it is known.
_CLOCK_GETTIME = None
if sys.platform == "linux" and sys.maxsize > 2**32:
    _CLOCK_GETTIME = {"x86_64": 228, "aarch64": 113}.get(os.uname().machine)


class Refused(Exception):
    """The lock is certainly not held, and nothing of the attempt stays; from release and
    extend: the lock was not ours any more. After any other exception it may be held."""


class Unsupported(Exception):
    """From open_lock: the library refuses by design what setup asks for, such as this topology.
    A trial that needs it is then not applicable."""


@dataclass
class Program:
    """What a lock program says of itself."""

    name: str
    version: str
    kind: str  # its class: quorum, single, session or other
    keys: List[str]  # patterns of what the library writes; {key} is the lock's key
    can: List[str] = field(default_factory=list)  # validity, renew, lost, extend, sentinel, cluster, ...: docs/reference/lock-protocol.md
    homepage: str = ""
    points: List[str] = field(default_factory=list)  # what Setup.point is called with
    ttl_min_ms: float = 1
    ttl_step_ms: float = 1
    ttl_extra_ms: float = 0  # its keys live so much longer than the ttl
    store: str = "redis"  # or etcd, postgres, zookeeper or nats, the only one of the nodes
    about: Optional[str] = None  # one line: which lock, its client library, its timeouts and retries
    lease: Optional[str] = None  # "ttl": the key's value keeps the lease, whatever end the key has


@dataclass
class Node:
    """A server, or the simulator's link to it."""

    name: str
    host: str
    port: int
    username: str = ""
    password: str = ""
    tls: Optional[dict] = None  # server_name, and ca: a file with certificates to trust


@dataclass
class Setup:
    """What the simulator asks for. Times are in seconds; None: not told. Of a program that says no-ttl
    a ttl of None says that the lock is to have none."""

    client: str
    seed: int
    key: str
    ttl: Optional[float]
    node_timeout: Optional[float]
    options: dict
    nodes: List[Node]
    topology: str
    sentinels: List[Node]
    master: str
    points: List[str]  # the armed ones
    one_object: bool = False
    permits: int = 1  # how many clients may hold the lock at once, of a program that can have permits
    at_least: float = 0  # for how long the lock stays, also if it is released before, of a program that can at-least
    shared: bool = False  # the client is a reader, of a program that can modes: its lock has readers and writers
    process: List[str] = field(default_factory=list)  # the clients that the program is, if it can clients and is several
    _object: Any = None

    def lock_object(self, make: Callable[[], Any]) -> Any:
        """The lock object to ask with: a new one, or the first one again, as the simulator asks of a program that says one-object."""
        if not self.one_object:
            return make()  # and nothing of ours refers to it: it may be forgotten
        if self._object is None:
            self._object = make()
        return self._object

    def once(self, make: Callable[[], Any]) -> Any:
        """What all clients of this process share, such as their connections: made by the first of them that asks."""
        with _once_mutex:
            if not _once:
                _once.append(make())
            return _once[0]

    def point(self, name: str) -> None:
        """Reports that the program is at the point and waits until the simulator lets it
        go on, where the point is armed; else does nothing."""
        if name in self.points:
            _at_point(name, self.client)

    def on_close(self, close: Callable[[], Any]) -> None:
        """Calls close before the lock is opened again. A program that can do setup-again closes
        all that it has opened: connections, threads that renew."""
        _closers.append(close)


class Grant:
    """A lock in hand. None: the library does not tell, or cannot. until is the end of the
    promise as time.monotonic tells it; extend returns the new one. upgrade, of a program that says upgrade, lets a
    reader ask to write beside this grant, which stays: it takes the longest wait and returns another Grant. lost and renewed are
    for the library to call, from any thread."""

    def __init__(self, release: Callable[[], Any], owner: Any = None, until: Optional[float] = None,
                 extend: Optional[Callable[[], Optional[float]]] = None, token: Optional[int] = None,
                 upgrade: Optional[Callable[[Optional[float]], "Grant"]] = None):
        self.release, self.extend, self.upgrade = release, extend, upgrade
        self.owner, self.until, self.token = owner, until, token
        self._mutex, self._number = threading.Lock(), None
        self._early, self._ended = [], False  # events before the answer; no more events

    def lost(self, why: str = "") -> None:
        """The library says that the lock is lost."""
        self._event(_stamp({"type": "lost", "why": why}))

    def renewed(self, until: Optional[float] = None) -> None:
        """The library has renewed the lock by itself."""
        self._event(_promise({"type": "renewed"}, until))

    def _event(self, line):
        with self._mutex:
            if self._number is None:
                self._early.append(line)
            elif not self._ended:
                _send({**line, "grant": self._number})


def on_cancel(cancel: Callable[[], Any]) -> None:
    """Inside an acquire, of a program that says cancel: has cancel called if the acquire is cancelled, from another thread; at once, if it
    has been. An exception that only says so is not Refused: it does not tell what became of the attempt."""
    number = getattr(_this, "id", None)
    with _open_mutex:
        if number not in _open:
            return
        if _open[number] is not None:
            _open[number].append(cancel)
            return
    cancel()


_lines: "queue.Queue[Optional[dict]]" = queue.Queue(BACKLOG)  # None ends them
_written = threading.Event()
_acquire: dict = {}  # what open_lock returned, for each client
_threads: dict = {}  # what the thread of each client is to do, if the program is several
_once: list = []  # what they share
_once_mutex = threading.Lock()
_grants: dict = {}  # not released
_closers: list = []  # of what open_lock opened
_busy: Any = None  # keeps busy what the user's code would run in
_points = itertools.count(1)
_open: dict = {}  # for each open acquire what a cancel of it calls; None: it has been cancelled
_open_mutex = threading.Lock()
_this = threading.local()  # id: that of the acquire in which a thread is
_waiting: dict = {}  # an event for each point where a thread waits


def serve(program: Program, open_lock: Callable[[Setup], Callable[[Optional[float]], Grant]],
          work: Callable[[Callable[[], None]], Any] = lambda run: run()) -> None:
    """Speaks with the simulator until standard input ends, and exits. open_lock connects to
    the nodes. It returns a function that gets the lock once more: it takes the longest wait
    in seconds (None: no limit). Calls of it may overlap, and each call, also of release and
    extend, has a thread of its own. What is printed goes to standard error.

    A program that says setup-again lets the simulator use it for one trial after the other:
    open_lock is called again, after what it has given to setup.on_close. random begins anew each
    time.

    A program that says clients can be several at once: open_lock is called for each of them, and each has
    one thread, in which all its calls are made, as a thread of an application has.

    Of a program that says forget, the simulator can drop a grant without releasing it: then nothing
    but the library may refer to the lock.

    Of a program that can be busy, work runs a function where the user's code would run: in
    the thread that got the lock, if it is left out; loop.call_soon_threadsafe for the event
    loop of asyncio. There it computes after each grant for as long as the simulator asks."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _start(_write, out)
    text = b""
    try:
        while text := sys.stdin.buffer.readline(MAX_LINE + 2):
            if len(text.rstrip(b"\n")) > MAX_LINE:
                raise ValueError("the line is too long")
            _handle(program, open_lock, work, json.loads(text))
    except Exception as err:  # whatever it is, the simulator shall know
        _fail(f"failed to handle {text[:200]!r}: {err!r}")
    _exit(0)


def _handle(program, open_lock, work, m):
    kind = m["type"]
    if kind == "hello" and 1 in m["protocols"]:
        about = {name: value for name, value in vars(program).items() if name != "kind" and value is not None}
        _send({"type": "ready", "protocol": 1, "clock": "libc", "class": program.kind, **about})
    elif kind == "setup":
        _start(_set_up, open_lock, work, m)
    elif kind == "clocks":
        _send({"type": "clocks", "id": m["id"], "wall_ms": time.time() * 1e3, "monotonic_ms": time.monotonic() * 1e3})
    elif kind == "go" and m["id"] in _waiting:
        _waiting.pop(m["id"]).set()
    elif kind == "acquire" and _acquire:
        with _open_mutex:
            _open[m["id"]] = []
        _run(m, _get)
    elif kind == "cancel":
        with _open_mutex:
            calls = _open.get(m["id"]) or []
            if m["id"] in _open:
                _open[m["id"]] = None
        for call in calls:
            call()
    elif kind in ("release", "extend", "forget"):
        _run(m, {"release": _release, "extend": _extend, "forget": _forget}[kind])
    else:
        raise ValueError("not known, or not in this place")


def _run(m, action):
    if m.get("client") in _threads:
        _threads[m["client"]].put((m, action))
    else:
        _start(_answer, m, action)


def _be(tasks):
    """Is the thread of a client."""
    while (task := tasks.get()) is not None:
        _answer(*task)


def _start(target, *args):
    threading.Thread(target=target, args=args, daemon=True).start()


def _set_up(open_lock, work, m):
    global _busy
    try:
        client, process = m.get("client"), m.get("process") or []
        if client not in process[1:]:  # it does not join others
            _busy = None
            for tasks in _threads.values():
                tasks.put(None)
            while _closers:
                _closers.pop()()
            for each in (_acquire, _threads, _grants, _once):
                each.clear()
            random.seed()
        if process:
            _threads[client] = queue.Queue()
            _start(_be, _threads[client])
        if busy := _seconds(m, "busy_ms"):
            _busy = lambda: work(lambda: _compute(busy))
        lock = m["lock"]
        nodes, sentinels = ([Node(n["name"], n["host"], n["port"], n.get("username"), n.get("password"), n.get("tls"))
                             for n in m.get(some) or []] for some in ("nodes", "sentinels"))
        _acquire[client] = open_lock(Setup(
            client, m.get("seed"), lock["key"], _seconds(lock, "ttl_ms"), _seconds(lock, "node_timeout_ms"),
            lock.get("options") or {}, nodes, m.get("topology"), sentinels, m.get("master"), m.get("points") or [],
            bool(m.get("one_object")), lock.get("permits") or 1,
            _seconds(lock, "at_least_ms") or 0, lock.get("mode") == "shared", process))
    except Unsupported as err:
        _send({"type": "unsupported", "why": str(err)})
        return
    except Exception as err:
        _fail(f"failed to open the lock: {err!r}")
    _send({"type": "set-up"})


def _seconds(of, name):
    return None if of.get(name) is None else of[name] / 1e3


def _answer(m, action):
    _this.id = m["id"]
    try:
        action(m)
    except Exception as err:
        _close(m)
        _send({"type": "refused" if isinstance(err, Refused) else "unknown", "id": m["id"], "why": f"{err!r}"})


def _close(m):
    """An acquire is about to be answered: nothing cancels it any more."""
    with _open_mutex:
        _open.pop(m["id"], None)


def _get(m):
    acquire = _acquire[m["client"]] if m.get("client") in _acquire else next(iter(_acquire.values()))
    if m.get("upgrades"):
        acquire = _held({"grant": m["upgrades"]}).upgrade
        if acquire is None:
            raise Refused("this grant cannot be upgraded")
    grant = acquire(_seconds(m, "wait_ms"))
    _close(m)
    line = _promise({"type": "acquired", "id": m["id"]}, grant.until)
    if grant.owner is not None:
        owner = grant.owner if isinstance(grant.owner, bytes) else str(grant.owner).encode()
        line["owner_b64"] = base64.b64encode(owner).decode()
    if grant.token is not None:
        line["token"] = grant.token
    _grants[m["id"]] = grant
    with grant._mutex:
        grant._number = m["id"]
        for each in [line] + [{**event, "grant": m["id"]} for event in grant._early]:
            _send(each)
    if _busy:
        while not _lines.empty():  # the answer comes first
            time.sleep(0.001)
        _busy()


def _compute(seconds):
    """Keeps the thread busy. Python gives the others their turns in between."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def _held(m):
    if m["grant"] not in _grants:
        raise Refused(f"grant {m['grant']} is not held")
    return _grants[m["grant"]]


def _release(m):
    grant = _held(m)
    with grant._mutex:
        grant._ended = True
    try:
        grant.release()
    except Refused:
        _grants.pop(m["grant"], None)
        raise
    _grants.pop(m["grant"], None)
    _send({"type": "released", "id": m["id"]})


def _extend(m):
    grant = _held(m)
    if grant.extend is None:
        _fail("this lock cannot extend")
    _send(_promise({"type": "extended", "id": m["id"]}, grant.extend()))


def _forget(m):
    """Drops the grant and all that refers to it, as user code that has lost its lock. A library that
    promises to notice that must not be kept alive by what the application still has of the lock."""
    grant = _held(m)
    with grant._mutex:
        grant._ended = True
    _grants.pop(m["grant"], None)
    del grant
    gc.collect()
    _send({"type": "forgotten", "id": m["id"]})


def _at_point(name, client):
    number, passed = next(_points), threading.Event()
    _waiting[number] = passed
    _send({"type": "point", "id": number, "client": client, "name": name})
    passed.wait()


def _promise(line, until):
    """Adds how long a promise still lasts. Reads the machine's clock first: a pause between
    the two readings may shorten the promise, and never makes it longer."""
    if until is not None:
        _stamp(line)["validity_ms"] = (until - time.monotonic()) * 1e3
    return line


def _stamp(line):
    """Adds the machine's monotonic clock, where it can be read. A call of the kernel, because
    libfaketime may change what time.monotonic tells."""
    now = (ctypes.c_long * 2)()
    if _CLOCK_GETTIME and ctypes.CDLL(None).syscall(_CLOCK_GETTIME, 1, now) == 0:
        line["at_ns"] = now[0] * 10**9 + now[1]
    return line


def _send(line):
    """Does not wait: the library must not stand still because nobody reads."""
    try:
        _lines.put_nowait(line)
    except queue.Full:
        _die(f"{BACKLOG} lines wait to be read")


def _write(out):
    while (line := _lines.get()) is not None:
        text = json.dumps(line).encode() + b"\n"
        try:
            while text:
                text = text[os.write(out, text):]
        except OSError as err:
            _die(f"failed to write: {err}")
    _written.set()


def _die(why):
    print("lock program:", why, file=sys.stderr, flush=True)
    os._exit(1)


def _fail(why):
    """Tells the error and ends the program."""
    print("lock program:", why, file=sys.stderr)
    _send({"type": "error", "why": why})
    _exit(1)


def _exit(code):
    _send(None)
    _written.wait(GRACE)
    sys.stderr.flush()
    os._exit(code)
