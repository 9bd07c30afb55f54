#!/usr/bin/env python3
"""The lock program of redlock-py."""
from libraries import TUNED, Doubt, connect, use

use("redlock")
import time  # noqa: E402
from importlib.metadata import version  # noqa: E402

import redis  # noqa: E402
from redlock import Redlock  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

doubt = Doubt(redis.connection.Connection)


def open_lock(setup):
    clients, ttl = connect(setup), int(setup.ttl * 1000)

    def acquire(wait):
        redlock = Redlock(clients, retry_count=max(1, int((wait or 86_400) / Redlock.default_retry_delay)))
        begin = doubt.count
        lock = redlock.lock(setup.key, ttl)
        if not lock:
            raise Refused("taken") if doubt.count == begin else RuntimeError("taken")
        until = time.monotonic() + lock.validity / 1000
        return Grant(release=lambda: redlock.unlock(lock), owner=lock.key, until=until)

    return acquire


serve(Program("redlock-py" + ", tuned" * TUNED, version("redlock-py"), kind="quorum", keys=["{key}"], can=["validity", "owner", "setup-again"],
              homepage="https://github.com/SPSCommerce/redlock-py",
              about=f"client redis-py {redis.__version__}, socket_timeout as in setup, " + ("nothing is sent twice" if TUNED else "its own retries")),
      open_lock)
