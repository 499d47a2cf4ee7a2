//! The devices that tests run on.

use crate::require::skip;
use numr::Device;

/// The CPU, and a device of each GPU backend that is there: an absent one is a printed skip, or a failure where
/// `NUMR_REQUIRE` names it. `NUMR_DEVICES` (a list like `cuda:1,cpu`) names others.
///
/// # Panics
/// If a named or required device is not there.
pub fn devices() -> Vec<Device> {
    if let Ok(names) = std::env::var("NUMR_DEVICES") {
        let open = |name: &str| Device::parse(name.trim()).unwrap_or_else(|e| panic!("NUMR_DEVICES: {e}"));
        return names.split(',').map(open).collect();
    }
    let open = |name: &&str| match Device::parse(name) {
        Ok(device) => Some(device),
        Err(error) => {
            skip(name, &error.to_string());
            None
        }
    };
    ["cpu", "cuda", "wgpu"].iter().filter_map(open).collect()
}
