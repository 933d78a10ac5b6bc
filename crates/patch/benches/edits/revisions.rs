//! Loads real file changes: from successive package versions (cargo, npm, pip) or from commits of repositories.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use similar::DiffOp;

use crate::git_commits;
use crate::package_registry::{self, PackageClient};

/// The maximum number of lines of a file.
const MOST_LINES: usize = 5_000;
/// The maximum length of a line. Files with longer lines are generated.
const LONGEST_LINE: usize = 400;

/// The crates whose successive versions are compared.
const CRATES: &[(&str, &[&str])] = &[
    ("anyhow", &["1.0.60", "1.0.72", "1.0.86", "1.0.98", "1.0.103"]),
    ("clap_builder", &["4.1.14", "4.3.24", "4.4.18", "4.5.20", "4.5.60", "4.6.7"]),
    ("crossterm", &["0.17.7", "0.20.0", "0.25.0", "0.27.0", "0.29.0"]),
    ("hyper", &["0.14.20", "0.14.32", "1.0.1", "1.4.1", "1.8.1"]),
    ("itertools", &["0.10.5", "0.11.0", "0.12.1", "0.13.0", "0.14.0"]),
    ("rand", &["0.7.3", "0.8.5", "0.9.0", "0.9.2", "0.10.0"]),
    ("regex", &["1.6.0", "1.7.3", "1.9.6", "1.11.1", "1.12.3"]),
    ("regex-automata", &["0.3.9", "0.4.3", "0.4.9", "0.4.14"]),
    ("ripgrep", &["12.1.1", "13.0.0", "14.1.1", "15.1.0"]),
    ("serde", &["1.0.185", "1.0.200", "1.0.219", "1.0.228"]),
    ("serde_json", &["1.0.85", "1.0.110", "1.0.128", "1.0.150"]),
    ("syn", &["2.0.20", "2.0.60", "2.0.85", "2.0.117"]),
    ("tokio", &["1.20.0", "1.29.1", "1.38.2", "1.44.2", "1.50.0"]),
    ("toml_edit", &["0.20.7", "0.22.9", "0.22.24", "0.23.6"]),
    ("libgit2-sys", &["0.12.26+1.3.0", "0.14.2+1.5.1", "0.16.2+1.7.2", "0.17.0+1.8.1", "0.18.3+1.9.2"]),
    ("libz-sys", &["1.0.27", "1.1.8", "1.1.15", "1.1.20", "1.1.23"]),
    ("zstd-sys", &["1.4.18+zstd.1.4.7", "1.6.1+zstd.1.5.0", "2.0.7+zstd.1.5.4", "2.0.16+zstd.1.5.7"]),
    ("ring", &["0.16.15", "0.16.20", "0.17.3", "0.17.8", "0.17.14"]),
];

/// Packages in other languages: JavaScript, TypeScript, Python, Markdown, YAML.
const FOREIGN: &[(PackageClient, &str, &[&str])] = &[
    (PackageClient::Npm, "express", &["4.16.4", "4.17.3", "4.18.2", "4.19.2", "4.21.2"]),
    (PackageClient::Npm, "commander", &["7.2.0", "9.5.0", "11.1.0", "12.1.0"]),
    (PackageClient::Npm, "zod", &["3.20.6", "3.21.4", "3.22.5", "3.23.8"]),
    (PackageClient::Npm, "socket.io", &["4.5.4", "4.6.2", "4.7.5", "4.8.1"]),
    (PackageClient::Pip, "flask", &["2.0.3", "2.2.5", "2.3.3", "3.0.3", "3.1.0"]),
    (PackageClient::Pip, "requests", &["2.22.0", "2.25.1", "2.28.2", "2.31.0", "2.32.3"]),
    (PackageClient::Pip, "click", &["7.1.2", "8.0.4", "8.1.7", "8.1.8"]),
    (PackageClient::Pip, "rich", &["10.16.2", "12.6.0", "13.5.3", "13.9.4"]),
];

/// A file in two successive versions.
pub(crate) struct FileRevision {
    /// The crate and version, and the path in it.
    pub(crate) path: String,
    pub(crate) old: String,
    pub(crate) new: String,
    /// Its hunks, computed on first use.
    pub(crate) groups: OnceLock<Vec<Vec<DiffOp>>>,
}

/// Returns every file that differs between two successive versions, for each of the `repositories`, or else for each
/// package. Also returns the names of missing sources.
pub(crate) fn load_revisions(repositories: &[PathBuf]) -> (Vec<Vec<FileRevision>>, Vec<String>) {
    let (mut revisions, mut missing) =
        if repositories.is_empty() { packages() } else { commits(repositories) };
    // Licences change in the same way everywhere.
    let mut seen = HashSet::new();
    for history in &mut revisions {
        history.retain(|revision| seen.insert((revision.old.clone(), revision.new.clone())));
    }
    missing.sort();
    revisions.retain(|history| !history.is_empty());
    (revisions, missing)
}

