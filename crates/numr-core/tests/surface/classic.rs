use super::*;
use numr_core::classic::*;
use numr_core::{Runtime, RuntimeClient};

/// A function as programs for 0.5 write it.
fn layer<R: Runtime>(x: &Tensor<R>, w: &Tensor<R>) -> Result<Tensor<R>>
where
    R::Client: TensorOps<R> + ScalarOps<R> + BinaryOps<R> + ReduceOps<R> + UnaryOps<R>,
{
    let client = R::default_client(x.device());
    let mean = client.mean(x, &[1], true)?;
    let centred = client.sub(x, &mean)?;
    let power = client.mean(&client.mul(&centred, &centred)?, &[1], true)?;
    let scale = client.recip(&client.sqrt(&client.add_scalar(&power, 1e-5)?)?)?;
    client.mul(&client.mul(&centred, &scale)?, w)
}

#[test]
fn programs_for_the_old_surface_run() {
    let (x, w) = (count(&[2, 4]), T::ones(&[4], DType::F64, &device()));
    let zero = T::zeros(&[4], DType::F64, &device());
    close(&layer(&x, &w).expect("runs"), &x.layer_norm(&w, &zero, 1e-5).expect("norm").to_vec::<f64>(), 1e-14);
}

#[test]
fn methods_of_the_client() {
    let client = CpuRuntime::default_client(&device());
    let x = count(&[2, 3]);
    assert_eq!(client.sum(&x, &[], false).expect("all axes").to_vec::<f64>(), [15.0]);
    assert_eq!(client.eq(&x, &x).expect("compares").dtype(), DType::Bool);
    assert_eq!(client.argmax(&x, 1, false).expect("argmax").to_vec::<i64>(), [2, 2]);
    let ints = t(&[1i32, 2], &[2]);
    assert_eq!(client.add_scalar(&ints, 1.9).expect("adds").to_vec::<i32>(), [2, 3]);
    assert_eq!(client.rsub_scalar(&ints, 5.0).expect("subtracts").to_vec::<i32>(), [4, 3]);
    assert_eq!(client.clamp(&ints, 0.0, 1.5).expect("clamps").to_vec::<i32>(), [1, 1]);
    // Padding starts at the last axis.
    assert_eq!(client.pad(&x, &[1, 0], 9.0).expect("pads").shape(), [2, 4]);
    assert_eq!(client.pad(&x, &[1, 0, 0, 2], 9.0).expect("pads").shape(), [4, 4]);
    assert!(matches!(client.pad(&x, &[1], 0.0), Err(Error::Argument { .. })));
    assert!(matches!(client.pad(&x, &[1; 6], 0.0), Err(Error::Argument { .. })));
    assert_eq!(
        client.rand_seeded(&[4], DType::F32, 3).expect("draws").to_vec::<f32>(),
        client.rand_seeded(&[4], DType::F32, 3).expect("draws").to_vec::<f32>()
    );
    assert_eq!(client.linspace(0.0, 1.0, 3, DType::F64).expect("makes").to_vec::<f64>(), [0.0, 0.5, 1.0]);
    let grid = client.meshgrid(&[&count(&[2]), &count(&[3])], MeshgridIndexing::Xy).expect("grids");
    assert_eq!(grid[0].shape(), [3, 2]);
    assert_eq!(client.matmul(&x, &x.t().expect("two axes")).expect("multiplies").shape(), [2, 2]);
    client.synchronize();
}

#[test]
fn names_of_the_tensor() {
    let x = count(&[2, 3]);
    assert_eq!((x.rank(), x.dims(), x.elem_count(), x.len(), x.is_scalar()), (2, &[2, 3][..], 6, 6, false));
    assert_eq!((x.size(-1), x.size(2), x.dim(0).expect("there")), (Some(3), None, 2));
    assert_eq!(x.dims2().expect("two"), (2, 3));
    assert!(matches!(x.dims3(), Err(Error::Shape { .. })));
    assert_eq!(x.narrow(0, 1, 1).expect("narrows").offset(), 3);
    assert_eq!(x.scale(2.0).expect("scales").to_vec::<f64>()[5], 10.0);
    assert!(x.t().expect("a view").shares_storage_with(&x) && x.detach().shares_storage_with(&x));
    assert!(!x.clone_deep().expect("copies").shares_storage_with(&x));
    assert_eq!(x.clone_deep().expect("copies").to_vec::<f64>(), x.detach().to_vec::<f64>());
    assert_eq!(T::full_scalar(&[2], DType::I32, 3.0, &device()).to_vec::<i32>(), [3, 3]);
}
