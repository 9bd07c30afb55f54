//! Writes a lock log in production: what an application knows of its locks, a line for each event.
//!
//! `sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
//! One file, no dependency, Rust 1.63 or later. Keep it in your application as `lock_log.rs`:
//!
//! ```ignore
//! let log = LockLog::open("/var/log/shop/locks.locklog", "web-1");
//! let hold = log.ask("orders");
//! let lock = manager.lock(b"orders", Duration::from_secs(10))?;
//! hold.granted(Grant { validity: Some(Duration::from_millis(lock.validity_time as u64)), ..Grant::default() });
//! // ...
//! hold.releasing();
//! manager.unlock(&lock);
//! hold.released();
//! ```
//!
//! Threads may share it. It returns no errors and does not panic: what it cannot write it drops, and counts. Lines wait for a second at most,
//! or until there are 256; those of the last second are written when the log is dropped, or by `flush`. The file is opened for each write, so
//! it may be renamed at any time.
#![allow(dead_code)] // an application does not need all of it

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::hash::{BuildHasher, Hasher};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A lock log of this process. Clones write to the same one.
#[derive(Clone)]
pub struct LockLog(Arc<Mutex<State>>);

struct State {
    path: PathBuf,
    head: String,
    lines: String,
    start: Instant,
    waiting: u64,
    next: u64,
    holds: u64,
    dropped: u64,
    torn: bool,
}

/// What is asked for, granted and released together.
pub struct Hold {
    log: LockLog,
    tail: String,
}

/// What is known of a grant, or of a renewal. `validity` is what the library says is left of it; `renews`: the library renews it by itself.
#[derive(Default)]
pub struct Grant<'a> {
    pub owner: Option<&'a str>,
    pub ttl: Option<Duration>,
    pub validity: Option<Duration>,
    pub renews: bool,
    pub token: Option<i64>,
}

impl LockLog {
    /// A log that appends to a file. `host` is the name of this machine, or of this container.
    pub fn open(path: impl Into<PathBuf>, host: &str) -> LockLog {
        let id = RandomState::new().build_hasher().finish() as u32;
        let head = format!("{{\"locklog\":1,\"host\":{},\"process\":\"{}-{:08x}\",\"line\":", text(host), std::process::id(), id);
        let state = State { path: path.into(), head, lines: String::new(), start: Instant::now(), waiting: 0, next: 0, holds: 0, dropped: 0, torn: false };
        let log = LockLog(Arc::new(Mutex::new(state)));
        let weak = Arc::downgrade(&log.0);
        let flushes = move || {
            while let Some(state) = weak.upgrade() {
                state.lock().unwrap_or_else(|e| e.into_inner()).flush();
                drop(state);
                std::thread::sleep(Duration::from_secs(1));
            }
        };
        let _ = std::thread::Builder::new().name("lock-log".into()).spawn(flushes); // without it lines wait until there are 256
        log
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Asks for a lock.
    pub fn ask(&self, lock: &str) -> Hold {
        let number = {
            let mut s = self.state();
            s.holds += 1;
            s.holds
        };
        let hold = Hold { log: self.clone(), tail: format!(",\"hold\":{},\"lock\":{}", number, text(lock)) };
        hold.asked();
        hold
    }

    /// Writes what waits.
    pub fn flush(&self) {
        self.state().flush()
    }

    /// How many lines could not be written.
    pub fn dropped(&self) -> u64 {
        self.state().dropped
    }
}

impl State {
    fn write(&mut self, event: &str, tail: &str, g: Grant, began: Option<Instant>) {
        let (wall, now) = (SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(), Instant::now());
        let mono = now.duration_since(self.start).as_micros();
        self.lines.push_str(&self.head);
        // Writing to a String does not fail.
        let _ = write!(self.lines, "{},\"wall\":{},\"mono\":{},\"event\":\"{}\"{}", self.next, wall.as_micros(), mono, event, tail);
        if let Some(owner) = g.owner {
            let _ = write!(self.lines, ",\"owner\":{}", text(owner));
        }
        for (name, time) in [("ttl", g.ttl), ("validity", g.validity), ("took", began.map(|b| now.saturating_duration_since(b)))] {
            if let Some(time) = time {
                let _ = write!(self.lines, ",\"{}\":{}", name, time.as_micros());
            }
        }
        if g.renews {
            self.lines.push_str(",\"renews\":true");
        }
        if let Some(token) = g.token {
            let _ = write!(self.lines, ",\"token\":{}", token);
        }
        self.lines.push_str("}\n");
        self.next += 1;
        self.waiting += 1;
        if self.waiting >= 256 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.waiting == 0 {
            return;
        }
        if self.torn {
            self.lines.insert(0, '\n');
        }
        let file = OpenOptions::new().append(true).create(true).open(&self.path);
        let written = file.and_then(|mut f| f.write(self.lines.as_bytes()));
        self.torn = !matches!(written, Ok(n) if n == self.lines.len());
        if self.torn {
            self.dropped += self.waiting;
        }
        self.lines.clear();
        self.waiting = 0;
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Hold {
    fn write(&self, event: &str, g: Grant, began: Option<Instant>) {
        self.log.state().write(event, &self.tail, g, began)
    }

    /// Before each further try, where the application itself tries again.
    pub fn asked(&self) {
        self.write("asked", Grant::default(), None)
    }
    pub fn granted(&self, grant: Grant) {
        self.write("granted", grant, None)
    }
    pub fn not_granted(&self) {
        self.write("not-granted", Grant::default(), None)
    }
    pub fn renewed(&self, began: Instant, ttl: Option<Duration>, validity: Option<Duration>) {
        self.write("renewed", Grant { ttl, validity, ..Grant::default() }, Some(began))
    }
    pub fn lost(&self) {
        self.write("lost", Grant::default(), None)
    }
    pub fn releasing(&self) {
        self.write("releasing", Grant::default(), None)
    }
    pub fn released(&self) {
        self.write("released", Grant::default(), None)
    }
    pub fn released_in_vain(&self) {
        self.write("released-in-vain", Grant::default(), None)
    }
    pub fn write_done(&self, began: Instant, token: Option<i64>) {
        self.write("write-done", Grant { token, ..Grant::default() }, Some(began))
    }
    pub fn write_refused(&self, began: Instant, token: Option<i64>) {
        self.write("write-refused", Grant { token, ..Grant::default() }, Some(began))
    }
}

fn text(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
