"""A lock program on one node, without a library, that does one thing wrong: what its
argument says. Without an argument it does nothing wrong."""
import base64
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time

wrong = sys.argv[1] if len(sys.argv) > 1 else ""
ready = {"type": "ready", "protocol": 1, "name": "by-hand", "version": "1.0", "class": "single", "can": ["owner"]}
if wrong == "one at a time":
    ready["can"] += ["permits", "modes"]
grants = {}
out = os.fdopen(os.dup(1), "w")
lock, address = {}, ("", 0)
setups, kept = 0, []


def say(**message):
    text = json.dumps(message) + "\n"
    if wrong == "no line break":
        text = text.rstrip("\n")
    out.write(text)
    if wrong != "not flushed":
        out.flush()


def ask(*words):
    """Asks the node; the answer's first line."""
    with socket.create_connection(address, timeout=1) as node:
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        node.sendall(b"".join(parts))
        answer = node.makefile("rb")
        line = answer.readline().strip()
        return answer.read(int(line[1:])) if line[:1] == b"$" and line != b"$-1" else line


def take(key, owner):
    ttl = {"wrong unit": int(lock["ttl_ms"] / 10), "one ms": 1, "cuts": int(lock["ttl_ms"] / 1000) * 1000, "never ends": None}.get(wrong, int(lock["ttl_ms"]))
    words = ["SET", key, owner] + (["PX", ttl] if ttl else []) + ([] if wrong.startswith("steals") else ["NX"])
    return ask(*words) == b"+OK"


def connect(address):
    """Has a connection again and again."""
    while True:
        with socket.create_connection(address, timeout=1):
            time.sleep(0.1)


def acquire(id, wait_ms):
    if setups > 1 and wrong == "again, slower":
        time.sleep(0.001)
    deadline = time.monotonic() + wait_ms / 1000
    if wrong == "whole seconds":
        deadline = time.monotonic() + max(2, -(-wait_ms // 1000))
    if wrong == "dies":
        print("about to fail", file=sys.stderr)
        raise SystemExit("out of memory")
    if wrong == "touches":
        open("held", "w").write(str(os.getpid()))
        time.sleep(1000)
    if wrong == "prints JSON":
        say(type="log", text="connected")
    key = {"other key": "mine:" + lock["key"], "own key": "mine-" + os.environ["CLIENT"]}.get(wrong, lock["key"])
    while True:
        owner = secrets.token_hex(8).encode()
        if wrong == "file time":
            open("lock.txt", "w").close()
            owner = b"%d" % os.stat("lock.txt").st_mtime_ns
        try:
            if wrong == "grants always" or take(key, owner):
                break
        except ConnectionResetError if wrong == "repeats" else ():
            continue
        except OSError as error:
            if wrong == "slow to see":
                time.sleep(90)
            if wrong == "never sees":
                time.sleep(1000)
            return say(type="unknown", id=id, why=repr(error))
        if time.monotonic() >= deadline:
            if wrong == "deletes":
                ask("DEL", key)
            if wrong == "swaps":
                ctypes.CDLL(None).swapon(b"/nowhere", 0)
            if wrong == "dies when refused":
                os._exit(3)
            return say(type="refused", id=id, why="taken")
        time.sleep(0.01)
    grants[id] = key, owner
    if wrong == "steals and notes":
        ask("SET", "note:" + key, "1", "PX", int(lock["ttl_ms"]))
    answer = {"type": "acquired", "id": id, "owner_b64": base64.b64encode(owner).decode()}
    if wrong == "no id":
        del answer["id"]
    if wrong == "other id":
        answer["id"] += 100
    if wrong == "texts":
        answer["validity_ms"] = "2000"
    if wrong == "odd field":
        answer["validity"] = 2000
    if wrong == "long validity":
        answer["validity_ms"] = 1e9
    if wrong == "wall clock":
        answer.update(at_ns=time.time_ns(), validity_ms=100)
    if wrong == "other owner":
        answer["owner_b64"] = "AAEC"
    if wrong == "renews":
        threading.Thread(target=renew, args=(id,), daemon=True).start()
    say(**answer)


def release(id, grant):
    key, owner = grants.pop(grant)
    if wrong == "never gives back":
        return say(type="refused", id=id, why="I keep it")
    if wrong not in ("keeps", "grants always"):
        ours = ask("EVAL", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", 1, key, owner)
        if ours != b":1":
            return say(type="refused", id=id, why="not ours")
    if wrong == "signals" or wrong == "again, notes" and setups == 1:
        ask("SET", "signal:" + key, "1")
    elif wrong == "again, notes":
        open("keys.txt", "a").write("left %s\n" % ask("EXISTS", "signal:warm-up-" + os.environ["CLIENT"]).decode())
    say(type="unknown", id=id, why="no token") if wrong == "does not know" else say(type="released", id=id)


def extend(id, grant):
    if wrong == "can too much":
        return say(type="extended", id=id)
    ask("PEXPIRE", grants[grant][0], int(lock["ttl_ms"]) * (1000 if wrong == "extends in s" else 1))
    say(type="extended", id=id)


def renew(grant):
    """Renews again and again, also just before an extension."""
    while grant in grants:
        ask("PEXPIRE", grants[grant][0], int(lock["ttl_ms"]))
        time.sleep(0.001)


if wrong == "silent":
    sys.stdin.read()
    sys.exit()
if wrong in ("long validity", "wall clock"):
    ready["can"].append("validity")
if wrong in ("extends", "extends in s", "renews"):
    ready["can"] += ["extend"] if wrong != "renews" else ["extend", "renew"]
if wrong.startswith("again"):
    ready["can"].append("setup-again")
if wrong == "not busy":
    ready["can"].append("busy")
if wrong == "can too much":
    ready["can"] += ["token", "extend", "renew", "lost"]
    ready["clock"] = "libc"
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "hello":
        say(**ready)
    elif m["type"] == "setup":
        setups, before = setups + 1, (lock, address)
        lock, address = m["lock"], (m["nodes"][0]["host"], m["nodes"][0]["port"])
        if wrong == "again, notes":
            open("keys.txt", "a").write(m["client"] + " " + lock["key"] + "\n")
        if setups > 1 and wrong == "again, first node":
            address = before[1]
        if setups > 1 and wrong == "again, first key":
            lock["key"] = before[0]["key"]
        if setups > 1 and wrong == "again, first ttl":
            lock["ttl_ms"] = before[0]["ttl_ms"]
        if setups > 1 and wrong == "again, ends":
            sys.exit("I cannot")
        if wrong == "again, releases":  # as locks do that are dropped
            for key, _ in grants.values():
                ask("DEL", key)
            grants.clear()
        if wrong == "again, holds on":
            kept.append(socket.create_connection(address, timeout=1))
        if wrong == "again, connects":
            threading.Thread(target=connect, args=(address,), daemon=True).start()
        os.environ["CLIENT"] = m["client"]
        if wrong == "forks":
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
        say(type="set-up") if wrong != "gives up" else say(type="error", why="no module named lock")
    elif m["type"] == "acquire" and wrong in ("dies", "does not read"):
        acquire(m["id"], m["wait_ms"])
    elif m["type"] == "acquire":
        threading.Thread(target=acquire, args=(m["id"], m["wait_ms"]), daemon=True).start()
    elif m["type"] == "release":
        release(m["id"], m["grant"])
    elif m["type"] == "extend":
        extend(m["id"], m["grant"])
    elif m["type"] == "clocks":
        say(type="clocks", id=m["id"], wall_ms=0)
if wrong in ("goes on", "steals and does not end"):
    time.sleep(1000)
