//! Makes a lock program of a lock library: a program that redlock-sim puts on trial.
//!
//! It speaks version 1 of the protocol for lock programs, JSON lines on standard input and output. One file, the standard library
//! alone, Rust 1.63 or later on 64 bits. The library stays as it is:
//!
//! ```ignore
//! mod sim_adapter;
//! use sim_adapter::{serve, Error, Grant, Program};
//!
//! fn main() {
//!     serve(Program::new("mylock", "1.0", "single", &["{key}"]), |setup| {
//!         let (client, setup) = (mylock::connect(&setup.nodes[0].addr())?, setup.clone());
//!         Ok(Box::new(move |wait| {
//!             let lock = client.lock(&setup.key, setup.ttl, wait)?.ok_or(Error::Refused("taken".into()))?;
//!             Ok(Grant::new(move || Ok(lock.unlock()?)))
//!         }))
//!     })
//! }
//! ```
//!
//! A library that is async is called with `block_on` of a runtime which the program makes when the lock is opened.
#![allow(dead_code)] // no program needs all of it

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::os::unix::io::AsFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MAX_LINE: usize = 1 << 20;
const BACKLOG: usize = 1024; // lines that wait to be written
const GRACE: Duration = Duration::from_millis(500); // to write the last ones

/// Why there is no lock, or why a release or an extension failed.
#[derive(Debug)]
pub enum Error {
    /// The lock is certainly not held, and nothing of the attempt stays; from release and extend: the lock was not ours any more.
    Refused(String),
    /// From what opens the lock: the library refuses by design what setup asks for, such as this topology. A trial that needs it is
    /// then not applicable.
    Unsupported(String),
    /// Anything else: the lock may be held. A panic counts as this. `?` makes it of the errors of libraries.
    Other(String),
}

impl<E: std::error::Error> From<E> for Error {
    fn from(err: E) -> Error {
        Error::Other(err.to_string())
    }
}

impl Error {
    fn why(&self) -> &str {
        let (Error::Refused(why) | Error::Unsupported(why) | Error::Other(why)) = self;
        why
    }
}

/// What a lock program says of itself.
pub struct Program(Vec<(String, Json)>);

impl Program {
    /// kind is its class (quorum, single, session or other), keys are patterns of what the library writes; {key} is the lock's key.
    pub fn new(name: &str, version: &str, kind: &str, keys: &[&str]) -> Program {
        Program(vec![]).with("name", name).with("version", version).with("class", kind).with("keys", keys)
    }

    /// What it can: validity, renew, lost, extend, forget, token, owner, busy, setup-again, sentinel, cluster,
    /// no-ttl (a ttl of None is none), one-object (the lock object is what Setup::lock_object gives),
    /// permits (Setup::permits is how many clients may hold the lock at once),
    /// modes (the lock has readers and writers, and with Setup::shared the client is a reader),
    /// fair (it serves clients in the order in which they ask), wakes (a release wakes those who wait),
    /// at-least (the lock stays for Setup::at_least, also if it is released before).
    pub fn can(self, can: &[&str]) -> Program {
        self.with("can", can)
    }

    /// Another field of the message ready: homepage, points (a list), ttl_min_ms, ttl_step_ms, ttl_extra_ms, store, lease,
    /// about (one line: which lock, its client library, its timeouts and retries).
    pub fn with(mut self, field: &str, value: impl Into<Json>) -> Program {
        self.0.push((field.into(), value.into()));
        self
    }
}

/// A server, or the simulator's link to it.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub host: String,
    pub port: u16,
    pub username: String,
    pub password: String,
    pub tls: Option<Tls>,
}

/// How to know a server: the name in its certificate, and a file with certificates to trust.
#[derive(Clone, Debug)]
pub struct Tls {
    pub server_name: String,
    pub ca: String,
}

