#!/usr/bin/env python3
"""The lock program of the package redlock, glasslion's."""
import os
import sys
from importlib.metadata import version

from redlock import RedLockFactory

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, serve  # noqa: E402

DELAY = 200  # ms between two tries, by default, at most


def open_lock(setup):
    factory = RedLockFactory([{"host": n.host, "port": n.port, "socket_timeout": setup.node_timeout or None} for n in setup.nodes])
    for node in factory.redis_nodes:
        setup.on_close(node.connection_pool.disconnect)

    def acquire(wait):
        tries = max(1, int((86_400 if wait is None else wait) * 1000 / DELAY))
        lock = factory.create_lock(setup.key, ttl=int(setup.ttl * 1000), retry_times=tries, retry_delay=DELAY)
        if not lock.acquire():
            raise RuntimeError("taken, or it took too long")
        return Grant(release=lock.release, owner=lock.lock_key)

    return acquire


serve(Program("redlock", version("redlock"), kind="quorum", keys=["{key}"], can=["owner", "setup-again"],
              homepage="https://github.com/glasslion/redlock"), open_lock)
