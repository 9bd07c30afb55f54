#!/usr/bin/env python3
"""The lock program of aiozk's Lock. The TTL is the timeout of the client's session, in which its locks are."""
import asyncio
import os
import sys
import threading

import aiozk
from aiozk import exc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402


def open_lock(setup):
    node, = setup.nodes
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def run(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def connect():
        client = aiozk.ZKClient(f"{node.host}:{node.port}", session_timeout=setup.ttl, loop=loop)
        await client.start()
        return client

    client = run(connect())
    setup.on_close(lambda: run(client.close()))

    async def enter(wait):
        return await (await client.recipes.Lock("/" + setup.key).acquire(wait)).__aenter__()

    def acquire(wait):
        try:
            lock = run(enter(wait))
        except exc.TimeoutError as err:
            raise Refused("taken") from err
        return Grant(release=lambda: run(lock.__aexit__(None, None, None)))

    return acquire


serve(Program("aiozk", aiozk.__version__, kind="session", keys=["{key}"], can=["renew"], store="zookeeper", ttl_min_ms=1000, ttl_step_ms=1000,
              homepage="https://github.com/micro-fan/aiozk", about="Lock; ZKClient with its defaults, its session's timeout is the TTL"), open_lock)