impl Node {
    /// host:port
    pub fn addr(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// What the simulator asks for. None: not told; of a node_timeout: for ever.
#[derive(Clone)]
pub struct Setup {
    pub client: String,
    pub seed: u64,
    pub key: String,
    pub ttl: Option<Duration>,
    pub node_timeout: Option<Duration>,
    pub options: Json,
    pub nodes: Vec<Node>,
    pub topology: String,
    pub sentinels: Vec<Node>,
    pub master: String,
    pub points: Vec<String>, // the armed ones
    pub one_object: bool,
    pub permits: u64, // how many clients may hold the lock at once; 1 unless the program can have permits
    pub at_least: Duration, // for how long the lock stays, also if it is released before; zero unless the program can at-least
    pub shared: bool, // the client is a reader; false unless the program can modes
    object: Arc<Mutex<Option<Box<dyn Any + Send>>>>,
}

impl Setup {
    /// The lock object to ask with: a new one, or the first one again, as the simulator asks.
    pub fn lock_object<T: Clone + Send + 'static>(&self, make: impl FnOnce() -> T) -> T {
        if !self.one_object {
            return make();
        }
        let mut object = locked(&self.object);
        if let Some(first) = object.as_ref().and_then(|o| o.downcast_ref::<T>()) {
            return first.clone();
        }
        let first = make();
        *object = Some(Box::new(first.clone()));
        first
    }

    /// Reports that the program is at the point and waits until the simulator lets it go on, where the point is armed; else does
    /// nothing.
    pub fn point(&self, name: &str) {
        if !self.points.iter().any(|p| p == name) {
            return;
        }
        let (go, passed) = channel();
        let mut state = locked(&STATE);
        state.points += 1;
        let id = state.points;
        state.waiting.push((id, go));
        drop(state);
        send(line("point").with("id", id).with("name", name));
        let _ = passed.recv();
    }

    /// Calls close before the lock is opened again, what was given last first. A program that can do setup-again closes all that it
    /// has opened: connections, threads that renew.
    pub fn on_close(&self, close: impl FnOnce() + Send + 'static) {
        locked(&STATE).closers.push(Box::new(close));
    }
}

/// Gets the lock once more, given the longest wait; None: no limit. Calls may overlap, and each has a thread of its own.
pub type Acquire = Box<dyn Fn(Option<Duration>) -> Result<Grant, Error> + Send + Sync>;

/// A lock in hand. What is not set the library does not tell, or cannot.
pub struct Grant {
    release: Box<dyn FnOnce() -> Result<(), Error> + Send>,
    extend: Option<Extend>,
    owner: Option<Vec<u8>>,
    until: Option<Instant>,
    token: Option<i64>,
    events: Events,
}

type Extend = Box<dyn FnMut() -> Result<Option<Instant>, Error> + Send>;

impl Grant {
    pub fn new(release: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Grant {
        Grant { release: Box::new(release), extend: None, owner: None, until: None, token: None, events: Events::default() }
    }

    /// What makes it last longer. It returns the new end of the promise; None: the library does not tell.
    pub fn extend(mut self, extend: impl FnMut() -> Result<Option<Instant>, Error> + Send + 'static) -> Grant {
        self.extend = Some(Box::new(extend));
        self
    }

    /// The value in the lock's key.
    pub fn owner(mut self, owner: impl Into<Vec<u8>>) -> Grant {
        self.owner = Some(owner.into());
        self
    }

    /// The end of the promise.
    pub fn until(mut self, until: Instant) -> Grant {
        self.until = Some(until);
        self
    }

    /// A fencing token.
    pub fn token(mut self, token: i64) -> Grant {
        self.token = Some(token);
        self
    }

    /// For the library to tell of the grant.
    pub fn events(&self) -> Events {
        self.events.clone()
    }
}

/// What a library tells of a grant, from any thread.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    grant: Option<u64>,
    ended: bool,
    early: Vec<Line>, // before the answer
}

impl Events {
    /// The library says that the lock is lost.
    pub fn lost(&self, why: &str) {
        self.tell(line("lost").with("at_ns", now()).with("why", why));
    }

    /// The library has renewed the lock by itself. None: it does not tell until when.
    pub fn renewed(&self, until: Option<Instant>) {
        self.tell(line("renewed").promise(until));
    }

    fn tell(&self, event: Line) {
        let mut told = locked(&self.0);
        match told.grant {
            None => told.early.push(event),
            Some(id) if !told.ended => send(event.with("grant", id)),
            Some(_) => {}
        }
    }

