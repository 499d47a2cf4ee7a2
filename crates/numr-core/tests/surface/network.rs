use super::plain::Plain;
use super::*;
use numr_core::ops::fused;
use numr_core::ops::loss::Reduction;

/// Each test on the CPU's fused kernels, and on the composites that define them.
macro_rules! on_both {
    ($($name:ident)*) => {$(
        mod $name {
            #[test]
            fn kernels() {
                super::$name::<super::CpuRuntime>();
            }
            #[test]
            fn composites() {
                super::$name::<super::Plain>();
            }
        }
    )*};
}
on_both! { softmax_against_loops norms_against_loops backward_of_fused_ops losses_against_loops }

trait Cpu: Runtime<Device = CpuDevice> {}
impl<R: Runtime<Device = CpuDevice>> Cpu for R {}

fn t<R: Cpu, E: Element>(data: &[E], shape: &[usize]) -> Tensor<R> {
    Tensor::from_slice(data, shape, &device())
}

fn noise<R: Cpu>(seed: u64, shape: &[usize]) -> Tensor<R> {
    numr_core::Key::new(seed).normal(shape, DType::F64, &device()).expect("draws")
}

fn rows<R: Cpu>(x: &Tensor<R>, n: usize) -> Vec<Vec<f64>> {
    x.to_vec::<f64>().chunks(n).map(<[f64]>::to_vec).collect()
}

fn softmax_against_loops<R: Cpu>() {
    let x = noise::<R>(1, &[3, 5]);
    let want: Vec<f64> = rows(&x, 5)
        .into_iter()
        .flat_map(|r| {
            let total: f64 = r.iter().map(|v| v.exp()).sum();
            r.into_iter().map(move |v| v.exp() / total)
        })
        .collect();
    for (name, x) in layouts(&x) {
        close(&x.softmax(-1).expect(name), &want, 1e-14);
        close(&x.t().expect("two axes").softmax(0).expect(name).t().expect("two axes"), &want, 1e-14);
        close(&x.log_softmax(1).expect(name).exp().expect(name), &want, 1e-14);
    }
    let inf = f64::INFINITY;
    let odd = t::<R, _>(&[1000.0, 0.0, -inf, -inf, inf, 1.0], &[3, 2]);
    close(&odd.softmax(1).expect("rows"), &[1.0, 0.0, f64::NAN, f64::NAN, f64::NAN, f64::NAN], 0.0);
    close(&t::<R, _>(&[5.0f64], &[]).softmax(0).expect("scalar"), &[1.0], 0.0);
    assert_eq!(Tensor::<R>::zeros(&[0, 3], DType::F32, &device()).softmax(0).expect("empty").shape(), [0, 3]);
    assert_eq!(t::<R, _>(&[1i32, 2], &[2]).softmax(0).expect("ints").dtype(), DType::F32);
    assert!(matches!(x.softmax(2), Err(Error::Axis { op: "softmax", .. })));
}

fn norms_against_loops<R: Cpu>() {
    let (x, w, b) = (noise::<R>(2, &[2, 3, 4]), noise(3, &[4]), noise(4, &[4]));
    let (wv, bv) = (w.to_vec::<f64>(), b.to_vec::<f64>());
    let eps = 1e-3;
    let (mut layer, mut rms) = (Vec::new(), Vec::new());
    for r in rows(&x, 4) {
        let mean = r.iter().sum::<f64>() / 4.0;
        let var = r.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4.0;
        let square = r.iter().map(|v| v * v).sum::<f64>() / 4.0;
        for (k, v) in r.iter().enumerate() {
            layer.push((v - mean) / (var + eps).sqrt() * wv[k] + bv[k]);
            rms.push(v / (square + eps).sqrt() * wv[k]);
        }
    }
    for (name, x) in layouts(&x) {
        close(&x.layer_norm(&w, &b, eps).expect(name), &layer, 1e-13);
        close(&x.rms_norm(&w, eps).expect(name), &rms, 1e-13);
    }
    let half = x.cast(DType::F16).expect("casts");
    assert_eq!(
        half.layer_norm(&w.cast(DType::F16).expect("casts"), &b.cast(DType::F16).expect("casts"), eps)
            .expect("f16")
            .dtype(),
        DType::F16
    );
    // One group over everything is layer normalisation of the flattened rows.
    let (one, zero) = (Tensor::ones(&[3], DType::F64, &device()), Tensor::zeros(&[3], DType::F64, &device()));
    let grouped = x.group_norm(&one, &zero, 1, eps).expect("groups");
    let flat = x.reshape(&[2, 12]).expect("flat");
    let (w12, b12) = (Tensor::ones(&[12], DType::F64, &device()), Tensor::zeros(&[12], DType::F64, &device()));
    close(&grouped, &flat.layer_norm(&w12, &b12, eps).expect("norm").to_vec::<f64>(), 1e-13);
    assert!(matches!(x.group_norm(&one, &zero, 2, eps), Err(Error::Argument { .. })));
}

