//! A small network with layer normalisation learns real handwritten digits.
//!
//! `cargo run --release --example digits -- [--device auto|cpu|cuda|wgpu] [--seed N] [--epochs N]`
//!
//! 1,797 images of 8x8 pixels; four fifths to learn from, one fifth to be tested on. Two hidden layers, layer
//! normalisation, dropout, cross-entropy, Adam. The same seed gives the same bits. See `data/README.md` for the data.

use flate2::read::GzDecoder;
use numr::autograd::{constant, gradients, leaf};
use numr::io::{load_safetensors, save_safetensors};
use numr::ops::loss::Reduction;
use numr::prelude::*;
use numr::rng::Key;
use std::io::{IsTerminal, Read, Write};
use std::time::Instant;

const DIGITS: &[u8] = include_bytes!("data/digits.csv.gz");
const PIXELS: usize = 64;
const HIDDEN: usize = 128;
const CLASSES: usize = 10;
const BATCH: usize = 64;
const DROPOUT: f64 = 0.2;
const RATE: f64 = 3e-3;
const PARAMETERS: [(&str, &[usize]); 10] = [
    ("w1", &[PIXELS, HIDDEN]),
    ("b1", &[HIDDEN]),
    ("scale1", &[HIDDEN]),
    ("shift1", &[HIDDEN]),
    ("w2", &[HIDDEN, HIDDEN]),
    ("b2", &[HIDDEN]),
    ("scale2", &[HIDDEN]),
    ("shift2", &[HIDDEN]),
    ("w3", &[HIDDEN, CLASSES]),
    ("b3", &[CLASSES]),
];

type Error = Box<dyn std::error::Error>;

/// The scores of each class. Written once: it runs on a device, and on the tape when it learns.
fn network<R: Runtime>(x: &Tensor<R>, p: &[Tensor<R>], dropout: Option<Key>) -> numr::Result<Tensor<R>> {
    let mut x = x.clone();
    for (layer, p) in p[..8].chunks(4).enumerate() {
        x = x.matmul(&p[0])?.add(&p[1])?.layer_norm(&p[2], &p[3], 1e-5)?.gelu()?;
        if let Some(key) = dropout {
            x = key.child(layer as u64).dropout(&x, DROPOUT)?;
        }
    }
    x.matmul(&p[8])?.add(&p[9])
}

/// Weights of variance 2/fan-in; scales are 1, biases and shifts 0.
fn initial(device: &Device, key: Key) -> numr::Result<Vec<Tensor<AnyRuntime>>> {
    let make = |(k, (name, shape)): (usize, &(&str, &[usize]))| match &name[..1] {
        "w" => {
            let scale = (2.0 / shape[0] as f64).sqrt();
            key.child(k as u64).normal(shape, DType::F32, device)?.mul(scale)
        }
        _ => Tensor::try_full(shape, if name.starts_with("scale") { 1.0 } else { 0.0 }, DType::F32, device),
    };
    PARAMETERS.iter().enumerate().map(make).collect()
}

/// Adam (Kingma & Ba 2014) with the usual decay rates.
struct Adam {
    rate: f64,
    step: i32,
    mean: Vec<Tensor<AnyRuntime>>,
    square: Vec<Tensor<AnyRuntime>>,
}

impl Adam {
    fn new(parameters: &[Tensor<AnyRuntime>]) -> numr::Result<Adam> {
        let zeros = || parameters.iter().map(Tensor::zeros_like).collect::<numr::Result<Vec<_>>>();
        Ok(Adam { rate: RATE, step: 0, mean: zeros()?, square: zeros()? })
    }

    fn update(&mut self, k: usize, p: &Tensor<AnyRuntime>, g: &Tensor<AnyRuntime>) -> numr::Result<Tensor<AnyRuntime>> {
        let (b1, b2) = (0.9, 0.999);
        self.mean[k] = &self.mean[k] * b1 + g * (1.0 - b1);
        self.square[k] = &self.square[k] * b2 + g.square()? * (1.0 - b2);
        let mean = &self.mean[k] / (1.0 - f64::powi(b1, self.step));
        let spread = (&self.square[k] / (1.0 - f64::powi(b2, self.step))).sqrt()? + 1e-8;
        Ok(p - mean / spread * self.rate)
    }
}

struct Data {
    images: Tensor<AnyRuntime>,
    labels: Tensor<AnyRuntime>,
}

/// Images in 0..=1 and labels, in the order of a seeded shuffle, split into four fifths and one fifth.
fn data(device: &Device, key: Key) -> Result<(Data, Data), Error> {
    let mut text = String::new();
    GzDecoder::new(DIGITS).read_to_string(&mut text)?;
    let mut rows: Vec<Vec<f32>> = vec![];
    for line in text.lines() {
        rows.push(line.split(',').map(|v| v.trim().parse()).collect::<Result<_, _>>()?);
    }
    let n = rows.len();
    let order = key.permutation::<AnyRuntime>(n, device)?.try_to_vec::<i64>()?;
    let part = |order: &[i64]| -> numr::Result<Data> {
        let rows: Vec<&Vec<f32>> = order.iter().map(|&i| &rows[i as usize]).collect();
        let pixels: Vec<f32> = rows.iter().flat_map(|r| r[..PIXELS].iter().map(|p| p / 16.0)).collect();
        let labels: Vec<i64> = rows.iter().map(|r| r[PIXELS] as i64).collect();
        Ok(Data {
            images: Tensor::try_from_slice(&pixels, &[rows.len(), PIXELS], device)?,
            labels: Tensor::try_from_slice(&labels, &[rows.len()], device)?,
        })
    };
    let (train, test) = order.split_at(n - n / 5);
    Ok((part(train)?, part(test)?))
}

