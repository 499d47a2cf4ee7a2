//! Devices: where tensors live.

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// A device of a runtime. Cheap to clone; equal if and only if tensors on it can meet.
pub trait Device: Clone + PartialEq + Eq + Hash + Debug + Display + Send + Sync + 'static {
    /// The number of the device among those of its runtime.
    fn id(&self) -> usize;
    /// A name for people, e.g. the processor's.
    fn name(&self) -> String;
    /// Is it the same device?
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}