/// The pull-backs against central differences of Σ g·f.
fn backward_of_fused_ops<R: Cpu>() {
    let (x, w, b, g) = (noise::<R>(5, &[2, 4]), noise(6, &[4]), noise(7, &[4]), noise(8, &[2, 4]));
    let eps = 1e-2;
    let slope = |x: &Tensor<R>, f: &dyn Fn(&Tensor<R>) -> Tensor<R>| -> Vec<f64> {
        let h = 1e-6;
        let value =
            |y: Tensor<R>| y.mul(&g).and_then(|y| y.sum(.., false)).and_then(|y| y.item::<f64>()).expect("a number");
        (0..x.numel())
            .map(|i| {
                let step = |h: f64| {
                    let mut v = x.to_vec::<f64>();
                    v[i] += h;
                    value(f(&t(&v, x.shape())))
                };
                (step(h) - step(-h)) / (2.0 * h)
            })
            .collect()
    };
    let soft = x.softmax(1).expect("softmax");
    close(
        &fused::softmax_backward(&soft, &g, 1).expect("pulls"),
        &slope(&x, &|x| x.softmax(1).expect("softmax")),
        1e-8,
    );
    let log = x.log_softmax(1).expect("log_softmax");
    let want = slope(&x, &|x| x.log_softmax(1).expect("log_softmax"));
    close(&fused::log_softmax_backward(&log, &g, 1).expect("pulls"), &want, 1e-8);
    let [dx, dw, db] = fused::layer_norm_backward(&x, &w, &g, eps).expect("pulls");
    close(&dx, &slope(&x, &|x| x.layer_norm(&w, &b, eps).expect("norm")), 1e-8);
    close(&dw, &slope(&w, &|w| x.layer_norm(w, &b, eps).expect("norm")), 1e-8);
    close(&db, &slope(&b, &|b| x.layer_norm(&w, b, eps).expect("norm")), 1e-8);
    let [dx, dw] = fused::rms_norm_backward(&x, &w, &g, eps).expect("pulls");
    close(&dx, &slope(&x, &|x| x.rms_norm(&w, eps).expect("norm")), 1e-8);
    close(&dw, &slope(&w, &|w| x.rms_norm(w, eps).expect("norm")), 1e-8);
}

fn losses_against_loops<R: Cpu>() {
    let (x, target) = (noise::<R>(9, &[3, 4]), t(&[2i32, 0, 3], &[3]));
    let mut losses = Vec::new();
    for (r, c) in rows(&x, 4).into_iter().zip([2usize, 0, 3]) {
        let total: f64 = r.iter().map(|v| v.exp()).sum::<f64>().ln();
        let each: Vec<f64> = r.iter().map(|v| total - v).collect();
        losses.push((each[c], each.iter().sum::<f64>() / 4.0));
    }
    for smoothing in [0.0, 0.1] {
        let want: Vec<f64> = losses.iter().map(|(own, all)| (1.0 - smoothing) * own + smoothing * all).collect();
        close(&x.cross_entropy(&target, smoothing, Reduction::None).expect("loss"), &want, 1e-13);
        let sum = want.iter().sum::<f64>();
        close(&x.cross_entropy(&target, smoothing, Reduction::Mean).expect("loss"), &[sum / 3.0], 1e-13);
        close(&x.cross_entropy(&target, smoothing, Reduction::Sum).expect("loss"), &[sum], 1e-13);
    }
    let log = x.log_softmax(1).expect("logs");
    close(&log.nll_loss(&target, Reduction::Sum).expect("nll"), &[losses.iter().map(|l| l.0).sum()], 1e-13);
    // Classes on axis 1, whatever follows.
    let deep = x.unsqueeze(2).expect("lifts").broadcast_to(&[3, 4, 2]).expect("spreads");
    let twice = target.unsqueeze(1).expect("lifts").broadcast_to(&[3, 2]).expect("spreads");
    assert_eq!(deep.cross_entropy(&twice, 0.0, Reduction::None).expect("loss").shape(), [3, 2]);
    close(
        &t::<R, _>(&[0.0f64, 1.0, 2.0], &[3]).mse_loss(&t(&[1.0f64, 1.0, 1.0], &[3]), Reduction::Mean).expect("mse"),
        &[2.0 / 3.0],
        1e-15,
    );
    let bce = t::<R, _>(&[0.0f64, 2.0], &[2]).bce_with_logits(&t(&[1.0f64, 0.0], &[2]), Reduction::None).expect("bce");
    close(&bce, &[2f64.ln(), (1.0 + 2f64.exp()).ln()], 1e-14);
    assert!(matches!(x.cross_entropy(&t(&[0i64], &[1]), 0.0, Reduction::Mean), Err(Error::Shape { .. })));
    assert!(matches!(
        x.cross_entropy(&t(&[0i64, 1, 4], &[3]), 0.0, Reduction::Mean),
        Err(Error::Index { index: 4, .. })
    ));
    assert!(matches!(x.cross_entropy(&target, 2.0, Reduction::Mean), Err(Error::Argument { .. })));
}
