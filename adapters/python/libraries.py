"""What the lock programs of this folder share: where their libraries are, the SDK, and clients of redis-py."""
import importlib.util
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "sdk", "python"))
TUNED = "--tuned" in sys.argv


def use(package, folder="python"):
    """Finds a package in what `make libraries` has brought, or in the virtual environment that this Python is of. Without it the program says
    how to get it, and ends."""
    if sys.prefix == sys.base_prefix:
        sys.path.insert(0, os.path.join(ROOT, ".cache", "libraries", folder))
    if importlib.util.find_spec(package) is None:
        sys.exit(f"{package} is not in {sys.path[0]}: make libraries")


def event_loop():
    """An event loop of asyncio in a thread of its own. What is returned runs a coroutine in it, in a task that a cancel of the acquire cancels,
    and waits for its end."""
    import asyncio
    import threading

    from sim_adapter import on_cancel

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    async def start(coroutine):
        return asyncio.ensure_future(coroutine)

    async def end(task):
        return await task

    def run(coroutine):
        task = asyncio.run_coroutine_threadsafe(start(coroutine), loop).result()
        on_cancel(lambda: loop.call_soon_threadsafe(task.cancel))
        return asyncio.run_coroutine_threadsafe(end(task), loop).result()

    return run


# The errors of a node that has done nothing, and after which redis-py sends the same again.
NOT_DONE = ("NoScriptError", "MovedError", "AskError", "TryAgainError", "ClusterDownError")


class Doubt:
    """Counts what makes an answer of a library doubtful: redis-py repeats a command whose connection was lost, and most libraries take an error for a
    no. Connections of redis-py are counted that were given up, and answers that are errors, but for those at the beginning of a connection."""

    def __init__(self, connection):
        self.count = 0
        for name in ("on_connect", "on_connect_check_health"):
            if hasattr(connection, name):
                setattr(connection, name, self.begins(getattr(connection, name)))
        connection.disconnect = self.counted(connection.disconnect)
        if hasattr(connection, "__del__"):
            connection.__del__ = self.collects(connection.__del__)
        connection.read_response = self.read(connection.read_response)

    def begins(self, method):
        def call(this, *args, **kwargs):
            this.begins = True
            try:
                return method(this, *args, **kwargs)
            finally:
                this.begins = False
        return call

    def collects(self, method):
        def call(this):
            this.collected = True  # nobody uses it any more
            method(this)
        return call

    def counted(self, method):
        def call(this, *args, **kwargs):
            self.count += not getattr(this, "collected", False)
            return method(this, *args, **kwargs)
        return call

    def read(self, method):
        def call(this, *args, **kwargs):
            try:
                return method(this, *args, **kwargs)
            except Exception as err:
                self.count += not this.begins and type(err).__name__ not in NOT_DONE
                raise
        return call


def one_store(setup):
    """Refuses a setup with several independent nodes."""
    from sim_adapter import Unsupported
    if len(setup.nodes) > 1 and setup.topology != "cluster":
        raise Unsupported("it locks on one node")


def connect(setup, **more):
    """Clients of redis-py for the nodes, one for the primary that sentinels name, or one for a cluster. They obey the node timeout unless told
    otherwise. With --tuned they send nothing twice."""
    import redis
    from redis.sentinel import Sentinel
    if TUNED:
        from redis.backoff import NoBackoff
        from redis.retry import Retry
        more["retry"] = Retry(NoBackoff(), 0)
    if any(n.tls for n in setup.nodes):
        raise ValueError("redis-py cannot check the name of a server behind a proxy")
    timeout = setup.node_timeout or None
    more.setdefault("socket_timeout", timeout)
    more.setdefault("socket_connect_timeout", timeout)  # since 8.0 it is 5 s by default
    if setup.sentinels:
        sentinel = Sentinel([(s.host, s.port) for s in setup.sentinels], socket_timeout=timeout)
        clients = [sentinel.master_for(setup.master, **more)]
        for s in sentinel.sentinels:
            setup.on_close(s.connection_pool.disconnect)
    elif setup.topology == "cluster":
        from redis.cluster import ClusterNode, RedisCluster  # redis-py has it since its version 4.1
        client = RedisCluster(startup_nodes=[ClusterNode(n.host, n.port) for n in setup.nodes], **more)
        setup.on_close(client.disconnect_connection_pools)  # its close leaves the pools open
        return [client]
    else:
        clients = [redis.Redis(host=n.host, port=n.port, username=n.username or None, password=n.password or None, **more) for n in setup.nodes]
    for c in clients:
        setup.on_close(c.connection_pool.disconnect)
    return clients
