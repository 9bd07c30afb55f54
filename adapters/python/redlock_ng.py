#!/usr/bin/env python3
"""The lock program of redlock-ng."""
from libraries import Doubt, use

use("redlock", "redlock-ng")
import time  # noqa: E402
from importlib.metadata import version  # noqa: E402

import redis  # noqa: E402
from redlock.client import RedlockConfig  # noqa: E402
from redlock.lock import Redlock  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

doubt = Doubt(redis.connection.Connection)
DELAY = 0.2  # s between two tries, by default, more or less 0.1


def url(node):
    if node.tls:
        raise ValueError("redis-py cannot check the name of a server behind a proxy")
    login = f"{node.username}:{node.password}@" if node.password else ""
    return f"redis://{login}{node.host}:{node.port}/0"


def open_lock(setup):
    redlock, ttl = Redlock(RedlockConfig(masters=[url(n) for n in setup.nodes])), int(setup.ttl * 1000)
    for c in redlock.client.instances:
        setup.on_close(c.connection_pool.disconnect)

    def acquire(wait):
        redlock.retry_count = int((wait or 86_400) / DELAY)
        begin = doubt.count
        lock = redlock.acquire(setup.key, ttl)
        if not lock:
            raise Refused("taken") if doubt.count == begin else RuntimeError("taken")
        until = time.monotonic() + lock.validity / 1000

        def extend():
            begin = doubt.count
            if not redlock.extend(lock, ttl):
                raise Refused("not extended") if doubt.count == begin else RuntimeError("not extended")

        return Grant(release=lambda: redlock.release(lock), extend=extend, owner=lock.value, until=until)

    return acquire


serve(Program("redlock-ng", version("redlock-ng"), kind="quorum", keys=["{key}"], can=["validity", "extend", "owner", "setup-again"],
              homepage="https://pypi.org/project/redlock-ng/", about=f"Redlock; client redis-py {redis.__version__}, its socket_timeout of 0.1 s"), open_lock)
