//! The jobs in this workspace's numr.

use anyhow::Result;

use crate::Bench;

pub fn run(_bench: &Bench) -> Result<()> {
    Ok(())
}
