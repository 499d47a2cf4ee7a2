//! The device chosen at run time: [`AnyRuntime`] is a runtime over the backends that are compiled in.
//!
//! ```
//! use numr::{AnyRuntime, Device, Tensor};
//!
//! # fn main() -> numr::Result<()> {
//! let device = Device::parse("auto")?;
//! let x = Tensor::<AnyRuntime>::from_slice(&[1.0f32, 4.0], &[2], &device);
//! assert_eq!(x.sqrt()?.to_vec::<f32>(), [1.0, 2.0]);
//! # Ok(())
//! # }
//! ```

use numr_core::classic::Client;
use numr_core::prim::Meta;
use numr_core::runtime::{Outputs, Support};
use numr_core::{DType, Error, Prim, Result, Runtime, Tensor};
use smallvec::SmallVec;
use std::fmt;
use std::str::FromStr;

/// A runtime that asks the tensors' device which backend to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyRuntime;

/// Runs the body with the device and the runtime of whichever backend it is. One arm a backend, as one line in
/// `backends!` below.
macro_rules! on {
    ($device:expr, |$d:ident, $B:ident| $body:expr) => {
        match $device {
            Device::Cpu($d) => {
                type $B = numr_cpu::CpuRuntime;
                $body
            }
            #[cfg(feature = "cuda")]
            Device::Cuda($d) => {
                type $B = numr_cuda::CudaRuntime;
                $body
            }
            #[cfg(feature = "wgpu")]
            Device::Wgpu($d) => {
                type $B = numr_wgpu::WgpuRuntime;
                $body
            }
        }
    };
}

