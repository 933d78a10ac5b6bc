//! Tests of walking below a directory.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use exec::fs::{FileKind, IgnoreFiles, WalkControl, WalkEntry, WalkOptions};
use parking_lot::Mutex;
use policy::ReadRoot;
use rustix::fs::{CWD, FileType, Mode};

use super::{FsTestTree, confined_fs, is_root, options, walk};

#[test]
fn one_thread_visits_in_order() {
    let ground = FsTestTree::new("b/z\nb/a/x\na\nb.txt\nc -> b\nA/\n.hidden");
    let (seen, walked) = walk(&ground.confined_fs(), &ground.root(), &options(1));
    assert_eq!(seen, [".hidden", "A", "a", "b", "b/a", "b/a/x", "b/z", "b.txt", "c"]);
    assert_eq!(walked, exec::fs::WalkSummary::default());
    let shallow = WalkOptions { max_depth: Some(1), ..options(1) };
    assert_eq!(
        walk(&ground.confined_fs(), &ground.root(), &shallow).0,
        [".hidden", "A", "a", "b", "b.txt", "c"]
    );
    assert_eq!(walk(&ground.confined_fs(), &ground.path("b"), &options(1)).0, ["a", "a/x", "z"]);
}

#[test]
fn git_is_shown_and_closed() {
    let ground = FsTestTree::new(".git/config\nsub/.git/config\na");
    for threads in [1, 3] {
        let (mut seen, _) = walk(&ground.confined_fs(), &ground.root(), &options(threads));
        seen.sort();
        assert_eq!(seen, [".git", "a", "sub", "sub/.git"]);
    }
    let all = WalkOptions { ignore: IgnoreFiles::Everything, ..options(1) };
    assert_eq!(walk(&ground.confined_fs(), &ground.root(), &all).0.len(), 6);
}

#[test]
fn links_are_shown_and_never_followed() {
    let ground = FsTestTree::new("dir/a\nin-link -> dir\nout-link -> OUT/dir\nloop -> .");
    for threads in [1, 3] {
        let (mut seen, _) = walk(&ground.confined_fs(), &ground.root(), &options(threads));
        seen.sort();
        assert_eq!(seen, ["dir", "dir/a", "in-link", "loop", "out-link"]);
    }
}

#[test]
fn an_entry_knows_what_it_is() {
    let ground = FsTestTree::new("dir/\nfile = four\nlink -> file\nout -> OUT/secret");
    rustix::fs::mknodat(CWD, ground.path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let seen = Mutex::new(Vec::new());
    let visitor = || {
        |entry: &WalkEntry<'_>| {
            let text = entry.open().map(|(file, _)| std::io::read_to_string(file).unwrap());
            let stat = entry.stat().unwrap();
            assert_eq!(stat.kind, entry.kind());
            let name = entry.path().to_string_lossy().into_owned();
            let target = entry.link_target().map(|at| at.file_name().unwrap().to_string_lossy().into_owned());
            seen.lock().push((name, entry.kind(), entry.depth(), text.ok(), target));
            WalkControl::Continue
        }
    };
    let start = ground.confined_fs().lookup(&ground.root()).unwrap();
    ground.confined_fs().walk(&start, &options(1), &|| false, visitor).unwrap();
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        seen.into_inner(),
        [
            ("dir".to_owned(), FileKind::Directory, 1, None, None),
            ("fifo".to_owned(), FileKind::Fifo, 1, None, None),
            ("file".to_owned(), FileKind::File, 1, name("four"), None),
            ("link".to_owned(), FileKind::Symlink, 1, None, name("file")),
            ("out".to_owned(), FileKind::Symlink, 1, None, name("secret")),
        ]
    );
}

#[test]
fn what_is_denied_is_hidden_and_counted() {
    let ground = FsTestTree::new(".env\na/.env\na/b\nsecrets/x\nsecrets/y\nlink -> secrets");
    let confined_fs = confined_fs(vec![ReadRoot::new(ground.root())], &["**/.env", "secrets/"]);
    for threads in [1, 3] {
        let (mut seen, walked) = walk(&confined_fs, &ground.root(), &options(threads));
        seen.sort();
        assert_eq!(seen, ["a", "a/b", "link"]);
        assert_eq!(walked.denied, 3);
    }
}

#[test]
fn a_flat_directory_is_visited_once_by_many() {
    let ground = FsTestTree::new("");
    for number in 0..10_000 {
        fs::write(ground.path(&format!("f{number}")), "").unwrap();
    }
    let (seen, walked) = walk(&ground.confined_fs(), &ground.root(), &options(4));
    assert_eq!(seen.len(), 10_000);
    assert_eq!(seen.into_iter().collect::<HashSet<_>>().len(), 10_000);
    assert_eq!(walked, exec::fs::WalkSummary::default());
}

