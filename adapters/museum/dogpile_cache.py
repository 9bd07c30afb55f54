#!/usr/bin/env python3
"""The lock program of dogpile.cache's distributed lock. One thread gets the lock and another gives it back, as with a background creator.
--shared: the token is not one thread's own (thread_local_lock=False)."""
import os
import sys
import time

from dogpile.cache import __version__
from dogpile.cache.backends.redis import RedisBackend

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

BETWEEN = 0.05  # seconds between two tries


def open_lock(setup):
    node, = setup.nodes
    more = {"thread_local_lock": False} if "--shared" in sys.argv else {}
    backend = RedisBackend({"host": node.host, "port": node.port, "distributed_lock": True, "lock_timeout": setup.ttl,
                            "lock_sleep": BETWEEN, **more})

    def acquire(wait):
        lock = backend.get_mutex(setup.key)
        end = None if wait is None else time.monotonic() + wait
        while not lock.acquire(False):
            if end is not None and time.monotonic() + BETWEEN > end:
                raise Refused("taken")
            time.sleep(BETWEEN)
        return Grant(release=lock.release)

    return acquire


serve(Program("dogpile.cache", __version__, kind="single", keys=["_lock{key}"], homepage="https://github.com/sqlalchemy/dogpile.cache"),
      open_lock)
