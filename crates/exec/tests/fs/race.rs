//! Races: another thread swaps a directory for a link to an outer one during lookups and walks.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use exec::fs::{IgnoreFiles, WalkControl, WalkEntry, WalkOptions};
use parking_lot::Mutex;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::FsTestTree;

/// Swaps `in/a/dir` (inside) with a link to `out/dir` as fast as it can while `during` runs.
fn while_swapping(ground: &FsTestTree, during: impl FnOnce()) {
    let (dir, link) = (ground.path("a/dir"), ground.path("a/link"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Stops the swapping thread even if `during` panics.
        struct StopSwapOnDrop<'a>(&'a AtomicBool);
        impl Drop for StopSwapOnDrop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _end = StopSwapOnDrop(&done);
        during();
    });
}

fn ground() -> FsTestTree {
    let ground = FsTestTree::new("a/dir/secret = harmless\na/dir/deep/inside = harmless");
    symlink(ground.outside().join("dir"), ground.path("a/link")).unwrap();
    std::fs::write(ground.outside().join("dir/outer-name"), "secret").unwrap();
    ground
}

#[test]
fn looking_never_reads_what_is_outside() {
    let ground = ground();
    let confined_fs = ground.confined_fs();
    let mut read = 0;
    while_swapping(&ground, || {
        for _ in 0..20_000 {
            let Ok(file) = confined_fs.lookup(&ground.path("a/dir/secret")).and_then(|found| found.open())
            else {
                continue;
            };
            let mut text = String::new();
            { file }.read_to_string(&mut text).unwrap();
            assert_eq!(text, "harmless");
            read += 1;
        }
    });
    assert!(read > 0, "the swapping left no time to read anything");
}

#[test]
fn walking_never_lists_or_reads_what_is_outside() {
    let ground = ground();
    let confined_fs = ground.confined_fs();
    let read = AtomicUsize::new(0);
    let names = Mutex::new(std::collections::BTreeSet::new());
    while_swapping(&ground, || {
        for round in 0..20_000 {
            let visitor = || {
                |entry: &WalkEntry<'_>| {
                    names.lock().insert(entry.path().to_owned());
                    if let Ok((mut file, _)) = entry.open() {
                        let mut text = String::new();
                        file.read_to_string(&mut text).unwrap();
                        assert_eq!(text, "harmless");
                        read.fetch_add(1, Ordering::Relaxed);
                    }
                    WalkControl::Continue
                }
            };
            let threads = 1 + usize::from(round % 20 == 0);
            let options = WalkOptions { ignore: IgnoreFiles::Respect, max_depth: None, threads };
            let start = confined_fs.lookup(&ground.root()).unwrap();
            confined_fs.walk(&start, &options, &|| false, visitor).unwrap();
        }
    });
    assert!(read.into_inner() > 0, "the swapping left no time to read anything");
    let names = names.into_inner();
    assert!(!names.iter().any(|path| path.ends_with("outer-name")), "{names:?}");
}
