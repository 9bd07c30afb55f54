#!/usr/bin/env python3
"""The lock program of kazoo's Lock; --read-write: of its ReadLock and WriteLock. The TTL is the timeout of the client's session, in which its locks are."""
from libraries import use

use("kazoo")
import logging  # noqa: E402
import sys  # noqa: E402
from importlib.metadata import version  # noqa: E402

from kazoo.client import KazooClient, KazooState  # noqa: E402
from kazoo.exceptions import LockTimeout  # noqa: E402
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

READ_WRITE = "--read-write" in sys.argv
logging.basicConfig(format="%(asctime)s %(threadName)s %(message)s", level=logging.INFO)


def open_lock(setup):
    node, = setup.nodes
    client = KazooClient(f"{node.host}:{node.port}", timeout=setup.ttl)
    held, doubts = set(), []

    def heard(state):  # in the thread of the connection
        if state != KazooState.CONNECTED:
            doubts.append(state)
        for grant in list(held) if state == KazooState.LOST else []:
            grant.lost(state)

    client.add_listener(heard)
    client.start()
    setup.on_close(client.close)
    setup.on_close(client.stop)

    def acquire(wait):
        kind = client.Lock if not READ_WRITE else client.ReadLock if setup.shared else client.WriteLock
        lock, begin = kind("/" + setup.key, setup.client), len(doubts)

        def sure(done, why):  # its cleanup does what it can, and says nothing where that is too little
            if not done:
                raise Refused(why) if len(doubts) == begin else RuntimeError(why)

        try:
            sure(lock.acquire(timeout=wait), "no")
        except LockTimeout as err:
            sure(False, str(err))

        def release():
            held.discard(grant)
            sure(lock.release(), "not held")

        grant = Grant(release=release)
        held.add(grant)
        return grant

    return acquire


serve(Program("kazoo" + " read-write" * READ_WRITE, version("kazoo"), kind="session", keys=["{key}"],
              can=["renew", "lost", "modes" if READ_WRITE else "fair", "setup-again"], store="zookeeper", ttl_min_ms=200,
              homepage="https://kazoo.readthedocs.io", about=f"{'ReadLock and WriteLock' if READ_WRITE else 'Lock'}; KazooClient with its defaults, its timeout is the TTL"), open_lock)
