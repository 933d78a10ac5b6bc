//! Files that only this user may read or write: private directories, atomic replacement and locks.

mod atomic_file;
mod file_lock;
mod open_dir;
mod private_dir;
mod write_probe;

pub use atomic_file::{AtomicFile, replace_file};
pub use file_lock::{LockOwner, is_locked, try_lock, unlock};
pub use open_dir::{PrivateDir, open_for_reading};
pub use private_dir::{create_private_dir, ensure_private_dir, is_private_dir};
pub use write_probe::probe_write;
