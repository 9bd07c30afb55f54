#!/usr/bin/env python3
"""The lock program of aioredlock. --renew: without a lock_timeout, which has the library renew the lock."""
import sys

from libraries import event_loop, use

use("aioredlock", "aioredlock")
from importlib.metadata import version  # noqa: E402

from aioredlock import Aioredlock  # noqa: E402
from aioredlock.lock import Lock  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

RENEWS = "--renew" in sys.argv
DELAY = 0.2  # s between two tries, by default, more or less 0.1


def open_lock(setup):
    run = event_loop()

    async def make():
        return Aioredlock([{"host": n.host, "port": n.port, **({"password": n.password} if n.password else {})} for n in setup.nodes],
                          internal_lock_timeout=setup.ttl)

    if any(n.tls or n.username for n in setup.nodes):
        raise ValueError("aioredis 1 can neither check the name of a server behind a proxy nor log in as a user")
    manager = run(make())

    def acquire(wait):
        manager.retry_count = max(1, int((wait or 86_400) / DELAY))
        try:
            lock = run(manager.lock(setup.key, lock_timeout=None if RENEWS else setup.ttl))
        finally:
            manager.retry_count = 3  # its default: that of an extension

        class Watched(Lock):
            """A user who looks at valid sees that the lock is lost."""

            def __setattr__(self, name, value):
                super().__setattr__(name, value)
                if name == "valid" and not value:
                    grant.lost("the lock is not valid any more")

        def release():
            lock.__class__ = Lock  # it makes the lock invalid, too
            run(manager.unlock(lock))

        def extend():
            try:
                run(manager.extend(lock))
            except Exception as err:
                if lock.valid:
                    raise
                raise Refused(str(err)) from err  # it has given the lock up

        grant = Grant(release=release, extend=extend, owner=lock.id)
        if RENEWS:
            lock.__class__ = Watched
        return grant

    return acquire


serve(Program("aioredlock", version("aioredlock"), kind="quorum", keys=["{key}"], can=["extend", "owner", "cancel"] + ["renew", "lost"] * RENEWS,
              homepage="https://github.com/joanvila/aioredlock", about=f"{'no lock_timeout: renewed; ' * RENEWS}client aioredis {version('aioredis')} with its defaults"), open_lock)
