//! Forward mode: a runtime whose tensors carry a tangent.

use crate::rules;
use crate::tape::{inexact, is_grad_enabled, is_strict};
use numr_core::classic::Client;
use numr_core::prim::{Meta, Prim};
use numr_core::runtime::{Outputs, Runtime, Support};
use numr_core::{DType, Error, Layout, Result, Tensor};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The runtime `R`, with the derivative along one direction beside every value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dual<R>(PhantomData<fn() -> R>);

/// The storage of a dual tensor: value and tangent.
#[derive(Clone, Debug)]
pub struct DualStorage<R: Runtime> {
    primal: Tensor<R>,
    /// `None` is zero.
    tangent: Option<Tensor<R>>,
    /// The operation at which a tangent was lost, in strict mode.
    lost: Option<&'static str>,
}

impl<R: Runtime> DualStorage<R> {
    /// The value; an upload's is flat.
    pub(crate) fn inner(&self) -> &Tensor<R> {
        &self.primal
    }
}

/// A dual tensor. A tangent has the shape and dtype of the value; `None` is zero.
///
/// # Errors
/// `Error::Grad` for a tangent of another shape or dtype, or of a dtype without derivatives.
pub fn dual<R: Runtime>(primal: &Tensor<R>, tangent: Option<&Tensor<R>>) -> Result<Tensor<Dual<R>>> {
    if let Some(t) = tangent {
        if t.shape() != primal.shape() || t.dtype() != primal.dtype() {
            let (have, want) = ((t.shape(), t.dtype()), (primal.shape(), primal.dtype()));
            return Err(Error::grad("jvp", format!("the tangent is {have:?}, the value {want:?}")));
        }
        if !inexact(t.dtype()) {
            return Err(Error::grad("jvp", format!("values of dtype {} have no tangent", t.dtype())));
        }
    }
    Ok(join(primal.clone(), tangent.cloned(), None))
}

/// The value of a dual tensor.
pub fn primal<R: Runtime>(x: &Tensor<Dual<R>>) -> Tensor<R> {
    let inner = &x.storage().primal;
    if inner.layout() == x.layout() {
        return inner.clone();
    }
    // An upload does not know its shape.
    Tensor::from_storage(inner.storage().clone(), x.layout().clone(), x.dtype(), x.device().clone())
}

/// The tangent of a dual tensor; `None` is zero.
pub fn tangent<R: Runtime>(x: &Tensor<Dual<R>>) -> Option<&Tensor<R>> {
    x.storage().tangent.as_ref()
}

/// The tangent of a result, zeros if it has none.
///
/// # Errors
/// In strict mode `Error::Grad` with the operation at which it was lost.
pub(crate) fn tangent_of<R: Runtime>(y: &Tensor<Dual<R>>) -> Result<Tensor<R>> {
    match (tangent(y), y.storage().lost) {
        (Some(t), _) => Ok(t.clone()),
        (None, Some(op)) if is_strict() => {
            Err(Error::grad(op, "the tangent is lost here: the operation has no derivative"))
        }
        (None, None) if is_strict() => Err(Error::grad("jvp", "the result does not depend on the inputs")),
        (None, _) => primal(y).zeros_like(),
    }
}

pub(crate) fn join<R: Runtime>(
    primal: Tensor<R>,
    tangent: Option<Tensor<R>>,
    lost: Option<&'static str>,
) -> Tensor<Dual<R>> {
    let (layout, dtype, device) = (primal.layout().clone(), primal.dtype(), primal.device().clone());
    Tensor::from_storage(DualStorage { primal, tangent, lost }, layout, dtype, device)
}

impl<R: Runtime> Runtime for Dual<R> {
    type Device = R::Device;
    type Storage = DualStorage<R>;
    type Client = Client<Dual<R>>;

    fn name() -> &'static str {
        R::name()
    }

    fn default_device() -> R::Device {
        R::default_device()
    }

    fn default_client(device: &R::Device) -> Self::Client {
        Client::new(device.clone())
    }

    fn supports(device: &R::Device, prim: &Prim, dtypes: &[DType]) -> Support {
        if let Prim::Fused(fused) = prim
            && !rules::fused::recordable(fused)
        {
            return Support::No { reason: "its tangent is that of the composite that defines it".into() };
        }
        R::supports(device, prim, dtypes)
    }

    fn run(device: &R::Device, prim: &Prim, inputs: &[&Tensor<Self>], outs: &[Meta]) -> Result<Outputs<Self>> {
        let primals: SmallVec<[Tensor<R>; 3]> = inputs.iter().map(|t| primal(t)).collect();
        let refs: SmallVec<[&Tensor<R>; 3]> = primals.iter().collect();
        let results = R::run(device, prim, &refs, outs)?;
        let ts: SmallVec<[Option<&Tensor<R>>; 3]> = inputs.iter().map(|t| tangent(t)).collect();
        let before = inputs.iter().find_map(|t| t.storage().lost);
        if !is_grad_enabled() || ts.iter().all(Option::is_none) {
            return Ok(results.into_iter().map(|y| join(y, None, before)).collect());
        }
        let tangents = rules::jvp(prim, &refs, &results, &ts)?;
        let with = |(y, t): (Tensor<R>, Option<Tensor<R>>)| {
            let t = t.filter(|_| inexact(y.dtype()));
            let lost = if t.is_none() && is_strict() { before.or(Some(prim.name())) } else { before };
            join(y, t, lost)
        };
        Ok(results.into_iter().zip(tangents.into_iter().chain(std::iter::repeat(None))).map(with).collect())
    }

    fn upload(device: &R::Device, dtype: DType, bytes: &[u8]) -> Result<DualStorage<R>> {
        let layout = Layout::contiguous([bytes.len() / dtype.size_in_bytes()]);
        let primal = Tensor::from_storage(R::upload(device, dtype, bytes)?, layout, dtype, device.clone());
        Ok(DualStorage { primal, tangent: None, lost: None })
    }

    fn download(tensor: &Tensor<Self>, bytes: &mut [u8]) -> Result<()> {
        R::download(&primal(tensor), bytes)
    }

    fn same_storage(a: &DualStorage<R>, b: &DualStorage<R>) -> bool {
        R::same_storage(a.primal.storage(), b.primal.storage())
    }

    fn detach(tensor: &Tensor<Self>) -> Tensor<Self> {
        join(R::detach(&primal(tensor)), None, None)
    }

    fn synchronize(device: &R::Device) -> Result<()> {
        R::synchronize(device)
    }
}
