//! Lists the devices of the backends that are compiled in, and runs one program on each.

use numr::prelude::*;

/// Written once, for any runtime.
fn norm<R: Runtime>(x: &Tensor<R>) -> numr::Result<Tensor<R>> {
    x.square()?.sum(.., false)?.sqrt()
}

fn main() -> numr::Result<()> {
    for device in Device::list() {
        match device {
            Ok(device) => {
                let x = Tensor::<AnyRuntime>::from_slice(&[3.0f32, 4.0], &[2], &device);
                println!("{device}: the norm of (3, 4) is {}", norm(&x)?);
            }
            Err(reason) => println!("not here: {reason}"),
        }
    }
    for name in ["cpu", "cuda:1", "wgpu", "auto", "abacus"] {
        match Device::parse(name) {
            Ok(device) => println!("{name:7} -> {device}"),
            Err(e) => println!("{name:7} -> error: {e}"),
        }
    }
    Ok(())
}
