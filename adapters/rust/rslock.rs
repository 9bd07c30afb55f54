//! The lock program of the crate rslock.
#[path = "../../sdk/rust/sim_adapter.rs"]
mod sim_adapter;

use rslock::LockManager;
use sim_adapter::{serve, Error, Grant, Node, Program, Setup};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

const PAUSE: Duration = Duration::from_millis(200); // between two tries: from 0 to this, as by default

fn main() {
    let about = format!("LockManager::lock; client redis {}, its own timeouts", version("redis"));
    let program = Program::new("rslock", version("rslock"), "quorum", &["{key}"]).with("about", &about[..]);
    let can = ["validity", "extend", "owner", "cluster", "setup-again"];
    serve(program.can(&can).with("homepage", "https://github.com/hexcowboy/rslock"), |setup| {
        let runtime = Arc::new(Builder::new_multi_thread().worker_threads(2).enable_all().build()?);
        let kept = runtime.clone();
        setup.on_close(move || drop(kept)); // and with it all connections, once no grant has it any more
        let (manager, setup) = (manager(setup)?, setup.clone());
        Ok(Box::new(move |wait| acquire(&runtime, manager.clone(), &setup, wait)))
    })
}

/// The version of a crate that this program was built with.
fn version(of: &str) -> &'static str {
    let versions = include_str!("Cargo.lock").split(&format!("name = \"{of}\"\nversion = \"")).nth(1);
    versions.and_then(|v| v.split('"').next()).unwrap_or("")
}

fn manager(setup: &Setup) -> Result<LockManager, Error> {
    if setup.nodes.iter().any(|n| n.tls.is_some()) {
        return Err(Error::Other("the client cannot check the name of a server behind a proxy".into()));
    }
    let login = |n: &Node| if n.password.is_empty() { String::new() } else { format!("{}:{}@", n.username, n.password) };
    let urls: Vec<_> = setup.nodes.iter().map(|n| format!("redis://{}{}/", login(n), n.addr())).collect();
    Ok(if setup.topology == "cluster" { LockManager::new_cluster(urls)? } else { LockManager::new(urls) })
}

/// `lock` counts tries: as many as fit into the wait. Its error may hide that an answer did not come.
fn acquire(runtime: &Arc<Runtime>, mut manager: LockManager, setup: &Setup, wait: Option<Duration>) -> Result<Grant, Error> {
    let tries = wait.map_or(u32::MAX, |w| (w.as_millis() * 2 / PAUSE.as_millis()).max(1) as u32);
    manager.set_retry(tries, PAUSE);
    let ttl = setup.ttl.unwrap_or_default();
    let lock = runtime.block_on(manager.lock(&setup.key[..], ttl))?;
    manager.set_retry(3, Duration::from_millis(200)); // its defaults: an extension is not waited for
    let until = |validity: usize| Instant::now() + Duration::from_millis(validity as u64);
    let (owner, end) = (lock.val.clone(), until(lock.validity_time));
    let lock = Arc::new(Mutex::new(Some(lock)));
    let (held, with) = (lock.clone(), runtime.clone());
    let release = move || {
        let lock = held.lock().unwrap().take().expect("it is held");
        with.block_on(lock.release()); // says nothing
        Ok(())
    };
    let with = runtime.clone();
    let extend = move || {
        let mut held = lock.lock().unwrap();
        let longer = with.block_on(manager.extend(held.as_ref().expect("it is held"), ttl))?;
        let end = until(longer.validity_time);
        *held = Some(longer);
        Ok(Some(end))
    };
    Ok(Grant::new(release).owner(owner).until(end).extend(extend))
}
