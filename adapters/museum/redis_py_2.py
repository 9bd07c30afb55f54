#!/usr/bin/env python3
"""The lock program of redis-py's Lock before version 3. That of version 2.7 keeps its end in the key, in the clients' time of day.
--text: of a client that decodes what it reads (decode_responses).
--shared: the threads of a process share one lock object, as the documentation of version 2.10.2 has it, of the class that the library chooses."""
import os
import sys
import time

import redis

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

BETWEEN = 0.05  # seconds between two tries
IN_VALUE = not hasattr(redis, "lock")
SHARED = "--shared" in sys.argv


def open_lock(setup):
    node, = setup.nodes
    if SHARED:
        return lambda wait: get(setup.once(lambda: shared(setup, node)), wait)
    client = connect(setup, node)

    def acquire(wait):
        if IN_VALUE:
            lock = redis.client.Lock(client, setup.key, timeout=setup.ttl, sleep=BETWEEN)
        else:
            lock = client.lock(setup.key, timeout=setup.ttl, sleep=BETWEEN, thread_local=False, **OLD_CLASS)
        return get(lock, wait)

    return acquire


def shared(setup, node):
    # Requests of an only client come in several threads. Of several, each has one, as the library expects it.
    apart = {} if setup.process or redis.VERSION < (2, 10, 2) else {"thread_local": False}
    return connect(setup, node).lock(setup.key, timeout=setup.ttl, sleep=BETWEEN, **apart)


def connect(setup, node):
    client = redis.StrictRedis(host=node.host, port=node.port, socket_timeout=setup.node_timeout or None,
                               decode_responses="--text" in sys.argv)
    setup.on_close(client.connection_pool.disconnect)
    return client


def get(lock, wait):
    end = None if wait is None else time.monotonic() + wait
    while not lock.acquire(blocking=False):
        if end is not None and time.monotonic() + BETWEEN > end:
            raise Refused("taken")
        time.sleep(BETWEEN)
    return Grant(release=release(lock))


OLD_CLASS = {"lock_class": redis.lock.Lock} if not IN_VALUE else {}


def release(lock):
    def call():
        try:
            lock.release()
        except redis.exceptions.RedisError as err:
            if "no longer owned" in str(err):
                raise Refused(str(err)) from err
            raise
    return call


serve(Program("redis-py", redis.__version__, kind="single", keys=["{key}"], can=["clients" if SHARED else "setup-again"],
              lease="ttl" if IN_VALUE else None, homepage="https://github.com/redis/redis-py"), open_lock)
