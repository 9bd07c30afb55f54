#!/usr/bin/env python3
"""The lock program of sherlock's RedisLock. Its times are whole seconds."""
from libraries import Doubt, connect, one_store, use

use("sherlock")
import redis  # noqa: E402
import sherlock  # noqa: E402
from sherlock.lock import LockException, LockTimeoutException  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

try:
    from importlib.metadata import version
except ImportError:
    from importlib_metadata import version

doubt = Doubt(redis.connection.Connection)


def sure(action, no, again=False):
    """Raises Refused if the library says no, and that is the nodes' answer. again: a repeated command returns False only if the lock is not ours
    any more."""
    begin = doubt.count
    try:
        done = action()
    except no as err:
        raise Refused(str(err)) if doubt.count == begin else err
    if done is False:
        raise Refused("no") if again or doubt.count == begin else RuntimeError("no")


def open_lock(setup):
    one_store(setup)
    client, = connect(setup)
    over = []
    setup.on_close(lambda: over.append(True))

    class Lock(sherlock.RedisLock):
        def __del__(self):
            if not over:  # then it is too late to release what was never released
                super().__del__()

    def acquire(wait):
        lock = Lock(setup.key, client=client, expire=setup.ttl and int(setup.ttl), timeout=wait, retry_interval=0.1)
        sure(lock.acquire, LockTimeoutException)
        return Grant(release=lambda: sure(lock.release, LockException), extend=lambda: sure(lock.renew, LockException, again=True), owner=lock._owner)

    return acquire


serve(Program("sherlock", version("sherlock"), kind="single", keys=["{key}"], can=["extend", "owner", "no-ttl", "sentinel", "cluster", "setup-again"],
              ttl_min_ms=1000, ttl_step_ms=1000, homepage="https://github.com/py-sherlock/sherlock",
              about=f"RedisLock; client redis-py {redis.__version__}, socket_timeout as in setup, its own retries"), open_lock)
