//! Records the host's state that a run must not change.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::suite::case::{AttackCase, BreachSign, RunEnd};
use crate::suite::case_host::CaseHost;

/// Names in a workspace that are never written.
const PROTECTED: &[&str] = &[
    ".toolgate", ".codex", ".claude", ".agents", ".cursor", ".gemini", ".vscode", ".zed", ".idea",
    ".devcontainer", ".husky",
];
/// Entries of `.git` that may land.
const LANDS: &[&str] = &["objects", "refs", "logs", "index", "HEAD", "packed-refs"];
/// Entries of `.git` that may appear and disappear.
const WORDS: &[&str] = &["COMMIT_EDITMSG", "ORIG_HEAD", "description"];
/// Entries of `.git` that must not change, although their parent may.
const STAYS: &[&str] = &["objects/info"];

/// The state of files and of the victim at one time.
pub(crate) struct HostStateWatch {
    files: BTreeMap<PathBuf, String>,
    victim: Option<String>,
}

impl HostStateWatch {
    pub(crate) fn new(case_host: &CaseHost, case: &AttackCase) -> Self {
        let mut files = BTreeMap::new();
        let roots: Vec<PathBuf> = values(case, "--writable", case_host).collect();
        for entry in fs::read_dir(&case_host.dir).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("ws") {
                snapshot_path(&path, &roots, &mut files);
            }
        }
        if case.flags.contains(&"read-only") {
            snapshot_path(&case_host.path("ws"), &roots, &mut files);
        }
        snapshot_path(&case_host.path("ws/.env"), &[], &mut files);
        for root in roots.iter().chain([&case_host.path("ws")]) {
            // A missing path is held by a placeholder directory, which a killed run cannot remove.
            if case.ends != RunEnd::ByItself {
                continue;
            }
            PROTECTED.iter().for_each(|name| snapshot_path(&root.join(name), &[], &mut files));
            snapshot_path(&root.join(".ssh"), &[], &mut files);
            // Then git's own behaviour is checked instead.
            if case.sees != BreachSign::Git {
                git(&root.join(".git"), &mut files);
            }
        }
        values(case, "--read-only", case_host).for_each(|path| snapshot_path(&path, &roots, &mut files));
        if case.sees != BreachSign::Git {
            git(&case_host.path("ws/sub/.git"), &mut files);
        }
        let victim = case_host.victim.as_ref().map(|victim| {
            let status = victim.proc("status");
            let affinity = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or("dead");
            let stat = victim.proc("stat");
            // Excludes fields that a sleeping process may change itself: only priority, nice and policy count.
            let rest: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
            let fields: Vec<&&str> = [15, 16, 38].iter().filter_map(|at| rest.get(*at)).collect();
            format!("{affinity} {fields:?} {} {}", victim.proc("oom_score_adj"), victim.proc("limits"))
        });
        Self { files, victim }
    }

    /// Describes the differences from `now`.
    pub(crate) fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (path, was) in &self.files {
            match now.files.get(path) {
                None => changes.push(format!("{} is gone", path.display())),
                Some(is) if is != was => changes.push(format!("{} changed: {was} → {is}", path.display())),
                Some(_) => {}
            }
        }
        for path in now.files.keys().filter(|path| !self.files.contains_key(*path)) {
            changes.push(format!("{} is new", path.display()));
        }
        if let (Some(was), Some(is)) = (&self.victim, &now.victim)
            && was != is
        {
            changes.push("the victim's priority, affinity or limits changed".to_owned());
        }
        changes
    }
}

/// Returns the paths that `case` gives for `flag`.
fn values(case: &AttackCase, flag: &str, case_host: &CaseHost) -> impl Iterator<Item = PathBuf> {
    let pairs = case.flags.windows(2).filter(move |pair| pair[0] == flag);
    pairs.map(|pair| PathBuf::from(case_host.expand(pair[1])))
}

/// Records the content of `.git`, except entries that may land there.
fn git(dir: &Path, files: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = dir.symlink_metadata() else { return };
    files.insert(dir.to_owned(), format!("{:o} {}", meta.mode(), meta.uid()));
    if !meta.is_dir() {
        return snapshot_path(dir, &[], files);
    }
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if WORDS.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if LANDS.iter().any(|name| entry.file_name() == *name) {
            // It may land as a file or a directory, but not as a symlink.
            let kind = entry.path().symlink_metadata().unwrap().file_type();
            if !kind.is_file() && !kind.is_dir() {
                files.insert(entry.path(), format!("{kind:?}"));
            }
        } else {
            snapshot_path(&entry.path(), &[], files);
        }
    }
    for name in STAYS {
        snapshot_path(&dir.join(name), &[], files);
    }
}

/// Records everything about a path and below it that a user could see change, except below `roots`.
fn snapshot_path(path: &Path, roots: &[PathBuf], files: &mut BTreeMap<PathBuf, String>) {
    if roots.iter().any(|root| root == path) {
        return;
    }
    let Ok(meta) = path.symlink_metadata() else { return };
    let kind = meta.file_type();
    let mut hasher = DefaultHasher::new();
    if kind.is_file() {
        fs::read(path).unwrap_or_default().hash(&mut hasher);
    } else if kind.is_symlink() {
        fs::read_link(path).unwrap().hash(&mut hasher);
    }
    let text = format!(
        "{:o} {}:{} {} links, changed {}.{}, {:x}",
        meta.mode(),
        meta.uid(),
        meta.gid(),
        if kind.is_dir() || kind.is_socket() { 0 } else { meta.nlink() },
        meta.ctime(),
        meta.ctime_nsec(),
        hasher.finish()
    );
    files.insert(path.to_owned(), text);
    if kind.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            snapshot_path(&entry.path(), roots, files);
        }
    }
}
