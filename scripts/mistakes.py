#!/usr/bin/python3
"""Locks with the mistakes that scripts/virtual-detection.sh searches for, in Python and on sockets alone: mistakes.py LOCK [MISTAKE].

The locks do what sim's own of the same names do, one request after the other. Without a mistake none should be found."""
import os
import random
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sdk", "python"))
from sim_adapter import Grant, Program, Refused, serve  # noqa: E402

LOCK, MISTAKE = (sys.argv[1:] + [""])[:2]
RENEWS = LOCK in ("watchdog", "redlock-extend")
QUORUM = LOCK.startswith("redlock")

DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
EXTEND = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0"
REVIVE = """local v = redis.call('get',KEYS[1])
if v == ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end
if v then return 0 end
redis.call('set',KEYS[1],ARGV[1],'PX',ARGV[2]) return 1"""


class Silent(Exception):
    """No answer came in time, or none can come."""


class Server:
    """A connection to a node; where an answer is late, the next request opens another."""

    def __init__(self, node, timeout):
        self.address, self.timeout, self.file = (node.host, node.port), timeout, None
        self.busy = threading.Lock()

    def ask(self, *words):
        with self.busy:
            try:
                if self.file is None:
                    self.socket = socket.create_connection(self.address, self.timeout)
                    self.file = self.socket.makefile("rb")
                words = [str(w).encode() for w in words]
                self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                return self.answer()
            except OSError as err:
                if self.file is not None:
                    self.file.close()
                    self.socket.close()
                self.file = None
                raise Silent(str(err)) from err

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, text = line[:1], line[1:-2]
        if kind == b":":
            return int(text)
        if kind == b"$" and text != b"-1":
            return self.file.read(int(text) + 2)[:-2]
        return text if kind == b"+" else None


def open_lock(setup):
    servers = [Server(n, setup.node_timeout) for n in setup.nodes]
    ttl, key, most = setup.ttl, setup.key, len(servers) // 2 + 1
    luck = random.SystemRandom()  # not of the seed: a client that was killed would write its old values again
    same = "%s-%016x" % (setup.client, luck.getrandbits(64))

    def each(*words):
        """Asks one node after the other: the answers, and how many gave none."""
        answers, silent = [], 0
        for server in servers:
            try:
                answers.append(server.ask(*words))
            except Silent:
                silent += 1
        return answers, silent

    def delete(value):
        if MISTAKE == "release":
            return each("DEL", key)
        return each("EVAL", DELETE, 1, key, value)

    def attempt():
        """The value, the end of the lease and the token, or None."""
        value = same if MISTAKE == "value" else "%s-%016x" % (setup.client, luck.getrandbits(64))
        token = each("INCR", key + ":token")[0] if MISTAKE == "token_after_grant" else None
        start = time.monotonic()
        answers, silent = each("SET", key, value, "NX", "PX", int(ttl * 1000))
        yes = answers.count(b"OK")
        if LOCK == "set-nx-wait" and yes:
            copies, _ = each("WAIT", 1, int(setup.node_timeout * 500))
            if MISTAKE != "check_wait" and copies != [1]:
                yes = 0
        if MISTAKE == "recheck_elapsed":
            start = time.monotonic()
        won = yes >= ((len(servers) - silent) // 2 + 1 if MISTAKE == "quorum" else most)
        if MISTAKE == "node_error" and silent:
            won = False
        if won and LOCK == "set-nx-px" and token is None:
            token = each("INCR", key + ":token")[0]
        until = start + ttl * 0.99 - 0.002
        if won and token != [] and time.monotonic() < until:
            return value, until, token
        if MISTAKE != "clean_up":
            delete(value)
        return None

    def renew(value, state, grant):
        script = REVIVE if MISTAKE == "extend" else EXTEND
        while True:
            time.sleep(ttl / 3)
            if state["released"] and MISTAKE != "stop_renewal":
                return
            start = time.monotonic()
            answers, silent = each("EVAL", script, 1, key, value, int(ttl * 1000))
            yes = answers.count(1)
            if MISTAKE == "extend_needs_quorum":
                yes = len(servers)
            if yes + silent < most or yes >= most and start > state["until"] and MISTAKE != "extend_needs_quorum":
                return  # lost: the promise that was told ends by itself
            if yes >= most and not state["released"]:
                state["until"] = start + ttl * 0.99 - 0.002
                grant.renewed(state["until"])

    def acquire(wait):
        end = time.monotonic() + wait
        while True:
            got = attempt()
            if got:
                break
            if time.monotonic() > end:
                raise RuntimeError("in vain")  # an answer may have been lost
            time.sleep(ttl / 10 * (1 + luck.random()))
        value, until, token = got
        state = {"until": until, "released": False}

        def release():
            state["released"] = True
            answers, silent = delete(value)
            if answers.count(1) + silent < most:
                raise Refused("not ours any more")
            if answers.count(1) < most:
                raise RuntimeError("no answer")
        grant = Grant(release, owner=value, until=until, token=token[0] if token else None)
        if RENEWS:
            threading.Thread(target=renew, args=(value, state, grant), daemon=True).start()
        return grant

    return acquire


serve(Program("mistakes-" + LOCK, MISTAKE or "none", kind="quorum" if QUORUM else "single", keys=["{key}"],
              can=["validity", "owner"] + (["renew"] if RENEWS else []) + (["token"] if LOCK == "set-nx-px" else [])), open_lock)