    fn begin(&self, id: u64, answer: Line) {
        let mut told = locked(&self.0);
        told.grant = Some(id);
        send(answer);
        for event in std::mem::take(&mut told.early) {
            send(event.with("grant", id));
        }
    }
}

/// Speaks with the simulator until standard input ends, and exits. open connects to the nodes, and returns what gets the lock. Each
/// request has a thread of its own. What is printed goes to standard error.
///
/// A program that says setup-again lets the simulator use it for one trial after the other: open is called again, after what it has
/// given to Setup::on_close. Of a program that says forget, the simulator can drop a grant without releasing it: then nothing but the
/// library may refer to the lock, and Drop of the library's lock runs, as it does where code loses it. A program that says busy
/// computes, after each grant, in the thread that got the lock.
pub fn serve(program: Program, open: impl Fn(&Setup) -> Result<Acquire, Error> + Send + Sync + 'static) -> ! {
    let out = std::io::stdout().as_fd().try_clone_to_owned().unwrap_or_else(|err| die(&format!("failed to take standard output: {err}")));
    unsafe { dup2(2, 1) };
    start(move || write(File::from(out)));
    let open: Arc<Open> = Arc::new(open);
    let mut input = std::io::stdin().lock();
    loop {
        let mut text = Vec::new();
        match input.by_ref().take(MAX_LINE as u64 + 2).read_until(b'\n', &mut text) {
            Ok(0) => exit(0),
            Ok(_) => {}
            Err(err) => fail(&format!("failed to read: {err}")),
        }
        if let Err(why) = understand(&text).and_then(|m| handle(&program, &open, m)) {
            fail(&format!("failed to handle {:?}: {why}", String::from_utf8_lossy(&text[..text.len().min(200)])));
        }
    }
}

type Open = dyn Fn(&Setup) -> Result<Acquire, Error> + Send + Sync;

struct State {
    acquire: Option<Arc<Acquire>>, // what open returned
    busy: Duration,
    grants: Vec<(u64, Held)>,               // not released
    closers: Vec<Box<dyn FnOnce() + Send>>, // of what open opened
    points: u64,
    waiting: Vec<(u64, Sender<()>)>, // one for each point where a thread waits
}

type Held = Arc<Mutex<Option<Grant>>>;

static STATE: Mutex<State> =
    Mutex::new(State { acquire: None, busy: Duration::ZERO, grants: Vec::new(), closers: Vec::new(), points: 0, waiting: Vec::new() });

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(run: impl FnOnce() + Send + 'static) {
    std::thread::spawn(run);
}

fn understand(text: &[u8]) -> Result<Json, String> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.len() > MAX_LINE {
        return Err("the line is too long".into());
    }
    Json::read(std::str::from_utf8(text).map_err(|err| err.to_string())?)
}

fn handle(program: &Program, open: &Arc<Open>, m: Json) -> Result<(), String> {
    let id = m.get("id").whole();
    let mut state = locked(&STATE);
    match m.get("type").text().unwrap_or("") {
        "hello" if m.get("protocols").list().iter().any(|p| p.whole() == 1) => {
            let mut ready = line("ready").with("protocol", 1).with("clock", "libc");
            ready.0.extend(program.0.iter().cloned());
            send(ready);
        }
        "setup" => {
            let open = open.clone();
            start(move || set_up(&open, &m));
        }
        "clocks" => {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            send(line("clocks").with("id", id).with("wall_ms", wall.as_secs_f64() * 1e3).with("monotonic_ms", now() as f64 / 1e6));
        }
        "go" if state.waiting.iter().any(|w| w.0 == id) => state.waiting.retain(|w| w.0 != id), // its end of the channel wakes the thread
        "acquire" if state.acquire.is_some() => {
            let (acquire, busy) = (state.acquire.clone().expect("it is some"), state.busy);
            start(move || get(&acquire, busy, &m));
        }
        "release" => start(move || answer(&m, release)),
        "extend" => start(move || answer(&m, extend)),
        "forget" => start(move || answer(&m, forget)),
        _ => return Err("not known, or not in this place".into()),
    }
    Ok(())
}