macro_rules! backends {
    ($($(#[$attr:meta])* $V:ident $R:ty;)*) => {
        /// A device of a backend that is compiled in.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Device {
            $($(#[$attr])*
            #[doc = concat!("A device of `", stringify!($R), "`.")]
            $V(<$R as Runtime>::Device),)*
        }

        /// Storage of one of the backends.
        #[derive(Clone, Debug)]
        pub enum Storage {
            $($(#[$attr])*
            #[doc = concat!("Storage of `", stringify!($R), "`.")]
            $V(<$R as Runtime>::Storage),)*
        }

        $($(#[$attr])*
        impl Inner for $R {
            fn unwrap(tensor: &Tensor<AnyRuntime>) -> Option<Tensor<$R>> {
                // Another backend compiled in makes the pattern refutable.
                #[allow(irrefutable_let_patterns, reason = "with one backend there is one variant")]
                let (Storage::$V(storage), Device::$V(device)) = (tensor.storage(), tensor.device()) else { return None };
                let layout = tensor.layout().clone();
                Some(Tensor::from_storage(storage.clone(), layout, tensor.dtype(), device.clone()))
            }

            fn wrap(tensor: Tensor<$R>) -> Tensor<AnyRuntime> {
                let storage = Storage::$V(tensor.storage().clone());
                let device = Device::$V(tensor.device().clone());
                Tensor::from_storage(storage, tensor.layout().clone(), tensor.dtype(), device)
            }

            fn storage(storage: <$R as Runtime>::Storage) -> Storage {
                Storage::$V(storage)
            }
        })*

        fn same_storage(a: &Storage, b: &Storage) -> bool {
            match (a, b) {
                $($(#[$attr])*
                (Storage::$V(a), Storage::$V(b)) => <$R>::same_storage(a, b),)*
                #[allow(unreachable_patterns, reason = "with one backend there is one variant")]
                _ => false,
            }
        }
    };
}

/// A backend seen from [`AnyRuntime`].
trait Inner: Runtime {
    fn unwrap(tensor: &Tensor<AnyRuntime>) -> Option<Tensor<Self>>;
    fn wrap(tensor: Tensor<Self>) -> Tensor<AnyRuntime>;
    fn storage(storage: Self::Storage) -> Storage;
}

backends! {
    Cpu numr_cpu::CpuRuntime;
    #[cfg(feature = "cuda")]
    Cuda numr_cuda::CudaRuntime;
    #[cfg(feature = "wgpu")]
    Wgpu numr_wgpu::WgpuRuntime;
}

impl Device {
    /// The device of a name: `"cpu"`, `"cuda"`, `"cuda:1"`, `"wgpu"`, `"wgpu:0"`, or `"auto"`, the fastest that is
    /// there.
    ///
    /// # Errors
    /// `Error::Argument` for another name; `Error::Unsupported` where the backend is not compiled in, not there yet or
    /// finds no such device.
    pub fn parse(name: &str) -> Result<Device> {
        let (kind, number) = match name.split_once(':') {
            Some((kind, n)) => (kind, Some(n)),
            None => (name, None),
        };
        let bad = |reason: String| Err(Error::argument("Device::parse", "name", reason));
        let index = match number.map(str::parse::<usize>) {
            None => 0,
            Some(Ok(n)) => n,
            Some(Err(_)) => return bad(format!("`{name}`: the part after ':' is a number, as in \"cuda:1\"")),
        };
        match kind {
            "cpu" if index == 0 => Ok(Device::Cpu(numr_cpu::CpuDevice::new())),
            "cpu" => bad(format!("`{name}`: there is one CPU device, \"cpu\"")),
            #[cfg(feature = "cuda")]
            "cuda" => numr_cuda::CudaDevice::new(index).map(Device::Cuda),
            #[cfg(not(feature = "cuda"))]
            "cuda" => Err(missing("cuda")),
            #[cfg(feature = "wgpu")]
            "wgpu" => numr_wgpu::WgpuDevice::new(index).map(Device::Wgpu),
            #[cfg(not(feature = "wgpu"))]
            "wgpu" => Err(missing("wgpu")),
            "auto" if number.is_none() => Ok(fastest()),
            _ => bad(format!("`{name}`: expected \"cpu\", \"cuda\", \"cuda:N\", \"wgpu\", \"wgpu:N\" or \"auto\"")),
        }
    }

    /// Every device of every backend that is compiled in; a backend without one says why.
    pub fn list() -> Vec<Result<Device>> {
        #[allow(unused_mut, reason = "without a GPU backend nothing is added")]
        let mut all = vec![Ok(Device::Cpu(numr_cpu::CpuDevice::new()))];
        #[cfg(feature = "cuda")]
        match numr_cuda::devices() {
            Ok(names) => all.extend((0..names.len()).map(|k| numr_cuda::CudaDevice::new(k).map(Device::Cuda))),
            Err(e) => all.push(Err(e)),
        }
        #[cfg(feature = "wgpu")]
        match numr_wgpu::devices() {
            Ok(names) => all.extend((0..names.len()).map(|k| numr_wgpu::WgpuDevice::new(k).map(Device::Wgpu))),
            Err(e) => all.push(Err(e)),
        }
        all
    }
}

/// A GPU that answers, else the CPU. A GPU that the CPU plays is not faster than the CPU.
fn fastest() -> Device {
    #[cfg(feature = "cuda")]
    if let Ok(device) = numr_cuda::CudaDevice::new(0) {
        return Device::Cuda(device);
    }
    #[cfg(feature = "wgpu")]
    if let Ok(device) = numr_wgpu::WgpuDevice::new(0)
        && device.is_hardware()
    {
        return Device::Wgpu(device);
    }
    Device::Cpu(numr_cpu::CpuDevice::new())
}

#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
fn missing(backend: &'static str) -> Error {
    let reason = format!("numr was built without the feature \"{backend}\"");
    Error::unsupported("Device::parse", None, backend, reason)
}

impl FromStr for Device {
    type Err = Error;
    fn from_str(s: &str) -> Result<Device> {
        Device::parse(s)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        on!(self, |d, _B| d.fmt(f))
    }
}

impl numr_core::Device for Device {
    fn id(&self) -> usize {
        on!(self, |d, _B| d.id())
    }

    fn name(&self) -> String {
        on!(self, |d, _B| d.name())
    }
}

impl Runtime for AnyRuntime {
    type Device = Device;
    type Storage = Storage;
    type Client = Client<AnyRuntime>;

    fn name() -> &'static str {
        "any"
    }

    fn default_device() -> Device {
        Device::Cpu(numr_cpu::CpuDevice::new())
    }

    fn default_client(device: &Device) -> Self::Client {
        Client::new(device.clone())
    }

    fn supports(device: &Device, prim: &Prim, dtypes: &[DType]) -> Support {
        on!(device, |d, B| B::supports(d, prim, dtypes))
    }

    fn run(device: &Device, prim: &Prim, inputs: &[&Tensor<Self>], outs: &[Meta]) -> Result<Outputs<Self>> {
        on!(device, |d, B| {
            let inner: SmallVec<[Tensor<B>; 4]> =
                inputs.iter().map(|t| unwrap::<B>(prim.name(), device, t)).collect::<Result<_>>()?;
            let refs: SmallVec<[&Tensor<B>; 4]> = inner.iter().collect();
            Ok(B::run(d, prim, &refs, outs)?.into_iter().map(B::wrap).collect())
        })
    }

    fn upload(device: &Device, dtype: DType, bytes: &[u8]) -> Result<Storage> {
        on!(device, |d, B| B::upload(d, dtype, bytes).map(B::storage))
    }

    fn download(tensor: &Tensor<Self>, bytes: &mut [u8]) -> Result<()> {
        let device = tensor.device();
        on!(device, |_d, B| B::download(&unwrap::<B>("to_vec", device, tensor)?, bytes))
    }

    fn same_storage(a: &Storage, b: &Storage) -> bool {
        same_storage(a, b)
    }

    fn synchronize(device: &Device) -> Result<()> {
        on!(device, |d, B| B::synchronize(d))
    }
}

fn unwrap<B: Inner>(op: &'static str, device: &Device, tensor: &Tensor<AnyRuntime>) -> Result<Tensor<B>> {
    let (left, right) = (device, tensor.device());
    B::unwrap(tensor).ok_or_else(|| Error::DeviceMismatch { op, left: left.to_string(), right: right.to_string() })
}
