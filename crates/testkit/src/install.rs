//! Installs third-party programs for tests once, below the target directory.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the directory `name` of the target directory, made by `make`. It is reused until `what` changes.
///
/// The directory is built under a temporary name and then renamed, so it exists completely or not at all. Concurrent
/// tests wait for the lock, which is released when its process ends.
pub(crate) fn install_once(name: &str, what: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    let target = install_dir();
    let made = target.join(format!("{name}-{:016x}", hasher.finish()));
    if made.exists() {
        return made;
    }
    fs::create_dir_all(&target).expect("the target folder can be made");
    let _lock = lock_file(&target.join(format!("{name}.lock")));
    if made.exists() {
        return made;
    }
    let making = target.join(format!("{name}-making"));
    if making.exists() {
        fs::remove_dir_all(&making).expect("what was left half made can be removed");
    }
    make(&making);
    fs::rename(&making, &made).expect("what was just made can be renamed");
    made
}

#[expect(clippy::disallowed_methods, reason = "tests touch the checkout")]
fn lock_file(path: &Path) -> File {
    let file = File::create(path).expect("a file can be made in the target folder");
    file.lock().expect("a file in the target folder can be locked");
    file
}

/// Returns the installation directory: the target directory, unless a sandbox hides it from confined servers.
#[expect(clippy::disallowed_methods, reason = "tests touch the checkout")]
fn install_dir() -> PathBuf {
    let target = target_dir();
    let real = fs::canonicalize(&target).unwrap_or_else(|_| target.clone());
    if crate::is_hidden_by_sandbox(&real) { crate::visible_base_dir() } else { target }
}

/// Returns the target directory.
pub(crate) fn target_dir() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from);
    std::path::absolute(target).expect("the target folder has a name")
}

/// Runs `command` and waits for it.
///
/// # Panics
/// If the command fails; the message contains `needed` and the standard error.
pub(crate) fn run_or_panic(needed: &str, command: &mut Command) {
    let shown = format!("{command:?}");
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            panic!("{needed}\n{shown}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))
        }
        Err(error) => panic!("{needed}\n{shown}: {error}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start real programs")]
pub(crate) fn new_command(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}
