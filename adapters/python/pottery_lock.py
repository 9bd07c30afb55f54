#!/usr/bin/env python3
"""The lock program of pottery's Redlock."""
from libraries import TUNED, Doubt, connect, use

use("pottery")
from importlib.metadata import version  # noqa: E402

import redis  # noqa: E402
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

doubt = Doubt(redis.connection.Connection)


def open_lock(setup):
    masters = connect(setup)

    def sure(action):
        begin = doubt.count
        try:
            action()
        except (ExtendUnlockedLock, ReleaseUnlockedLock) as err:
            raise Refused(str(err)) if doubt.count == begin else err

    def acquire(wait):
        lock = Redlock(key=setup.key, masters=masters, auto_release_time=setup.ttl, num_extensions=10**9)
        if not lock.acquire(timeout=-1 if wait is None else wait):
            raise RuntimeError("not acquired")  # the release of its last try goes on in threads of its own
        return Grant(release=lambda: sure(lock.release), extend=lambda: sure(lock.extend), owner=lock._uuid)

    return acquire


serve(Program("pottery" + ", tuned" * TUNED, version("pottery"), kind="quorum", keys=["redlock:{key}"], can=["extend", "owner"],
              homepage="https://github.com/brainix/pottery",
              about=f"Redlock; client redis-py {redis.__version__}, socket_timeout as in setup, " + ("nothing is sent twice" if TUNED else "its own retries")),
      open_lock)