fn predict(p: &[Tensor<AnyRuntime>], images: &Tensor<AnyRuntime>) -> numr::Result<Vec<i64>> {
    network(images, p, None)?.argmax(1, false)?.try_to_vec()
}

fn accuracy(predicted: &[i64], labels: &[i64]) -> f64 {
    predicted.iter().zip(labels).filter(|(p, l)| p == l).count() as f64 / labels.len() as f64
}

fn progress(epoch: usize, epochs: usize, loss: f32, accuracy: f64) {
    let width = 30;
    let done = width * epoch / epochs;
    let bar = "█".repeat(done) + &"░".repeat(width - done);
    let end = if std::io::stdout().is_terminal() && epoch < epochs { '\r' } else { '\n' };
    print!("epoch {epoch:3}/{epochs} {bar} loss {loss:.4}  test accuracy {:.2} %{end}", 100.0 * accuracy);
    std::io::stdout().flush().ok();
}

fn confusion(predicted: &[i64], labels: &[i64]) {
    println!(
        "\nconfusion (row: digit, column: prediction)\n   {}",
        (0..CLASSES).map(|c| format!("{c:4}")).collect::<String>()
    );
    for digit in 0..CLASSES as i64 {
        let of = |c: i64| predicted.iter().zip(labels).filter(|&(&p, &l)| l == digit && p == c).count();
        let cells = (0..CLASSES as i64).map(of).map(|n| if n == 0 { "   ·".into() } else { format!("{n:4}") });
        println!("{digit:2} {}", cells.collect::<String>());
    }
}

fn main() -> Result<(), Error> {
    let (mut device, mut seed, mut epochs) = ("auto".to_owned(), 0, 25usize);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match &flag[..] {
            "--device" => device = value,
            "--seed" => seed = value.parse()?,
            "--epochs" => epochs = value.parse()?,
            _ => return Err(format!("unknown option {flag}; known: --device, --seed, --epochs").into()),
        }
    }
    let device = Device::parse(&device)?;
    let key = Key::new(seed);
    let (train, test) = data(&device, key.child(0))?;
    let mut parameters = initial(&device, key.child(1))?;
    let (n, labels) = (train.labels.numel(), test.labels.try_to_vec::<i64>()?);
    println!("{device}: {n} images to learn from, {} to be tested on", labels.len());

    let start = Instant::now();
    let (mut adam, steps) = (Adam::new(&parameters)?, (epochs * n.div_ceil(BATCH)) as f64);
    for epoch in 1..=epochs {
        let order = key.child(2).child(epoch as u64).permutation::<AnyRuntime>(n, &device)?;
        let mut total = 0.0;
        for first in (0..n).step_by(BATCH) {
            let size = BATCH.min(n - first);
            let batch = order.narrow(0, first, size)?;
            let (x, y) = (train.images.index_select(0, &batch)?, train.labels.index_select(0, &batch)?);
            let leaves: Vec<_> = parameters.iter().map(leaf).collect();
            // The rate falls to nothing, so that the last steps settle.
            adam.rate = RATE * (1.0 - f64::from(adam.step) / steps);
            adam.step += 1;
            let dropout = key.child(3).child(adam.step as u64);
            let scores = network(&constant(&x), &leaves, Some(dropout))?;
            let loss = scores.cross_entropy(&constant(&y), 0.0, Reduction::Mean)?;
            let slopes = gradients(&loss)?;
            for (k, leaf) in leaves.iter().enumerate() {
                let g = slopes.get(leaf).ok_or("a parameter without a gradient")?;
                parameters[k] = adam.update(k, &parameters[k], g)?;
            }
            total += loss.item::<f32>()? * size as f32;
        }
        progress(epoch, epochs, total / n as f32, accuracy(&predict(&parameters, &test.images)?, &labels));
    }
    println!("learned in {:.1} s", start.elapsed().as_secs_f64());

    let path = std::env::temp_dir().join(format!("numr-digits-{}.safetensors", std::process::id()));
    save_safetensors(&path, PARAMETERS.iter().map(|(name, _)| *name).zip(&parameters))?;
    let saved = load_safetensors::<AnyRuntime>(&path, &device)?;
    std::fs::remove_file(&path)?;
    let restored: Vec<_> = PARAMETERS.iter().map(|(name, _)| saved[*name].clone()).collect();
    let predicted = predict(&restored, &test.images)?;
    confusion(&predicted, &labels);
    let reached = accuracy(&predicted, &labels);
    println!("\ntest accuracy {:.2} % with the weights read back from a safetensors file", 100.0 * reached);
    if epochs >= 20 && reached < 0.97 {
        return Err(format!("expected 97 % at least, got {:.2} %", 100.0 * reached).into());
    }
    Ok(())
}