/// Calls what may panic.
fn caught<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Error::Other(format!("panic: {}", why.unwrap_or("?"))))
    })
}

fn set_up(open: &Arc<Open>, m: &Json) {
    let mut state = locked(&STATE);
    let (grants, closers) = (std::mem::take(&mut state.grants), std::mem::take(&mut state.closers));
    state.acquire = None;
    state.busy = Duration::from_secs_f64(m.get("busy_ms").number().unwrap_or(0.0) / 1e3);
    drop(state);
    let opened = caught(|| {
        closers.into_iter().rev().for_each(|close| close());
        drop(grants);
        open(&Setup::of(m))
    });
    match opened {
        Ok(acquire) => locked(&STATE).acquire = Some(Arc::new(acquire)),
        Err(Error::Unsupported(why)) => return send(line("unsupported").with("why", &why[..])),
        Err(err) => fail(&format!("failed to open the lock: {}", err.why())),
    }
    send(line("set-up"));
}

impl Setup {
    fn of(m: &Json) -> Setup {
        let lock = m.get("lock");
        let time = |name| lock.get(name).number().map(|ms| Duration::from_secs_f64(ms / 1e3));
        let text = |of: &Json, name| of.get(name).text().unwrap_or("").to_string();
        let nodes = |some| -> Vec<Node> {
            let node = |n: &Json| Node {
                name: text(n, "name"),
                host: text(n, "host"),
                port: n.get("port").whole() as u16,
                username: text(n, "username"),
                password: text(n, "password"),
                tls: (n.get("tls") != &Json::Null)
                    .then(|| Tls { server_name: text(n.get("tls"), "server_name"), ca: text(n.get("tls"), "ca") }),
            };
            m.get(some).list().iter().map(node).collect()
        };
        Setup {
            client: text(m, "client"),
            seed: m.get("seed").whole(),
            key: text(lock, "key"),
            ttl: time("ttl_ms"),
            node_timeout: time("node_timeout_ms").filter(|t| !t.is_zero()),
            options: lock.get("options").clone(),
            nodes: nodes("nodes"),
            topology: text(m, "topology"),
            sentinels: nodes("sentinels"),
            master: text(m, "master"),
            points: m.get("points").list().iter().filter_map(Json::text).map(String::from).collect(),
            one_object: m.get("one_object") == &Json::Bool(true),
            permits: lock.get("permits").whole().max(1),
            at_least: time("at_least_ms").unwrap_or_default(),
            shared: lock.get("mode").text() == Some("shared"),
            object: Arc::default(),
        }
    }
}

/// Sends what came of a request.
fn answer(m: &Json, action: impl FnOnce(&Json) -> Result<Line, Error>) {
    match caught(|| action(m)) {
        Ok(line) => send(line),
        Err(err) => {
            let kind = if matches!(err, Error::Refused(_)) { "refused" } else { "unknown" };
            send(line(kind).with("id", m.get("id").whole()).with("why", err.why()));
        }
    }
}

fn get(acquire: &Acquire, busy: Duration, m: &Json) {
    let id = m.get("id").whole();
    let wait = m.get("wait_ms").number().map(|ms| Duration::from_secs_f64(ms / 1e3));
    let grant = match caught(|| acquire(wait)) {
        Ok(grant) => grant,
        Err(err) => return answer(m, |_| Err(err)),
    };
    let mut acquired = line("acquired").with("id", id).promise(grant.until);
    if let Some(owner) = &grant.owner {
        acquired = acquired.with("owner_b64", &base64(owner)[..]);
    }
    if let Some(token) = grant.token {
        acquired = acquired.with("token", token);
    }
    let events = grant.events();
    locked(&STATE).grants.push((id, Arc::new(Mutex::new(Some(grant)))));
    events.begin(id, acquired);
    if !busy.is_zero() {
        while !locked(&QUEUE).lines.is_empty() {
            std::thread::sleep(Duration::from_millis(1)); // the answer comes first
        }
        let begin = Instant::now();
        while begin.elapsed() < busy {
            std::hint::spin_loop();
        }
    }
}

fn not_held(m: &Json) -> Error {
    Error::Refused(format!("grant {} is not held", m.get("grant").whole()))
}

