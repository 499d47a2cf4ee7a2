//! A file mapped into memory.

use std::fs::File;

use memmap2::Mmap;

/// Maps a file that is open for reading.
///
/// The bytes are those of the file, whatever becomes of it: they are only ever copied, never kept as a reference that
/// code relies on, and nothing is derived from them twice. What no program can rule out is that another cuts the file
/// short while it is mapped; then the system ends the one that reads there. `SafeTensors` tells its user.
pub(super) fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is private to `SafeTensors`, which reads the header into structures of its own, once, and copies
    // the bytes of a tensor to the device; bytes that change meanwhile give other numbers, for any bytes are numbers
    // (bools are checked, in the copy).
    unsafe { Mmap::map(file) }
}
