//! Printed CUDA C, compiled as plain C++ and run on the host, gives the bits of the lanes.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use numr_core::scalar::graph::Un;
use numr_core::scalar::print::{Access, cuda};
use numr_core::scalar::program::{Op, Program};
use numr_core::testing::{edges, eval, samples, ulp_distance};
use numr_core::{DType, Element, Lit, dispatch_dtype};
use numr_tests::require::skip;

use super::{Case, cases};

/// CUDA's words for a C++ compiler: a grid of one thread, and the functions that take bits apart.
const HOST: &str = r#"
#include <math.h>
#include <stdio.h>
#include <string.h>
#define __device__
#define __global__
static struct { unsigned int x; } blockIdx = {0}, blockDim = {1}, threadIdx = {0}, gridDim = {1};
template <class B, class A> static B same_bits(A a) { B b; memcpy(&b, &a, sizeof b); return b; }
static int __float_as_int(float a) { return same_bits<int>(a); }
static float __int_as_float(int a) { return same_bits<float>(a); }
static long long __double_as_longlong(double a) { return same_bits<long long>(a); }
static double __longlong_as_double(long long a) { return same_bits<double>(a); }
static unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned long long)a * b >> 32; }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
"#;

/// Elements of a kernel's run: a box of three axes where it is strided.
const COUNT: usize = SHAPE[0] * SHAPE[1] * SHAPE[2];
const SHAPE: [usize; 3] = [4, 8, 16];
/// First element and strides of the first, second and third tensor: transposed, backwards and broadcast.
const LAYOUTS: [(usize, [isize; 3]); 3] = [(0, [1, 4, 32]), (COUNT - 1, [-128, -16, -1]), (0, [0, 16, 1])];

/// A kernel and the values of its arguments, as they lie in memory.
struct Run<'a> {
    case: &'a Case,
    access: Access,
    scalars: u32,
    pools: Vec<Vec<Lit>>,
}

impl Run<'_> {
    fn is_scalar(&self, k: usize) -> bool {
        self.scalars >> k & 1 == 1
    }

    /// Where the argument's value for an element lies.
    fn place(&self, k: usize, element: usize) -> usize {
        if self.is_scalar(k) {
            return 0;
        }
        if self.access == Access::Contiguous {
            return element;
        }
        let (first, strides) = LAYOUTS[k];
        let at = [element / (SHAPE[1] * SHAPE[2]), element / SHAPE[2] % SHAPE[1], element % SHAPE[2]];
        first.wrapping_add_signed(at.iter().zip(strides).map(|(&c, s)| c as isize * s).sum())
    }

    /// Reads the arguments, runs the kernel, writes the results.
    fn call(&self, name: &str) -> String {
        let mut text = "{\n".to_owned();
        let program = &self.case.program;
        let (mut arguments, mut strides) = (Vec::new(), Vec::new());
        for (k, &d) in program.args.iter().enumerate() {
            let _ = writeln!(text, "static {} p{k}[{COUNT}]; fread(p{k}, 1, sizeof p{k}, stdin);", cuda::storage(d));
            if self.is_scalar(k) {
                arguments.push(format!("p{k}[0]"));
                continue;
            }
            let strided = self.access != Access::Contiguous;
            arguments.push(if strided { format!("p{k} + {}", LAYOUTS[k].0) } else { format!("p{k}") });
            if strided {
                strides.push(format!("{:?}", LAYOUTS[k].1).replace('[', "{").replace(']', "}"));
            }
        }
        for k in 0..program.outs.len() {
            let _ = writeln!(text, "static {} q{k}[{COUNT}];", cuda::storage(program.out(k)));
            arguments.push(format!("q{k}"));
        }
        if self.access != Access::Contiguous {
            let [a, b, c] = SHAPE;
            arguments.push(format!("{name}_layout{{{{{a}, {b}, {c}}}, {{{}}}}}", strides.join(", ")));
        }
        let _ = writeln!(text, "{name}({}, {COUNT});", arguments.join(", "));
        for k in 0..program.outs.len() {
            let _ = writeln!(text, "fwrite(q{k}, 1, sizeof q{k}, stdout);");
        }
        text + "}\n"
    }
}

