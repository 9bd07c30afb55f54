#!/usr/bin/env python3
"""The lock program of redis-py's redis.asyncio.lock.Lock."""
from libraries import event_loop, one_store, use

use("redis")
import redis  # noqa: E402
import redis.asyncio  # noqa: E402
from redis.asyncio.cluster import ClusterNode, RedisCluster  # noqa: E402
from redis.asyncio.connection import AbstractConnection  # noqa: E402
from redis.asyncio.sentinel import Sentinel  # noqa: E402
from redis.exceptions import LockNotOwnedError  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

given_up = 0  # connections: redis-py repeats a command then
disconnect = AbstractConnection.disconnect


async def count(self, *args, **kwargs):
    global given_up
    given_up += 1
    await disconnect(self, *args, **kwargs)

AbstractConnection.disconnect = count


def said_no(begin, why):
    return Refused(why) if given_up == begin else RuntimeError(why)


async def connect(setup):
    timeout = setup.node_timeout or None
    if setup.sentinels:
        return Sentinel([(s.host, s.port) for s in setup.sentinels], socket_timeout=timeout).master_for(setup.master, socket_timeout=timeout)
    if setup.topology == "cluster":
        return RedisCluster(startup_nodes=[ClusterNode(n.host, n.port) for n in setup.nodes], socket_timeout=timeout)
    node, = setup.nodes
    if node.tls:
        raise ValueError("redis-py cannot check the name of a server behind a proxy")
    return redis.asyncio.Redis(host=node.host, port=node.port, username=node.username or None, password=node.password or None, socket_timeout=timeout)


def open_lock(setup):
    one_store(setup)
    run = event_loop()
    client = run(connect(setup))

    def acquire(wait):
        lock = setup.lock_object(lambda: client.lock(setup.key, timeout=setup.ttl, thread_local=False))

        begin = given_up
        if not run(lock.acquire(blocking_timeout=wait)):
            raise said_no(begin, "taken")

        def release():
            begin = given_up
            try:
                run(lock.release())
            except LockNotOwnedError as err:
                raise said_no(begin, str(err)) from err

        def extend():
            try:
                run(lock.reacquire())
            except LockNotOwnedError as err:  # also of a repeated command: only a release takes the key away
                raise Refused(str(err)) from err

        return Grant(release=release, extend=extend, owner=lock.local.token)

    return acquire


serve(Program("redis-py asyncio", redis.__version__, kind="single", keys=["{key}"], can=["extend", "owner", "sentinel", "cluster", "no-ttl", "one-object", "cancel"],
              homepage="https://github.com/redis/redis-py", about="redis.asyncio.lock.Lock; socket_timeout as in setup, its own retries"), open_lock)
