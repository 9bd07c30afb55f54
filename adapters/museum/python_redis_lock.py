#!/usr/bin/env python3
"""The lock program of python-redis-lock. --renew: with auto_renewal. Its times are whole seconds."""
import os
import sys

import redis
import redis_lock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

RENEWS = "--renew" in sys.argv


def open_lock(setup):
    node, = setup.nodes
    client = redis.StrictRedis(host=node.host, port=node.port)
    ttl = None if setup.ttl is None else int(setup.ttl)

    def acquire(wait):
        lock = setup.lock_object(lambda: redis_lock.Lock(client, setup.key, expire=ttl, auto_renewal=RENEWS))
        left = None if wait is None else max(1, int(wait))
        while not lock.acquire(timeout=left and min(left, ttl or left)):  # the library refuses to wait for longer than a TTL
            left -= ttl or left
            if left <= 0 or not RENEWS:  # who renews may hold the lock for longer: its waiters ask again
                raise Refused("taken")

        def release():
            try:
                lock.release()
            except redis_lock.NotAcquired as err:
                raise Refused(str(err)) from err

        return Grant(release=release, extend=getattr(lock, "extend", None), owner=getattr(lock, "id", None))

    return acquire


serve(Program("python-redis-lock", redis_lock.__version__, kind="single", keys=["lock:{key}"],
              can=["owner", "one-object"] + ["extend"] * hasattr(redis_lock.Lock, "extend") +
              (["renew", "forget"] if RENEWS else ["no-ttl"]), ttl_min_ms=1000, ttl_step_ms=1000,
              homepage="https://github.com/ionelmc/python-redis-lock"), open_lock)
