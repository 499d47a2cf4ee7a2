//! Printed kernels are accepted by the compilers that will see them, and are right.

use std::collections::HashMap;
use std::sync::Arc;

use numr_core::ops::map::Row;
use numr_core::scalar::graph::{Class, Graph};
use numr_core::scalar::print::{Access, MapKernel, cuda, wgsl};
use numr_core::scalar::program::{ArgType, Program};
use numr_core::{DType, Error};
use numr_tests::compilers::{Nvrtc, validate_wgsl};

/// A program and where it comes from: row, order of the derivative, dtype of the arguments.
type Case = (String, Arc<Program>);

/// The row and its derivatives up to an order: `add`, `add/0`, `add/0/1`, ....
fn derivatives(row: Row, order: usize) -> Vec<(String, Arc<Graph>)> {
    let mut all = vec![(row.name().to_owned(), row.graph().clone())];
    let mut last = all.clone();
    for _ in 0..order {
        let slopes = |(name, graph): &(String, Arc<Graph>)| {
            let partials = graph.partials().iter().enumerate();
            partials.filter_map(|(k, p)| Some((format!("{name}/{k}"), p.clone()?))).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(slopes).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// The graph on arguments of a dtype (masks are bool), or `None` where it does not take it.
fn lower(graph: &Graph, dtype: DType) -> Option<Arc<Program>> {
    let Class::Common { masks, .. } = graph.class() else { return None };
    let of = |k: usize| if masks >> k & 1 == 1 { DType::Bool } else { dtype };
    let args: Vec<ArgType> = (0..graph.arity()).map(|k| ArgType::Tensor(of(k))).collect();
    match graph.program(&args) {
        Ok(program) => Some(program),
        Err(Error::DType { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Every row on every dtype; derivatives to order 2.
fn cases() -> Vec<Case> {
    let mut seen = HashMap::new();
    let mut cases = Vec::new();
    for &row in Row::ALL {
        for (name, graph) in derivatives(row, 2) {
            for dtype in DType::ALL {
                let Some(program) = lower(&graph, dtype) else { continue };
                let key = format!("{program:?}");
                if seen.insert(key, ()).is_none() {
                    cases.push((format!("{name} {dtype}"), program));
                }
            }
        }
    }
    cases
}

#[test]
fn count() {
    let cases = cases();
    let start = std::time::Instant::now();
    let mut failed = 0;
    for (name, program) in &cases {
        let kernel = MapKernel { program, scalars: 0, access: Access::Contiguous, wide: false };
        match wgsl::map(&kernel) {
            Ok(shader) => {
                if let Err(e) = validate_wgsl(&shader.source) {
                    failed += 1;
                    if failed < 6 { println!("{name}: {e}\n{}", shader.source); }
                }
            }
            Err(e) => println!("{name}: {e}"),
        }
    }
    println!("{} cases, {failed} failed {:?}", cases.len(), start.elapsed());
    let Some(nvrtc) = Nvrtc::find() else { return };
    for chunk in cases.chunks(64) {
        let start = std::time::Instant::now();
        let mut module = cuda::Module::default();
        for (_, program) in chunk {
            let kernel = MapKernel { program, scalars: 0, access: Access::Contiguous, wide: false };
            let _ = module.map(&kernel);
        }
        if let Err(e) = nvrtc.compile(&module.source(), "sm_80") { println!("{}", e.lines().take(12).collect::<Vec<_>>().join("\n")); }
        println!("chunk {:?}", start.elapsed());
    }
}
