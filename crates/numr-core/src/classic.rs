//! The call surface of numr 0.5: traits on a client, each method one line that calls the op. It holds no arithmetic,
//! and new work never starts here.

mod ops;
mod tensor;

pub use ops::*;

use crate::error::Result;
use crate::runtime::Runtime;
use crate::tensor::or_panic;

/// A handle on a device.
pub trait RuntimeClient<R: Runtime>: Clone + Send + Sync {
    /// The device.
    fn device(&self) -> &R::Device;

    /// Waits for all work before.
    ///
    /// # Errors
    /// Faults of the device, and of work before.
    fn try_synchronize(&self) -> Result<()> {
        R::synchronize(self.device())
    }

    /// As [`RuntimeClient::try_synchronize`]; panics where that is an `Err`.
    #[track_caller]
    fn synchronize(&self) {
        or_panic(self.try_synchronize());
    }
}

/// The client of every runtime: its device. It is not `PartialEq`, whose `eq` would hide [`CompareOps::eq`].
#[derive(Clone, Debug)]
pub struct Client<R: Runtime> {
    device: R::Device,
}

impl<R: Runtime> Client<R> {
    /// A client of this device.
    pub fn new(device: R::Device) -> Self {
        Client { device }
    }
}

impl<R: Runtime> RuntimeClient<R> for Client<R> {
    fn device(&self) -> &R::Device {
        &self.device
    }
}