fn held(m: &Json) -> Result<Held, Error> {
    let state = locked(&STATE);
    let found = state.grants.iter().find(|g| g.0 == m.get("grant").whole());
    found.map(|g| g.1.clone()).ok_or_else(|| not_held(m))
}

/// Takes a grant that is to end.
fn ending(m: &Json) -> Result<Grant, Error> {
    let held = held(m)?;
    locked(&STATE).grants.retain(|g| g.0 != m.get("grant").whole());
    let grant = locked(&held).take().ok_or_else(|| not_held(m))?;
    locked(&grant.events.0).ended = true;
    Ok(grant)
}

fn release(m: &Json) -> Result<Line, Error> {
    let grant = ending(m)?; // it has ended, whatever comes of it
    (grant.release)()?;
    Ok(line("released").with("id", m.get("id").whole()))
}

fn extend(m: &Json) -> Result<Line, Error> {
    let held = held(m)?;
    let mut held = locked(&held);
    let grant = held.as_mut().ok_or_else(|| not_held(m))?;
    let extend = grant.extend.as_mut().unwrap_or_else(|| fail("this lock cannot extend"));
    let until = extend()?;
    Ok(line("extended").with("id", m.get("id").whole()).promise(until))
}

/// Drops the grant and all that refers to it.
fn forget(m: &Json) -> Result<Line, Error> {
    drop(ending(m)?);
    Ok(line("forgotten").with("id", m.get("id").whole()))
}

/// A message to the simulator.
struct Line(Vec<(String, Json)>);

fn line(kind: &str) -> Line {
    Line(vec![("type".into(), kind.into())])
}

impl Line {
    fn with(mut self, name: &str, value: impl Into<Json>) -> Line {
        self.0.push((name.into(), value.into()));
        self
    }

    /// Adds how long a promise still lasts. Reads the machine's clock first: a pause between the two readings may shorten the promise,
    /// and never makes it longer.
    fn promise(self, until: Option<Instant>) -> Line {
        let (at, read) = (now(), Instant::now());
        match until {
            None => self,
            Some(until) if until > read => self.with("at_ns", at).with("validity_ms", (until - read).as_secs_f64() * 1e3),
            Some(until) => self.with("at_ns", at).with("validity_ms", (read - until).as_secs_f64() * -1e3),
        }
    }
}

struct Queue {
    lines: Vec<String>,
    ended: bool,
    written: bool, // to the end
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { lines: Vec::new(), ended: false, written: false });
static CHANGED: Condvar = Condvar::new();

/// Does not wait: the library must not stand still because nobody reads.
fn send(line: Line) {
    let mut queue = locked(&QUEUE);
    if queue.lines.len() == BACKLOG {
        die(&format!("{BACKLOG} lines wait to be read"));
    }
    queue.lines.push(format!("{}\n", Json::Object(line.0)));
    CHANGED.notify_all();
}

fn write(mut out: File) {
    let mut queue = locked(&QUEUE);
    loop {
        if !queue.lines.is_empty() {
            let text = queue.lines.remove(0);
            drop(queue);
            if let Err(err) = out.write_all(text.as_bytes()) {
                die(&format!("failed to write: {err}"));
            }
            queue = locked(&QUEUE);
        } else if queue.ended {
            queue.written = true;
            return CHANGED.notify_all();
        } else {
            queue = CHANGED.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn die(why: &str) -> ! {
    eprintln!("lock program: {why}");
    unsafe { _exit(1) }
}

/// Tells the error and ends the program.
fn fail(why: &str) -> ! {
    eprintln!("lock program: {why}");
    send(line("error").with("why", why));
    exit(1)
}

fn exit(code: i32) -> ! {
    let mut queue = locked(&QUEUE);
    queue.ended = true;
    CHANGED.notify_all();
    let _ = CHANGED.wait_timeout_while(queue, GRACE, |q| !q.written);
    unsafe { _exit(code) }
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn dup2(from: i32, to: i32) -> i32;
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn _exit(code: i32) -> !;
}

const CLOCK_MONOTONIC: i32 = if cfg!(target_os = "macos") { 6 } else { 1 };

/// The machine's monotonic clock, in ns.
fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().enumerate().fold(0u32, |bits, (i, b)| bits | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            text.push(if i <= part.len() { DIGITS[(bits >> (18 - 6 * i)) as usize & 63] as char } else { '=' });
        }
    }
    text
}

/// A value of JSON. A number is kept as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A member of an object; Null if there is none.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().rev().find(|(n, _)| n == name).map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub fn number(&self) -> Option<f64> {
        if let Json::Number(number) = self {
            number.parse().ok()
        } else {
            None
        }
    }

    pub fn list(&self) -> &[Json] {
        if let Json::List(list) = self {
            list
        } else {
            &[]
        }
    }

    /// A whole number; 0 if it is none.
    fn whole(&self) -> u64 {
        if let Json::Number(number) = self {
            number.parse().unwrap_or(0)
        } else {
            0
        }
    }

    fn read(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at < text.len() {
            Err(reader.wrong())
        } else {
            Ok(value)
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.into())
    }
}

