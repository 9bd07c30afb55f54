// Writes a lock log in production: what an application knows of its locks, a line for each event.
//
// `sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
// One file, no dependency, Node.js 16 or later. Keep it in your application:
//
//     const log = new LockLog("/var/log/shop/locks.locklog");
//     const hold = log.ask("orders");
//     const lock = await redlock.acquire(["orders"], 10000);
//     hold.granted({ owner: lock.value, ttl: 10000 });
//     ...
//     hold.releasing(); await lock.release(); hold.released();
//
// It throws nothing: what it cannot write it drops, and counts in `dropped`. Lines wait for a second at most, or until there are 256; at
// exit they are written. The file is opened for each write, so it may be renamed at any time. Times are in ms.
import { closeSync, openSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { randomBytes } from "node:crypto";

export class LockLog {
  constructor(path, { host = hostname() } = {}) {
    Object.assign(this, { path, dropped: 0, lines: [], next: 0, holds: 0, torn: "", timer: null });
    this.head = `{"locklog":1,"host":${JSON.stringify(host)},"process":"${process.pid}-${randomBytes(4).toString("hex")}","line":`;
    process.on("exit", () => this.flush());
  }

  /** Asks for a lock: what is granted and released together is one hold. */
  ask(lock) {
    const hold = new Hold(this, `"hold":${++this.holds},"lock":${JSON.stringify(lock)}`);
    hold.asked();
    return hold;
  }

  /** Before a renewal or a write, for `since`. */
  now() {
    return performance.now();
  }

  write(event, hold, more) {
    try {
      const mono = performance.now();
      let line = `${this.head}${this.next++},"wall":${Date.now() * 1000},"mono":${Math.floor(mono * 1000)},"event":"${event}",${hold}`;
      for (const name in more) {
        const value = more[name];
        if (value === undefined || value === null || value === false || value === "") continue;
        if (name === "since") line += `,"took":${Math.max(0, Math.floor((mono - value) * 1000))}`;
        else if (name === "ttl" || name === "validity") line += `,"${name}":${Math.floor(value * 1000)}`;
        else line += `,"${name}":${JSON.stringify(value)}`;
      }
      if (this.lines.push(line + "}") >= 256) this.flush();
      else this.timer ??= setTimeout(() => this.flush(), 1000).unref();
    } catch {
      this.dropped++;
    }
  }

  flush() {
    clearTimeout(this.timer);
    const lines = this.lines;
    Object.assign(this, { timer: null, lines: [] });
    if (lines.length === 0) return;
    let whole = false;
    try {
      const data = Buffer.from(this.torn + lines.join("\n") + "\n");
      const file = openSync(this.path, "a", 0o640);
      try {
        whole = writeSync(file, data) === data.length;
      } finally {
        closeSync(file);
      }
    } catch {} // counted below
    this.torn = whole ? "" : "\n";
    if (!whole) this.dropped += lines.length;
  }
}

class Hold {
  constructor(log, tail) {
    Object.assign(this, { log, tail });
  }
  /** Before each further try, where the application itself tries again. */
  asked() { this.log.write("asked", this.tail); }
  /** validity: what the library says is left of it. renews: the library renews it by itself. */
  granted({ owner, ttl, validity, renews, token } = {}) { this.log.write("granted", this.tail, { owner, ttl, validity, renews, token }); }
  notGranted() { this.log.write("not-granted", this.tail); }
  renewed(since, { ttl, validity } = {}) { this.log.write("renewed", this.tail, { since, ttl, validity }); }
  lost() { this.log.write("lost", this.tail); }
  releasing() { this.log.write("releasing", this.tail); }
  released() { this.log.write("released", this.tail); }
  releasedInVain() { this.log.write("released-in-vain", this.tail); }
  writeDone(since, token) { this.log.write("write-done", this.tail, { since, token }); }
  writeRefused(since, token) { this.log.write("write-refused", this.tail, { since, token }); }
}
