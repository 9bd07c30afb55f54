//! The lock program that sim starts for each client. Put your own lock in the place of MyLock, and your client library in the place
//! of Redis. It needs Rust 1.63 or later.
mod sim_adapter;

use sim_adapter::{serve, Error, Grant, Program};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// A lock on one node: SET NX PX with a value of its own, and a release that compares it.
struct MyLock {
    client: Arc<Redis>,
    key: String,
    ttl: Duration,
    value: String,
}

impl MyLock {
    fn new(client: Arc<Redis>, key: &str, ttl: Duration) -> Result<MyLock, Error> {
        let mut random = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(MyLock { client, key: key.into(), ttl, value: format!("{:x}", u128::from_ne_bytes(random)) })
    }

    fn acquire(&self, wait: Duration) -> Result<bool, Error> {
        let begin = Instant::now();
        while self.client.call(&["SET", &self.key, &self.value, "NX", "PX", &self.ttl.as_millis().to_string()])?.is_none() {
            if begin.elapsed() > wait {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(true)
    }

    fn release(&self) -> Result<(), Error> {
        match self.client.call(&["EVAL", RELEASE, "1", &self.key, &self.value])?.as_deref() {
            Some("0") => Err(Error::Refused("not ours any more".into())),
            _ => Ok(()),
        }
    }
}

/// The function is called once for each client, with the servers, the key and the ttl. The program's class is single (one node), quorum
/// (several, as Redlock), session, or other. can says what else your lock does; sim tests nothing of it otherwise. Say it only if it is true,
/// as Program::new(...).can(&["renew"]):
/// renew: it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable.
/// extend: its user can make the lease longer: give the grant an extend. lost: it sees that it has lost the lock: then call events().lost.
/// docs/reference/lock-protocol.md has all words.
fn main() {
    let about = "the sample of sim init: put your own lock in its place, and say here which it is";
    serve(Program::new("my-lock", "1.0", "single", &["{key}"]).with("about", about), |setup| {
        let client = Arc::new(Redis { addr: setup.nodes[0].addr(), timeout: setup.node_timeout, conn: Mutex::new(None) });
        let (key, ttl) = (setup.key.clone(), setup.ttl.unwrap_or_default());
        Ok(Box::new(move |wait| {
            let lock = MyLock::new(client.clone(), &key, ttl)?;
            if !lock.acquire(wait.unwrap_or(Duration::MAX))? {
                return Err(Error::Refused("taken".into())); // certainly not held; after any other error it may be
            }
            Ok(Grant::new(move || lock.release()))
        }))
    })
}

/// As much of a client as this lock needs: commands whose replies are one line.
struct Redis {
    addr: String,
    timeout: Option<Duration>, // None: waits for ever
    conn: Mutex<Option<BufReader<TcpStream>>>,
}

impl Redis {
    fn call(&self, words: &[&str]) -> Result<Option<String>, Error> {
        let mut kept = self.conn.lock().unwrap();
        let mut conn = match kept.take() {
            Some(conn) => conn,
            None => BufReader::new(self.connect()?),
        };
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{}\r\n", word.len(), word);
        }
        conn.get_mut().write_all(text.as_bytes())?; // after an error the connection is closed: a late reply is lost with it
        let mut reply = String::new();
        conn.read_line(&mut reply)?;
        let (kind, said) = match reply.strip_suffix("\r\n") {
            Some(line) => (&line[..1], line[1..].to_string()),
            None => return Err(Error::Other("the connection was closed".into())),
        };
        *kept = Some(conn);
        match kind {
            "-" => Err(Error::Other(said)),
            "$" => Ok(None),
            _ => Ok(Some(said)),
        }
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let addr = self.addr.to_socket_addrs()?.next().ok_or(std::io::ErrorKind::NotFound)?;
        let conn = match self.timeout {
            Some(timeout) => TcpStream::connect_timeout(&addr, timeout)?,
            None => TcpStream::connect(addr)?,
        };
        conn.set_nodelay(true)?;
        conn.set_read_timeout(self.timeout)?;
        Ok(conn)
    }
}
