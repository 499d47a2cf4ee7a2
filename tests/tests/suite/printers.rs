//! Printed kernels are accepted by the compilers that will see them, and are right.

mod host;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use numr_core::ops::map::Row;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::{Access, MapKernel, cuda, wgsl};
use numr_core::scalar::program::{ArgType, Program};
use numr_core::{DType, Error, Result};
use numr_tests::compilers::{Nvrtc, validate_wgsl};

/// A program and where it comes from: `pow/0/1 f32` is ∂²/∂x∂y of `pow` on f32.
struct Case {
    row: Row,
    name: String,
    order: usize,
    dtype: DType,
    program: Arc<Program>,
}

/// The row and its derivatives up to order 2, each by its name and order.
fn derivatives(row: Row) -> Vec<(String, usize, Arc<Graph>)> {
    let mut all = vec![(row.name().to_owned(), 0, row.graph().clone())];
    let mut at = 0;
    while at < all.len() && all[at].1 < 2 {
        let (name, order, graph) = all[at].clone();
        let slopes = graph.partials().iter().enumerate();
        all.extend(slopes.filter_map(|(k, p)| Some((format!("{name}/{k}"), order + 1, p.clone()?))));
        at += 1;
    }
    all
}

/// The graph on arguments of a dtype (masks are bool), or `None` where it does not take it.
fn lower(graph: &Graph, dtype: DType) -> Option<Arc<Program>> {
    if graph.class() == Class::Free {
        return None;
    }
    let of = |k: usize| if graph.class().is_mask(k) { DType::Bool } else { dtype };
    let args: Vec<ArgType> = (0..graph.arity()).map(|k| ArgType::Tensor(of(k))).collect();
    match graph.program(&args) {
        Ok(program) => Some(program),
        Err(Error::DType { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Every row and its derivatives on every dtype that they take; each program once.
fn cases() -> Vec<Case> {
    let mut seen = HashSet::new();
    let mut cases = Vec::new();
    for &row in Row::ALL {
        for (name, order, graph) in derivatives(row) {
            for dtype in DType::ALL {
                let Some(program) = lower(&graph, dtype) else { continue };
                if seen.insert(format!("{program:?}")) {
                    cases.push(Case { row, name: format!("{name} {dtype}"), order, dtype, program });
                }
            }
        }
    }
    cases
}

impl Case {
    fn kernel(&self, scalars: u32, access: Access, wide: bool) -> MapKernel<'_> {
        MapKernel { program: &self.program, scalars, access, wide }
    }

    /// Contiguous; of the rows themselves the strided kernels too, with a scalar last where there are two arguments.
    fn kernels(&self) -> Vec<MapKernel<'_>> {
        let mut kernels = vec![self.kernel(0, Access::Contiguous, false)];
        if self.order == 0 {
            let last = if self.program.args.len() > 1 { 1 << (self.program.args.len() - 1) } else { 0 };
            kernels.push(self.kernel(last, Access::Strided { rank: 3 }, false));
            if self.dtype == DType::F32 {
                kernels.push(self.kernel(last, Access::Contiguous, true));
                kernels.push(self.kernel(0, Access::Strided { rank: 0 }, false));
                kernels.push(self.kernel(0, Access::Strided { rank: 2 }, true));
            }
        }
        kernels
    }
}

/// Everything is printed. Only WGSL has no 64-bit indices.
fn printed<T>(case: &Case, result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

#[test]
fn wgsl_is_valid() {
    let (mut count, mut f64s, mut int64s) = (0, 0, 0);
    for case in cases() {
        for kernel in case.kernels() {
            if kernel.wide {
                assert!(matches!(wgsl::map(&kernel, 4), Err(Error::Unsupported { dtype: None, .. })));
                continue;
            }
            let shader = printed(&case, wgsl::map(&kernel, 4));
            if let Err(error) = validate_wgsl(&shader.source) {
                panic!("{}: {error}\n{}", case.name, shader.source);
            }
            count += 1;
            f64s += usize::from(shader.f64);
            int64s += usize::from(shader.int64);
        }
    }
    println!("{count} WGSL kernels are valid; {f64s} use f64, {int64s} use 64-bit integers");
    assert!(count > 1000, "the table has shrunk to {count} kernels");
}

/// Rows on every dtype and derivatives on the four that matter most compile for each architecture, the rest for the newest:
/// nothing in them depends on it.
#[test]
fn cuda_compiles() {
    let Some(nvrtc) = Nvrtc::find() else { return };
    let widely = |c: &Case| c.order == 0 || [DType::F32, DType::F64, DType::I32, DType::U32].contains(&c.dtype);
    let (wide, narrow): (Vec<Case>, Vec<Case>) = cases().into_iter().partition(widely);
    let units = wide.chunks(48).map(|unit| (unit, ["sm_75", "sm_80", "sm_90a"].as_slice()));
    let units: Vec<_> = units.chain(narrow.chunks(48).map(|unit| (unit, ["sm_90a"].as_slice()))).collect();
    let next = AtomicUsize::new(0);
    let compile = || {
        let mut count = 0;
        while let Some(&(unit, architectures)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut module = cuda::Module::default();
            for case in unit {
                for kernel in case.kernels() {
                    printed(case, module.map(&kernel));
                    count += 1;
                }
            }
            for architecture in architectures {
                if let Err(log) = nvrtc.compile(&module.source(), architecture) {
                    panic!("{} .. on {architecture}: {log}", unit[0].name);
                }
            }
        }
        count
    };
    let count = std::thread::scope(|scope| {
        let other = scope.spawn(compile);
        compile() + other.join().expect("the other half compiles")
    });
    println!("{count} CUDA kernels compile");
    assert!(count > 1000, "the table has shrunk to {count} kernels");
}
