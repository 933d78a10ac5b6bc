//! Foreign programs that tests use, installed once below the target folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder `name` of the target folder that `make` made of `what`. It is kept until `what` changes.
///
/// It is made aside and then renamed, so that it is there whole or not at all; whoever comes second waits. The lock ends
/// with the process that holds it.
pub(crate) fn once(name: &str, what: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    let target = kept();
    let made = target.join(format!("{name}-{:016x}", hasher.finish()));
    if made.exists() {
        return made;
    }
    fs::create_dir_all(&target).expect("the target folder can be made");
    let _lock = locked(&target.join(format!("{name}.lock")));
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
fn locked(path: &Path) -> File {
    let file = File::create(path).expect("a file can be made in the target folder");
    file.lock().expect("a file in the target folder can be locked");
    file
}

/// Where what is installed is kept: in the target folder, unless confined servers would not see it there.
#[expect(clippy::disallowed_methods, reason = "tests touch the checkout")]
fn kept() -> PathBuf {
    let target = target();
    let real = fs::canonicalize(&target).unwrap_or_else(|_| target.clone());
    if crate::is_replaced(&real) { crate::seen_place() } else { target }
}

/// The target folder.
pub(crate) fn target() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from);
    std::path::absolute(target).expect("the target folder has a name")
}

/// Runs `command` to its end.
///
/// # Panics
/// If it does not end well: with `needed`, and with what it said.
pub(crate) fn must(needed: &str, command: &mut Command) {
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
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}