#[test]
fn the_files_of_one_directory_are_shared() {
    let ground = FsTestTree::new("a\nb");
    // Each visit waits for the other: it ends only if two threads visit at once.
    let both = std::sync::Barrier::new(2);
    let visitor = || {
        |_: &WalkEntry<'_>| {
            both.wait();
            WalkControl::Continue
        }
    };
    let start = ground.confined_fs().lookup(&ground.root()).unwrap();
    // The second thread may come late; the first finishes its first entry only when the second is there.
    ground.confined_fs().walk(&start, &options(2), &|| false, visitor).unwrap();
}

#[test]
fn deep_trees_end() {
    let ground = FsTestTree::new(&format!("{}bottom", "d/".repeat(600)));
    for threads in [1, 3] {
        let (seen, walked) = walk(&ground.confined_fs(), &ground.root(), &options(threads));
        assert_eq!((seen.len(), walked.unreadable), (512, 1));
    }
}

#[test]
fn paths_over_path_max_are_walked() {
    let ground = FsTestTree::new("");
    let name = "n".repeat(200);
    let mut at = rustix::fs::open(ground.root(), rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..40 {
        rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &name, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    for threads in [1, 3] {
        let (seen, walked) = walk(&ground.confined_fs(), &ground.root(), &options(threads));
        assert_eq!((seen.len(), walked.unreadable), (40, 0));
    }
}

#[test]
fn stop_ends_the_walk() {
    let ground = FsTestTree::new("");
    for number in 0..500 {
        ground.plant(&format!("d{}/f{number}", number % 7));
    }
    for threads in [1, 4] {
        let start = ground.confined_fs().lookup(&ground.root()).unwrap();
        let visits = AtomicUsize::new(0);
        let visitor = || {
            |_: &WalkEntry<'_>| {
                if visits.fetch_add(1, Ordering::Relaxed) < 10 {
                    WalkControl::Continue
                } else {
                    WalkControl::Stop
                }
            }
        };
        let walked = ground.confined_fs().walk(&start, &options(threads), &|| false, visitor).unwrap();
        assert!(walked.stopped);
        assert!(visits.load(Ordering::Relaxed) <= 10 + threads, "{visits:?}");
        let visits = AtomicUsize::new(0);
        let count = || {
            |_: &WalkEntry<'_>| {
                visits.fetch_add(1, Ordering::Relaxed);
                WalkControl::Continue
            }
        };
        let walked = ground.confined_fs().walk(
            &start,
            &options(threads),
            &|| visits.load(Ordering::Relaxed) >= 100,
            count,
        );
        assert!(walked.unwrap().stopped);
        assert!(visits.load(Ordering::Relaxed) < 200, "{visits:?}");
    }
}

#[test]
fn skip_does_not_descend() {
    let ground = FsTestTree::new("a/x\nb/y");
    let seen = Mutex::new(Vec::new());
    let visitor = || {
        |entry: &WalkEntry<'_>| {
            seen.lock().push(entry.path().to_owned());
            if entry.path().ends_with("a") { WalkControl::Skip } else { WalkControl::Continue }
        }
    };
    let start = ground.confined_fs().lookup(&ground.root()).unwrap();
    ground.confined_fs().walk(&start, &options(1), &|| false, visitor).unwrap();
    assert_eq!(seen.into_inner(), ["a", "b", "b/y"].map(std::path::PathBuf::from));
}

#[test]
fn a_closed_directory_is_counted() {
    let ground = FsTestTree::new("closed/x\nopen/y");
    fs::set_permissions(ground.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let (seen, walked) = walk(&ground.confined_fs(), &ground.root(), &options(1));
    let expected = if is_root() { (4, 0) } else { (3, 1) };
    assert_eq!((seen.len(), walked.unreadable), expected);
    fs::set_permissions(ground.path("closed"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_panic_in_a_visitor_ends_the_walk() {
    let ground = FsTestTree::new("");
    for number in 0..100 {
        ground.plant(&format!("d{number}/f"));
    }
    let caller = std::thread::current().id();
    let visitor = || {
        |_: &WalkEntry<'_>| {
            assert_eq!(std::thread::current().id(), caller, "not here");
            std::thread::yield_now();
            WalkControl::Continue
        }
    };
    // Walks until a helper thread got an entry and panicked.
    for _ in 0..1000 {
        let start = ground.confined_fs().lookup(&ground.root()).unwrap();
        ground.confined_fs().walk(&start, &options(4), &|| false, visitor).unwrap();
    }
}
