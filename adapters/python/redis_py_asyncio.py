#!/usr/bin/env python3
"""The lock program of redis-py's redis.asyncio.lock.Lock."""
from libraries import use

use("redis")
import asyncio  # noqa: E402
import threading  # noqa: E402

import redis  # noqa: E402
import redis.asyncio  # noqa: E402
from redis.exceptions import LockNotOwnedError  # noqa: E402
from sim_adapter import Grant, Program, Refused, Unsupported, serve  # noqa: E402


class Doubt(redis.asyncio.Connection):
    """Counts the connections that were given up: redis-py repeats a command then."""
    count = 0

    async def disconnect(self, *args, **kwargs):
        Doubt.count += 1
        await super().disconnect(*args, **kwargs)


def said_no(begin, why):
    return Refused(why) if Doubt.count == begin else RuntimeError(why)


def open_lock(setup):
    if len(setup.nodes) > 1:
        raise Unsupported("it locks on one node")
    node, = setup.nodes
    if node.tls:
        raise ValueError("redis-py cannot check the name of a server behind a proxy")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def make():
        client = redis.asyncio.Redis(host=node.host, port=node.port, username=node.username or None, password=node.password or None,
                                     socket_timeout=setup.node_timeout or None)
        client.connection_pool.connection_class = Doubt
        return client

    client = run(make())

    def acquire(wait):
        lock = setup.lock_object(lambda: client.lock(setup.key, timeout=setup.ttl, thread_local=False))

        begin = Doubt.count
        if not run(lock.acquire(blocking_timeout=wait)):
            raise said_no(begin, "taken")

        def sure(action):
            begin = Doubt.count
            try:
                run(action())
            except LockNotOwnedError as err:
                raise said_no(begin, str(err)) from err

        return Grant(release=lambda: sure(lock.release), extend=lambda: sure(lock.reacquire), owner=lock.local.token)

    return acquire


serve(Program("redis-py asyncio", redis.__version__, kind="single", keys=["{key}"], can=["extend", "owner", "no-ttl", "one-object"],
              homepage="https://github.com/redis/redis-py", about="redis.asyncio.lock.Lock; socket_timeout as in setup, its own retries"), open_lock)