fn encode(dtype: DType, values: &[Lit]) -> Vec<u8> {
    dispatch_dtype!(dtype, T => {
        values.iter().flat_map(|&v| bytemuck::bytes_of(&<T as Element>::from_lit(v).to_pod()).to_vec()).collect()
    })
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<Lit> {
    dispatch_dtype!(dtype, T => {
        let pods = bytes.chunks_exact(dtype.size_in_bytes()).map(bytemuck::pod_read_unaligned);
        pods.map(|pod| <T as Element>::from_pod(pod).to_lit()).collect()
    })
}

/// Samples of the row's domain, and edges, met in a fixed order without a pattern.
fn pools(case: &Case) -> Vec<Vec<Lit>> {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let drawn = |&dtype: &DType| {
        let pool = [samples(dtype, case.row.info().test.clone()), edges(dtype)].concat();
        (0..COUNT).map(|_| pool[below(pool.len())]).collect()
    };
    case.program.args.iter().map(drawn).collect()
}

/// Equal but for the bits of a NaN; the modulus of a complex number, which has no lane, within 2 ulp.
fn agree(program: &Program, dtype: DType, ours: Lit, theirs: Lit) -> bool {
    let part = |l: Lit| match l {
        Lit::Complex(re, im) => {
            [re.to_bits(), im.to_bits()].map(|b| if f64::from_bits(b).is_nan() { u64::MAX } else { b })
        }
        Lit::Float(x) => [if x.is_nan() { u64::MAX } else { x.to_bits() }, 0],
        whole => [whole.to_bits().1, 0],
    };
    let modulus = |i: &numr_core::scalar::program::Inst| {
        i.op == Op::Un(Un::Abs) && program.insts[i.a[0] as usize].dtype.is_complex()
    };
    part(ours) == part(theirs) || (program.insts.iter().any(modulus) && ulp_distance(dtype, ours, theirs) <= 2)
}

/// Compiles the kernels of a unit, runs them, and answers what differs.
fn differing(compiler: &str, unit: &[Run], number: usize) -> Vec<String> {
    let mut module = cuda::Module::default();
    let (mut main, mut input) = (String::new(), Vec::new());
    for run in unit {
        let kernel = run.case.kernel(run.scalars, run.access, false);
        let name = module.map(&kernel).expect("refused ones are not run");
        main += &run.call(&name);
        for (&dtype, pool) in run.case.program.args.iter().zip(&run.pools) {
            input.extend(encode(dtype, pool));
        }
    }
    let folder = std::env::temp_dir().join(format!("numr-printed-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    let (source, binary) = (folder.join("kernels.cpp"), folder.join("kernels"));
    std::fs::write(&source, format!("{HOST}{}\nint main() {{\n{main}}}\n", module.source())).expect("the source");
    let built = Command::new(compiler)
        .args(["-std=c++17", "-O0", "-w", "-ffp-contract=off", "-fwrapv", "-o"])
        .args([&binary, &source])
        .output()
        .expect("the compiler was found");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut child = Command::new(&binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut pipe = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("all is read");
    assert!(output.status.success(), "the program ended with {}", output.status);
    std::fs::remove_dir_all(&folder).expect("the folder goes");

    let (mut wrong, mut rest) = (Vec::new(), output.stdout.as_slice());
    for run in unit {
        let program = &run.case.program;
        let mut results = Vec::new();
        for k in 0..program.outs.len() {
            let (now, later) = rest.split_at(COUNT * program.out(k).size_in_bytes());
            results.push(decode(program.out(k), now));
            rest = later;
        }
        let first = (0..COUNT).find_map(|e| {
            let args: Vec<Lit> = (0..run.pools.len()).map(|k| run.pools[k][run.place(k, e)]).collect();
            let expected = eval(program, &args);
            let bad = (0..results.len()).find(|&k| !agree(program, program.out(k), results[k][e], expected[k]))?;
            Some(format!("{} at {args:?}: {:?}, expected {:?}", run.case.name, results[bad][e], expected[bad]))
        });
        wrong.extend(first);
    }
    assert!(rest.is_empty(), "{} bytes too many", rest.len());
    wrong
}

#[test]
fn cuda_gives_the_bits_of_the_lanes() {
    let compiler = std::env::var("CXX").unwrap_or("g++".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        return skip("cxx", "there is no C++ compiler; CXX may name one");
    }
    let cases = cases();
    let mut runs = Vec::new();
    for case in cases.iter().filter(|c| cuda::Module::default().body(&c.program).is_ok()) {
        let pools = pools(case);
        if case.order == 0 {
            let scalars = (1 << (pools.len() - 1)) & !1;
            runs.push(Run { case, access: Access::Strided { rank: 3 }, scalars, pools: pools.clone() });
        }
        runs.push(Run { case, access: Access::Contiguous, scalars: 0, pools });
    }
    let half = runs.len().div_ceil(2);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let halves: Vec<_> = runs
            .chunks(half)
            .enumerate()
            .map(|(half, runs)| {
                let compiler = &compiler;
                scope.spawn(move || {
                    let units = runs.chunks(100).enumerate();
                    units.flat_map(|(at, unit)| differing(compiler, unit, 2 * at + half)).collect::<Vec<_>>()
                })
            })
            .collect();
        halves.into_iter().flat_map(|half| half.join().expect("a half")).collect()
    });
    println!("{} CUDA kernels run on the host", runs.len());
    assert!(wrong.is_empty(), "{} of {} kernels differ:\n{}", wrong.len(), runs.len(), wrong.join("\n"));
}
