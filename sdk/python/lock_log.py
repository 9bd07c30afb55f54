"""Writes a lock log in production: what an application knows of its locks, a line for each event.

`sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
One file, standard library, Python 3.8 or later. Keep it in your application:

    log = LockLog("/var/log/shop/locks.locklog")
    hold = log.ask("orders")
    lock = redis_lock.acquire()
    hold.granted(owner=lock.token, ttl=10.0)
    ...
    hold.releasing(); lock.release(); hold.released()

Threads may share it. It raises nothing: what it cannot write it drops, and counts in `dropped`. Lines wait until there are 256, or an
event comes a second after the last write; at exit they are written. The file is opened for each write, so it may be renamed at any time.
"""
import atexit
import json
import os
import socket
import threading
import time


class LockLog:
    def __init__(self, path, host=None):
        self.path, self.dropped, self._host = path, 0, json.dumps(host or socket.gethostname())
        self._begin()
        atexit.register(self.flush)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # the child has a log of its own

    def _begin(self):
        self._lock, self._lines, self._next, self._holds, self._written, self._torn = threading.RLock(), [], 0, 0, 0, b""
        self._head = f'{{"locklog":1,"host":{self._host},"process":"{os.getpid()}-{os.urandom(4).hex()}","line":'

    def ask(self, lock):
        """Asks for a lock: what is granted and released together is one hold."""
        with self._lock:
            self._holds += 1
            hold = Hold(self, f'"hold":{self._holds},"lock":{json.dumps(lock)}')
        hold.asked()
        return hold

    now = staticmethod(time.monotonic)  # before a renewal or a write, for `since`

    def write(self, event, hold, **more):
        try:
            with self._lock:
                number, self._next = self._next, self._next + 1
                mono = time.monotonic()
                line = f'{self._head}{number},"wall":{time.time_ns() // 1000},"mono":{int(mono * 1e6)},"event":"{event}",{hold}'
                for name, value in more.items():
                    if value is None or value is False or value == "":
                        continue
                    if name == "since":
                        name, value = "took", max(0.0, mono - value)
                    value = int(value * 1e6) if name in ("ttl", "validity", "took") else json.dumps(value)
                    line += f',"{name}":{value}'
                self._lines.append(line + "}\n")
                if len(self._lines) >= 256 or mono - self._written >= 1:
                    self.flush()
        except Exception:
            self.dropped += 1

    def flush(self):
        with self._lock:
            lines, self._lines, self._written = self._lines, [], time.monotonic()
            if not lines:
                return
            try:
                data = self._torn + "".join(lines).encode()
                fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
                try:
                    whole = os.write(fd, data) == len(data)
                finally:
                    os.close(fd)
            except Exception:
                whole = False
            self._torn = b"" if whole else b"\n"
            self.dropped += 0 if whole else len(lines)


class Hold:
    def __init__(self, log, tail):
        self._log, self._tail = log, tail

    def asked(self):
        """Before each further try, where the application itself tries again."""
        self._log.write("asked", self._tail)

    def granted(self, owner=None, ttl=None, validity=None, renews=False, token=None):
        """Times in seconds. validity: what the library says is left of it. renews: the library renews it by itself."""
        self._log.write("granted", self._tail, owner=owner, ttl=ttl, validity=validity, renews=renews, token=token)

    def renewed(self, since, ttl=None, validity=None):
        self._log.write("renewed", self._tail, since=since, ttl=ttl, validity=validity)

    def write_done(self, since, token=None):
        self._log.write("write-done", self._tail, since=since, token=token)

    def write_refused(self, since, token=None):
        self._log.write("write-refused", self._tail, since=since, token=token)

    def not_granted(self): self._log.write("not-granted", self._tail)
    def lost(self): self._log.write("lost", self._tail)
    def releasing(self): self._log.write("releasing", self._tail)
    def released(self): self._log.write("released", self._tail)
    def released_in_vain(self): self._log.write("released-in-vain", self._tail)
