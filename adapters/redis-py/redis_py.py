#!/usr/bin/python3
"""The lock program of redis-py's redis.lock.Lock."""
import os
import sys

import redis
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import LockNotOwnedError
from redis.sentinel import Sentinel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402


def sure(action):
    """Makes a refusal of the one error that redis-py raises because a node said no. LockError
    comes, too, when an earlier release failed on its way: then the key may stay."""
    def call():
        try:
            action()
        except LockNotOwnedError as err:
            raise Refused(str(err)) from err
    return call


def open_lock(setup):
    timeout = setup.node_timeout or None
    if setup.sentinels:
        sentinel = Sentinel([(s.host, s.port) for s in setup.sentinels], socket_timeout=timeout)
        client = sentinel.master_for(setup.master, socket_timeout=timeout)
    elif setup.topology == "cluster":
        client = RedisCluster(startup_nodes=[ClusterNode(n.host, n.port) for n in setup.nodes], socket_timeout=timeout)
    else:
        node, = setup.nodes
        if node.tls:
            raise ValueError("redis-py cannot check the name of a server behind a proxy")
        client = redis.Redis(host=node.host, port=node.port, username=node.username or None, password=node.password or None,
                             socket_timeout=timeout)

    setup.on_close(client.close if setup.topology == "cluster" else client.connection_pool.disconnect)

    def acquire(wait):
        # Requests come in several threads.
        lock = setup.lock_object(lambda: client.lock(setup.key, timeout=setup.ttl, thread_local=False))
        if not lock.acquire(blocking_timeout=wait):
            raise Refused("taken")  # the reply to each SET has arrived: redis-py repeats none
        return Grant(release=sure(lock.release), extend=sure(lock.reacquire), owner=lock.local.token)

    return acquire


about = f"redis.lock.Lock; client redis-py {redis.__version__}, socket_timeout as in setup, its own retries"
serve(Program("redis-py", redis.__version__, kind="single", keys=["{key}"], can=["extend", "owner", "sentinel", "cluster", "setup-again", "no-ttl", "one-object"],
              homepage="https://github.com/redis/redis-py", about=about), open_lock)
