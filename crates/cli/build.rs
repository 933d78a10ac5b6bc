//! Records the commit and the target of a build, for `toolgate --version`.
#![expect(clippy::disallowed_methods, reason = "asks git for the commit at build time")]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TOOLGATE_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let given = std::env::var("TOOLGATE_COMMIT").ok().filter(|commit| !commit.is_empty());
    // A development build would otherwise be linked again after every commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| is_release.then(git_commit).flatten());
    let profile = if is_release { "release" } else { "development" };
    println!("cargo:rustc-env=TOOLGATE_COMMIT={}", commit.unwrap_or_else(|| "not recorded".to_owned()));
    println!("cargo:rustc-env=TOOLGATE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo:rustc-env=TOOLGATE_PROFILE={profile}");
}

/// Returns the commit of this checkout, marked if files differ from it. A source archive has none.
fn git_commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // The commit is that of this workspace, not of a repository around it.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    if Path::new(&top) != workspace {
        return None;
    }
    for path in ["HEAD", "logs/HEAD", "index"] {
        let file = git(&["rev-parse", "--git-path", path])?;
        if Path::new(&file).exists() {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|text| !text.is_empty());
    Some(if is_changed { format!("{commit}, with changes") } else { commit })
}
