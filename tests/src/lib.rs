//! Everything that runs on a device, as one unpublished crate.