/// Loads the histories of packages.
fn packages() -> (Vec<Vec<FileRevision>>, Vec<String>) {
    let (mut revisions, mut missing) = (Vec::new(), Vec::new());
    let half = CRATES.len().div_ceil(2);
    thread::scope(|scope| {
        let halves: Vec<_> = CRATES
            .chunks(half)
            .map(|crates| scope.spawn(move || crates.iter().map(history).collect()))
            .collect();
        for part in halves {
            let part: Vec<(Vec<FileRevision>, Vec<String>)> = part.join().expect("no thread panics");
            for (more, lacking) in part {
                revisions.push(more);
                missing.extend(lacking);
            }
        }
    });
    for (manager, name, versions) in FOREIGN {
        let places = versions
            .iter()
            .map(|version| (*version, package_registry::unpack_version(*manager, name, version)));
        let (more, lacking) = compared(name, places);
        revisions.push(more);
        missing.extend(lacking);
    }
    (revisions, missing)
}

/// Loads the histories of git repositories.
fn commits(repositories: &[PathBuf]) -> (Vec<Vec<FileRevision>>, Vec<String>) {
    let (mut revisions, mut missing) = (Vec::new(), Vec::new());
    for repository in repositories {
        let pairs = git_commits::changed_files(repository);
        if pairs.is_empty() {
            missing.push(repository.display().to_string());
        }
        let usual = pairs.into_iter().filter(|(_, old, new)| is_usual(old) && is_usual(new));
        let revision = |(path, old, new)| FileRevision { path, old, new, groups: OnceLock::new() };
        revisions.push(usual.map(revision).collect());
    }
    (revisions, missing)
}

fn history((name, versions): &(&str, &[&str])) -> (Vec<FileRevision>, Vec<String>) {
    compared(name, versions.iter().map(|version| (*version, source(name, version))))
}

/// Compares each available version of `name` with the next. Also returns the missing versions.
fn compared<'v>(
    name: &str,
    versions: impl Iterator<Item = (&'v str, Option<PathBuf>)>,
) -> (Vec<FileRevision>, Vec<String>) {
    let (mut sources, mut missing) = (Vec::new(), Vec::new());
    for (version, place) in versions {
        match place {
            Some(at) => sources.push((version, at)),
            None => missing.push(format!("{name} {version}")),
        }
    }
    let mut revisions = Vec::new();
    for pair in sources.windows(2) {
        let [(version, old), (_, new)] = pair else { continue };
        for path in files(old) {
            let (Some(before), Some(after)) = (text(&old.join(&path)), text(&new.join(&path))) else {
                continue;
            };
            if before != after {
                let path = format!("{name}-{version}/{}", path.display());
                revisions.push(FileRevision { path, old: before, new: after, groups: OnceLock::new() });
            }
        }
    }
    (revisions, missing)
}

/// Returns the source directory of a crate, after cargo has fetched it.
fn source(name: &str, version: &str) -> Option<PathBuf> {
    unpacked(name, version).or_else(|| {
        fetch(name, version)?;
        unpacked(name, version)
    })
}

fn unpacked(name: &str, version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?;
    let mut places = registries.flatten().map(|entry| entry.path().join(format!("{name}-{version}")));
    // Cargo writes this file last.
    places.find(|place| place.join(".cargo-ok").exists())
}

/// Lets cargo fetch one version, as the dependency of a scratch package.
fn fetch(name: &str, version: &str) -> Option<()> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits").join(format!("{name}-{version}"));
    fs::create_dir_all(scratch.join("src")).ok()?;
    fs::write(scratch.join("src/lib.rs"), "").ok()?;
    let exact = version.split('+').next()?;
    let manifest = format!(
        "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n{name} = {{ version = \"={exact}\", default-features = false }}\n"
    );
    fs::write(scratch.join("Cargo.toml"), manifest).ok()?;
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.args(["fetch", "--quiet", "--target", "x86_64-unknown-linux-gnu"]).current_dir(scratch);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    status.success().then_some(())
}

/// Returns the files below `root`, sorted.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    // ends: a registry's source has no links, so each directory comes once
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(inside) = path.strip_prefix(root) {
                files.push(inside.to_owned());
            }
        }
    }
    files.retain(|path| !path.starts_with(".cargo_vcs_info.json") && !path.ends_with("Cargo.lock"));
    files.sort();
    files
}

/// Reads a file, if it is a typical hand-written text.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(fs::read(path).ok()?).ok().filter(|text| is_usual(text))
}

/// Returns true for a typical hand-written text: not too long, and with one kind of line ends.
fn is_usual(text: &str) -> bool {
    let windows = text.matches("\r\n").count();
    let lines = text.matches('\n').count();
    let usual = !text.contains('\0') && (windows == 0 && !text.contains('\r') || windows == lines);
    let modest = lines <= MOST_LINES && text.lines().all(|line| line.len() <= LONGEST_LINE);
    usual && modest && !text.is_empty()
}
