//! Tensors in five minutes.

use numr::prelude::*;
use numr::rng::Key;

fn main() -> numr::Result<()> {
    let device = CpuDevice::new();

    // Make, look, index. Views share memory.
    let x = Tensor::<CpuRuntime>::arange(0.0, 12.0, 1.0, DType::F32, &device).reshape(&[3, 4])?;
    println!("x =\n{x}");
    println!("every second column, backwards:\n{}", x.slice(s![.., ..;-2])?);
    println!("its transpose has strides {:?}", x.t()?.strides());

    // Operators broadcast and promote; methods return a Result.
    let row = Tensor::from_slice(&[1i32, 0, -1, 2], &[4], &device);
    println!("x * row + 0.5 =\n{}", &x * &row + 0.5);
    println!("x > 5 =\n{}", x.gt(5.0)?);

    // Reductions over any axes, products, softmax.
    println!("sum {}, mean of columns {:.2}", x.sum(.., false)?, x.mean(0, false)?);
    println!("x xᵀ =\n{}", x.matmul(&x.t()?)?);
    println!("softmax of rows =\n{:.3}", x.softmax(-1)?);

    // Random numbers depend on the key and the place alone.
    let key = Key::new(7);
    println!("normal =\n{:.3}", key.normal::<CpuRuntime>(&[2, 3], DType::F64, &device)?);

    // Mistakes are values.
    let wrong = x.matmul(&x);
    println!("x x is an error: {}", wrong.err().map_or_else(String::new, |e| e.to_string()));
    Ok(())
}
