#!/usr/bin/env python3
"""The lock program of python-redis-lock. --renew: with auto_renewal. Its times are whole seconds."""
from libraries import Doubt, connect, one_store, use

use("redis_lock")
import sys  # noqa: E402

import redis  # noqa: E402
import redis_lock  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

DEFAULTS = {"socket_timeout": redis.connection.DEFAULT_SOCKET_TIMEOUT if hasattr(redis.connection, "DEFAULT_SOCKET_TIMEOUT") else None}
RENEWS = "--renew" in sys.argv
doubt = Doubt(redis.connection.Connection)


def open_lock(setup):
    one_store(setup)
    client, = connect(setup, **DEFAULTS)  # it waits by BLPOP, for up to a TTL: the node timeout would end that
    ttl = None if setup.ttl is None else int(setup.ttl)

    def acquire(wait):
        lock = setup.lock_object(lambda: redis_lock.Lock(client, setup.key, expire=ttl, auto_renewal=RENEWS))
        left = None if wait is None else int(wait)
        begin = doubt.count
        while not lock.acquire(blocking=left != 0, timeout=left and min(left, ttl or left) or None):  # the library refuses to wait for longer than a TTL
            left -= min(left, ttl or left)
            if left <= 0:  # till then it asks again, as users do
                raise Refused("taken") if doubt.count == begin else RuntimeError("taken")

        def sure(action, again=False):
            """again: a repeated command says no only if the lock is not ours any more."""
            begin = doubt.count
            try:
                action()
            except redis_lock.NotAcquired as err:
                raise Refused(str(err)) if again or doubt.count == begin else err

        return Grant(release=lambda: sure(lock.release), extend=lambda: sure(lock.extend, again=True), owner=getattr(lock, "id", None))

    return acquire


serve(Program("python-redis-lock", redis_lock.__version__, kind="single", keys=["lock:{key}"],
              can=["owner", "sentinel", "wakes", "one-object"] + ["extend"] * hasattr(redis_lock.Lock, "extend") +
              (["renew", "forget"] if RENEWS else ["no-ttl"]), ttl_min_ms=1000, ttl_step_ms=1000,
              homepage="https://github.com/ionelmc/python-redis-lock", about=f"{'auto_renewal; ' * RENEWS}client redis-py {redis.__version__}"), open_lock)
