//! Tries lock_log.rs: try correct|broken|many|nowhere FILE, or measure FILE.
#[path = "../../rust/lock_log.rs"]
mod lock_log;

use lock_log::{Grant, Hold, LockLog};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

const TTL: Option<Duration> = Some(Duration::from_secs(10));

fn use_hold(hold: &Hold) {
    hold.granted(Grant { owner: Some("o\"\n\u{e9}"), ttl: TTL, token: Some(7), ..Grant::default() });
    let began = Instant::now();
    sleep(Duration::from_millis(2));
    hold.write_done(began, Some(7));
    hold.renewed(Instant::now(), TTL, None);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let log = LockLog::open(&args[2], "web-1");
    match args[1].as_str() {
        "correct" => {
            let (first, second) = (log.ask("orders"), log.ask("orders"));
            use_hold(&first);
            first.releasing();
            first.released();
            sleep(Duration::from_millis(2));
            second.granted(Grant { owner: Some("p"), ttl: TTL, token: Some(8), ..Grant::default() });
            second.releasing();
            second.released_in_vain();
        }
        "broken" => {
            let (first, second) = (log.ask("orders"), log.ask("orders"));
            use_hold(&first);
            second.granted(Grant { owner: Some("p"), ttl: TTL, token: Some(6), ..Grant::default() });
            sleep(Duration::from_millis(2));
            for h in [first, second] {
                h.releasing();
                h.released();
            }
        }
        "many" => {
            let work = || {
                let log = log.clone();
                thread::spawn(move || (0..1000).for_each(|_| log.ask("orders").not_granted()))
            };
            let threads: Vec<_> = (0..4).map(|_| work()).collect();
            threads.into_iter().for_each(|t| t.join().unwrap());
        }
        "nowhere" => {
            log.ask("orders").lost();
            log.flush();
            println!("{}", log.dropped());
        }
        "measure" => {
            let hold = log.ask("orders");
            let n = 200_000;
            let began = Instant::now();
            for _ in 0..n {
                hold.granted(Grant { owner: Some("0123456789abcdef"), ttl: TTL, token: Some(7), ..Grant::default() });
            }
            println!("{:.2}", began.elapsed().as_secs_f64() / n as f64 * 1e6);
        }
        _ => panic!("no such trial"),
    }
    log.flush();
}