impl From<&[&str]> for Json {
    fn from(texts: &[&str]) -> Json {
        Json::List(texts.iter().map(|t| Json::from(*t)).collect())
    }
}

macro_rules! numbers {
    ($($kind:ty)*) => { $(impl From<$kind> for Json {
        fn from(number: $kind) -> Json {
            Json::Number(number.to_string())
        }
    })* };
}

numbers!(f64 i64 u64 i32);

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(f, "null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(number) => write!(f, "{number}"),
            Json::Text(text) => quote(f, text),
            Json::List(list) => {
                for (i, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "[" } else { "," })?;
                }
                write!(f, "{}", if list.is_empty() { "[]" } else { "]" })
            }
            Json::Object(members) => {
                write!(f, "{{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}", if i == 0 { "" } else { "," })?;
                    quote(f, name)?;
                    write!(f, ":{value}")?;
                }
                write!(f, "}}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    write!(f, "\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "\"")
}

/// Reads JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self) -> String {
        format!("no JSON from byte {} on", self.at)
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn is(&mut self, text: &str) -> bool {
        self.space();
        let is = self.text[self.at..].starts_with(text);
        self.at += if is { text.len() } else { 0 };
        is
    }

    fn want(&mut self, text: &str) -> Result<(), String> {
        if self.is(text) {
            Ok(())
        } else {
            Err(self.wrong())
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        self.depth += 1;
        if self.depth > 100 {
            return Err(self.wrong());
        }
        let value = match () {
            () if self.is("null") => Json::Null,
            () if self.is("true") => Json::Bool(true),
            () if self.is("false") => Json::Bool(false),
            () if self.is("[") => Json::List(self.members("]", Reader::value)?),
            () if self.is("{") => Json::Object(self.members("}", |r| {
                r.want("\"")?;
                let name = r.string()?;
                r.want(":")?;
                Ok((name, r.value()?))
            })?),
            () if self.is("\"") => Json::Text(self.string()?),
            () => {
                let begin = self.at;
                while matches!(self.next(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
                    self.at += 1;
                }
                let number = &self.text[begin..self.at];
                number.parse::<f64>().map_err(|_| self.wrong())?;
                Json::Number(number.into())
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn members<T>(&mut self, end: &str, member: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut list = Vec::new();
        if self.is(end) {
            return Ok(list);
        }
        loop {
            list.push(member(self)?);
            if self.is(end) {
                return Ok(list);
            }
            self.want(",")?;
        }
    }

    /// The rest of a text in quotes.
    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            let c = self.text[self.at..].chars().next().ok_or_else(|| self.wrong())?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(text),
                '\\' => {
                    let c = self.escaped()?;
                    text.push(c);
                }
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let c = self.next().ok_or_else(|| self.wrong())?;
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => c as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    code = 0x10000 + ((code - 0xd800) << 10) + (self.hex()?.wrapping_sub(0xdc00) & 0x3ff);
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.wrong()),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.wrong())?;
        let code = u32::from_str_radix(digits, 16).map_err(|_| self.wrong())?;
        self.at += 4;
        Ok(code)
    }
}
