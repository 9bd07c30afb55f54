#!/usr/bin/python3
"""The lock program of the locks of OpenStack's tooz, with its driver for Redis."""
import logging
import math
import os
import sys
import threading
from importlib import metadata

from tooz import ToozError, coordination

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

calls = threading.local()  # repeated: the call of this thread was repeated after a lost connection


def look(record):
    if "will retry" in record.msg:
        calls.repeated = True
    return True


logging.basicConfig(format="%(asctime)s %(threadName)s %(message)s")
driver = logging.getLogger("tooz.drivers.redis")
driver.setLevel(logging.DEBUG)
driver.addFilter(look)


def sure(call, *args):
    """Raises Refused if the call says no, and was not repeated: the answer is then that of the node."""
    calls.repeated = False
    if not call(*args):
        raise ToozError("no, after a lost connection") if calls.repeated else Refused("no")


def open_lock(setup):
    node, *others = setup.sentinels or setup.nodes
    if others and not setup.sentinels:
        raise ValueError("it locks on one node")
    if node.tls or node.username:
        raise ValueError("tooz can neither check the name of a server behind a proxy nor log in as a user")
    password = f":{node.password}@" if node.password else ""
    options = f"lock_timeout={int(setup.ttl)}"
    if setup.node_timeout:
        options += f"&socket_timeout={math.ceil(setup.node_timeout)}"
    if setup.sentinels:
        options += f"&sentinel={setup.master}" + "".join(f"&sentinel_fallback={s.host}:{s.port}" for s in others)
    coordinator = coordination.get_coordinator(f"redis://{password}{node.host}:{node.port}?{options}", setup.client.encode())

    def connect():
        if not coordinator.is_started:
            coordinator.start(start_heart=True)

    try:
        connect()
    except ToozError as err:  # acquire tries again
        logging.warning("failed to start: %s", err)

    def acquire(wait):
        connect()
        lock = setup.lock_object(lambda: coordinator.get_lock(setup.key))
        sure(lock.acquire, True if wait is None else wait)
        return Grant(release=lambda: sure(lock.release), owner=lock._lock.local.token)

    return acquire


serve(Program("tooz", metadata.version("tooz"), kind="single", keys=["b'_tooz'_{key}_lock"], can=["renew", "owner", "sentinel", "one-object"],
              homepage="https://opendev.org/openstack/tooz", ttl_min_ms=1000, ttl_step_ms=1000,
              about=f"RedisLock of tooz; client redis-py {metadata.version('redis')}, socket_timeout of setup in whole seconds"), open_lock)
