#!/usr/bin/env python3
"""The lock program of sherlock's RedisLock. Its times are whole seconds."""
import os
import sys

import redis
import sherlock
from sherlock.lock import LockException, LockTimeoutException

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

try:
    from importlib.metadata import version
except ImportError:
    from importlib_metadata import version


def open_lock(setup):
    node, = setup.nodes
    client = redis.StrictRedis(host=node.host, port=node.port, socket_timeout=setup.node_timeout or None)
    setup.on_close(client.connection_pool.disconnect)

    def acquire(wait):
        lock = sherlock.RedisLock(setup.key, client=client, expire=int(setup.ttl), timeout=wait, retry_interval=0.1)
        try:
            lock.acquire()
        except LockTimeoutException as err:
            raise Refused(str(err)) from err

        def release():
            try:
                lock.release()
            except LockException as err:
                raise Refused(str(err)) from err

        def extend():
            if not lock.renew():
                raise Refused("not renewed")

        return Grant(release=release, extend=extend, owner=lock._owner)

    return acquire


serve(Program("sherlock", version("sherlock"), kind="single", keys=["{key}"], can=["extend", "owner", "setup-again"],
              ttl_min_ms=1000, ttl_step_ms=1000, homepage="https://github.com/py-sherlock/sherlock"), open_lock)
