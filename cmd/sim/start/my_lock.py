"""The lock program that sim starts for each client. Put your own lock in the place of MyLock.

It needs redis-py: apt-get install python3-redis, or pip install -r locks/requirements.txt.
"""
import math
import time
import uuid

import redis

from sim_adapter import Grant, Program, Refused, serve

# Python looks for modules in locks/. To import a package at the root of your repository:
# import os, sys
# sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class MyLock:
    """A lock on one node: SET NX PX with a value of its own, and a release that compares it."""

    def __init__(self, client, key, ttl):
        self.client, self.key, self.ttl = client, key, ttl
        self.value = str(uuid.uuid4())

    def acquire(self, wait):
        deadline = time.monotonic() + (math.inf if wait is None else wait)  # None: no limit
        while not self.client.set(self.key, self.value, nx=True, px=int(self.ttl * 1000)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def release(self):
        if not self.client.eval(RELEASE, 1, self.key, self.value):
            raise Refused("not ours any more")


def open_lock(setup):
    """Called once for each client, with the servers, the key and the ttl (in seconds)."""
    node = setup.nodes[0]
    client = redis.Redis(node.host, node.port, socket_timeout=setup.node_timeout or None)

    def acquire(wait):
        lock = MyLock(client, setup.key, setup.ttl)
        if not lock.acquire(wait):
            raise Refused("taken")  # certainly not held; after any other error it may be
        return Grant(release=lock.release)

    return acquire


# kind is its class: single (one node), quorum (several, as Redlock), session, or other.
# can says what else your lock does; sim tests nothing of it otherwise. Say it only if it is true, as can=["renew"]:
#   renew   it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable
#   extend  its user can make the lease longer: give the grant an extend
#   lost    it sees that it has lost the lock: then call its lost()
# docs/reference/lock-protocol.md has all words.
serve(Program("my-lock", "1.0", kind="single", keys=["{key}"],
              about="the sample of sim init: put your own lock in its place, and say here which it is"), open_lock)
