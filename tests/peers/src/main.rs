//! numr beside the published numr and candle: the same jobs, one thread, one run.
//!
//! Each library runs in a process of its own, because a kernel that leaves the vector state dirty slows whatever
//! runs later on its thread. The processes take turns for three rounds and the least time of a case counts, so that
//! a disturbance from outside hits all alike. Prints a Markdown table.

mod candle;
mod ours;
mod published_numr;

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A library and the function that runs its cases.
type Peer = (&'static str, fn(&Bench) -> Result<()>);

const PEERS: [Peer; 3] = [("numr", ours::run), ("published", published_numr::run), ("candle", candle::run)];

/// A case and what is asked of us: at most so many times the best of the others, or so many nanoseconds.
const CASES: [(&str, &str, Asked); 9] = [
    ("add_one", "add, 1 element", Asked::Nanoseconds(150.0)),
    ("add_recorded", "add, 1 element, recorded", Asked::Nanoseconds(220.0)),
    ("mlp", "MLP 64x784-512-512-10, forward + backward", Asked::Ratio(1.2)),
    ("add", "add, 1e6", Asked::Ratio(1.5)),
    ("exp", "exp, 1e6", Asked::Ratio(1.5)),
    ("tanh", "tanh, 1e6", Asked::Ratio(1.5)),
    ("sum", "sum, 1e6", Asked::Ratio(1.5)),
    ("softmax", "softmax, 1000x1000", Asked::Ratio(1.5)),
    ("layer_norm", "layer norm, 1000x1000", Asked::Ratio(1.5)),
];

enum Asked {
    Nanoseconds(f64),
    Ratio(f64),
}

/// Times closures and prints `case seconds` lines, which the parent process reads.
pub struct Bench;

impl Bench {
    /// The least time of a call, over 0.4 s of samples of at least 20 us.
    pub fn case<T>(&self, name: &str, mut job: impl FnMut() -> Result<T>) -> Result<()> {
        for _ in 0..3 {
            black_box(job()?);
        }
        let start = Instant::now();
        black_box(job()?);
        let once = start.elapsed().as_secs_f64().max(1e-9);
        let calls = (20e-6 / once).ceil() as u32;
        let (start, mut least) = (Instant::now(), f64::INFINITY);
        while start.elapsed() < Duration::from_millis(400) {
            let sample = Instant::now();
            for _ in 0..calls {
                black_box(job()?);
            }
            least = least.min(sample.elapsed().as_secs_f64() / f64::from(calls));
        }
        println!("{name} {least:e}");
        Ok(())
    }
}

/// Reproducible values in [-1, 1), the same for every library.
pub fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Shapes of the network's parameters: weight, bias, layer by layer.
pub const LAYERS: [[usize; 2]; 3] = [[784, 512], [512, 512], [512, 10]];

fn main() -> Result<()> {
    if let Some(name) = std::env::args().nth(1) {
        let (_, run) = PEERS.iter().find(|(peer, _)| *peer == name).context("no such peer")?;
        return run(&Bench);
    }
    let mut least: HashMap<(&str, String), f64> = HashMap::new();
    for round in 1..=3 {
        for (peer, _) in PEERS {
            eprintln!("round {round}: {peer}");
            let child = Command::new(std::env::current_exe()?)
                .arg(peer)
                .envs(["RAYON_NUM_THREADS", "MATMUL_NUM_THREADS", "NUMR_THREADS"].map(|name| (name, "1")))
                .output()?;
            ensure!(child.status.success(), "{peer}: {}", String::from_utf8_lossy(&child.stderr));
            for line in String::from_utf8(child.stdout)?.lines() {
                let (case, seconds) = line.split_once(' ').context("a line without a time")?;
                let seconds: f64 = seconds.parse()?;
                let entry = least.entry((peer, case.to_owned())).or_insert(seconds);
                *entry = entry.min(seconds);
            }
        }
    }
    println!("| f32, one thread | numr | published numr 0.14 | candle 0.11 | ours / best | asked | |");
    println!("|---|---|---|---|---|---|---|");
    for (case, title, asked) in CASES {
        let time = |peer| least.get(&(peer, case.to_owned())).copied().unwrap_or(f64::NAN);
        let (ours, best) = (time("numr"), time("published").min(time("candle")));
        let ratio = ours / best;
        let (asked, met) = match asked {
            Asked::Nanoseconds(most) => (format!("{most} ns"), ours * 1e9 <= most),
            Asked::Ratio(most) => (format!("{most}x"), ratio <= most),
        };
        let [ours, published, candle] = [ours, time("published"), time("candle")].map(show);
        let met = if met { "met" } else { "missed" };
        println!("| {title} | {ours} | {published} | {candle} | {ratio:.2}x | {asked} | {met} |");
    }
    Ok(())
}

/// A time in the unit that keeps it readable.
fn show(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
