//! Where the machine is touched. Today that is [`fs`]: one confined door to files.

pub mod fs;
pub mod spill;
