//! The lock program of program_test.go, in Rust. The lock's key says what it does.
#[path = "../../sdk/rust/sim_adapter.rs"]
mod sim_adapter;

use sim_adapter::{serve, Error, Grant, Program, Setup};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

static CLOSED: Mutex<String> = Mutex::new(String::new());
static OBJECTS: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Handle;

impl Drop for Handle {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

fn main() {
    let program = Program::new("test", "1.0", "single", &["{key}"]).with("about", "a lock; its client");
    serve(program.can(&["validity", "setup-again"]).with("points", &["inside", "not armed"][..]), |setup| {
        match &setup.key[..] {
            "broken" => return Err(Error::Other("no such node".into())),
            "unsupported" => return Err(Error::Unsupported("no such topology".into())),
            "slow-open" => loop {
                std::thread::park();
            },
            "first" => {
                for what in ["a", "b"] {
                    setup.on_close(move || CLOSED.lock().unwrap().push_str(what));
                }
            }
            _ => {}
        }
        let setup = setup.clone();
        Ok(Box::new(move |wait| acquire(&setup, wait)))
    })
}

fn refuse<T>() -> Result<T, Error> {
    Err(Error::Refused("taken".into()))
}

fn acquire(setup: &Setup, wait: Option<Duration>) -> Result<Grant, Error> {
    let grant = Grant::new(|| Ok(()));
    let after = |seconds| Instant::now() + Duration::from_secs(seconds);
    Ok(match &setup.key[..] {
        "refuse" => refuse()?,
        "doubt" => panic!("timeout"),
        "block" => {
            std::thread::sleep(wait.unwrap_or(Duration::MAX));
            refuse()?
        }
        "print" => {
            println!("a library's noise");
            std::process::Command::new("echo").arg("a child's noise").status()?;
            grant
        }
        "point" => {
            setup.point("inside");
            setup.point("not armed");
            grant
        }
        "not-ours" => Grant::new(refuse),
        "tell" => {
            let (a, b) = (&setup.nodes[0], &setup.nodes[1]);
            let seconds = |time: Option<Duration>| time.unwrap().as_secs_f64();
            let (ttl, node_timeout, option) = (seconds(setup.ttl), seconds(setup.node_timeout), setup.options.get("a").text().unwrap());
            let tls = b.tls.as_ref().unwrap();
            let owner = format!(
                "{} {} {ttl} {node_timeout} {option} {} {} {} {} {}",
                setup.client, setup.seed, a.name, a.host, a.port, a.password, tls.ca
            );
            grant.owner(owner).token(7).until(after(1)).extend(move || Ok(Some(after(2))))
        }
        "again" => grant.owner(format!("{} {}", setup.ttl.unwrap().as_secs_f64(), CLOSED.lock().unwrap())),
        "object" => grant.owner(setup.lock_object(|| OBJECTS.fetch_add(1, Ordering::SeqCst) + 1).to_string()),
        "forget" => {
            let (handle, dropped) = (Handle, DROPPED.load(Ordering::SeqCst));
            Grant::new(move || Ok(drop(handle))).owner(dropped.to_string())
        }
        "events" => {
            grant.events().renewed(Some(after(3)));
            grant.events().lost("nobody answers");
            grant
        }
        "flood" => {
            let events = grant.events();
            std::thread::spawn(move || loop {
                events.renewed(None);
            });
            grant
        }
        _ => grant,
    })
}
