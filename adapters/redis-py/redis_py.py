#!/usr/bin/python3
"""The lock program of redis-py's redis.lock.Lock. --newest: with that of `make libraries`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "python"))
from libraries import Doubt, connect, one_store, use  # noqa: E402

if "--newest" in sys.argv:
    use("redis")
import redis  # noqa: E402
from redis.exceptions import LockNotOwnedError  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

doubt = Doubt(redis.connection.Connection)


def sure(action, again=False):
    """Makes a refusal of the one error that redis-py raises because a node said no, if it repeated no command: it does
    that since its version 6, and in a cluster. LockError comes, too, when an earlier release failed on its way: then the key may stay.
    again: a repeated command says no only if the lock is not ours any more, as reacquire does."""
    def call():
        begin = doubt.count
        try:
            action()
        except LockNotOwnedError as err:
            raise Refused(str(err)) if again or doubt.count == begin else err
    return call


def open_lock(setup):
    one_store(setup)
    client, = setup.once(lambda: connect(setup))

    def acquire(wait):
        # Requests of the only client come in several threads. Of several, each has one, as the library expects it.
        lock = setup.lock_object(lambda: client.lock(setup.key, timeout=setup.ttl, thread_local=bool(setup.process)))
        begin = doubt.count
        if not lock.acquire(blocking_timeout=wait):
            raise Refused("taken") if doubt.count == begin else RuntimeError("taken, or the reply to a SET of ours was lost")
        return Grant(release=sure(lock.release), extend=sure(lock.reacquire, again=True), owner=lock.local.token)

    return acquire


about = f"redis.lock.Lock; client redis-py {redis.__version__}, socket_timeout as in setup, its own retries"
serve(Program("redis-py", redis.__version__, kind="single", keys=["{key}"], can=["extend", "owner", "sentinel", "cluster", "setup-again", "no-ttl", "one-object", "clients"],
              homepage="https://github.com/redis/redis-py", about=about), open_lock)
