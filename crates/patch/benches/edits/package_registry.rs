//! Fetches npm and pip packages and unpacks them below the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that fetches a package.
#[derive(Clone, Copy)]
pub(crate) enum PackageClient {
    Npm,
    Pip,
}

/// Returns the directory of an unpacked package version; `None` if its program is missing or cannot fetch it.
pub(crate) fn unpack_version(manager: PackageClient, name: &str, version: &str) -> Option<PathBuf> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits").join(format!("{name}-{version}"));
    let done = scratch.join("done");
    if !done.exists() {
        fs::create_dir_all(scratch.join("files")).ok()?;
        fetch(manager, &scratch, name, version)?;
        fs::write(&done, "").ok()?;
    }
    Some(scratch.join("files"))
}

fn fetch(manager: PackageClient, scratch: &Path, name: &str, version: &str) -> Option<()> {
    let (asked, exact) = (format!("{name}@{version}"), format!("{name}=={version}"));
    match manager {
        PackageClient::Npm => run(scratch, &["npm", "pack", "--silent", "--ignore-scripts", &asked])?,
        // Fetching a wheel runs no code.
        PackageClient::Pip => {
            run(scratch, &["pip", "download", "-q", "--no-deps", "--only-binary=:all:", &exact])?;
        }
    }
    let archives = fs::read_dir(scratch).ok()?.flatten().map(|entry| entry.path());
    let is = |path: &PathBuf| path.extension().is_some_and(|end| end == "tgz" || end == "whl");
    let archive = archives.into_iter().find(is)?;
    let archive = archive.to_str()?;
    match manager {
        PackageClient::Npm => run(scratch, &["tar", "-xzf", archive, "-C", "files"]),
        PackageClient::Pip => run(scratch, &["python3", "-m", "zipfile", "-e", archive, "files"]),
    }
}

fn run(directory: &Path, program: &[&str]) -> Option<()> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(directory);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    status.success().then_some(())
}
