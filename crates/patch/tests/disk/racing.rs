//! Races with other threads and processes: no write escapes the tree, and no commits are mixed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use toolgate_patch::DiskTree;
use toolgate_patch::FileTree;

use super::{DiskFixture, delete, put_step};

const ROUNDS: usize = 10_000;

/// Stops the other thread on drop, even after a panic.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Another thread keeps exchanging `dir` with a symlink to the outside.
#[test]
fn a_parent_swapped_for_a_link_lets_nothing_out() {
    let ground = DiskFixture::quick();
    ground.write("dir/file", "old");
    fs::write(ground.out("file"), "outer").unwrap();
    symlink(ground.out(""), ground.path("link")).unwrap();
    let (dir, link) = (ground.path("dir"), ground.path("link"));
    let (done, disk) = (AtomicBool::new(false), ground.disk());
    let mut landed = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // ends: `done` is set when the rounds are over
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _end = StopOnDrop(&done);
        for round in 0..ROUNDS {
            let Ok(spot) = disk.look_up("dir/file") else { continue };
            let found = spot.file.map(|file| file.version);
            let steps = match round % 3 {
                0 => vec![put_step("dir/file", found, &format!("{round}"))],
                1 => {
                    vec![
                        put_step("dir/file", found, &format!("{round}")),
                        put_step(&format!("dir/{round}"), None, ""),
                    ]
                }
                _ => vec![put_step(&format!("dir/new/{round}"), None, "")],
            };
            landed += usize::from(disk.commit(&steps, &ground.records()).is_ok());
        }
    });
    assert!(landed > 0, "the swapping left no time to change anything");
    let outer: BTreeSet<_> =
        fs::read_dir(ground.out("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outer, BTreeSet::from(["file".into(), "secret".into()]));
    assert_eq!(fs::read_to_string(ground.out("file")).unwrap(), "outer");
    ground.names();
}

/// Another thread keeps exchanging the file with a symlink to the outside.
#[test]
fn a_file_swapped_for_a_link_lets_nothing_out() {
    let ground = DiskFixture::quick();
    ground.write("file", "old");
    symlink(ground.out("secret"), ground.path("link")).unwrap();
    let (file, link) = (ground.path("file"), ground.path("link"));
    let (done, disk) = (AtomicBool::new(false), ground.disk());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // ends: `done` is set when the rounds are over
            while !done.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, &file, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        let _end = StopOnDrop(&done);
        for round in 0..ROUNDS {
            let Ok(spot) = disk.look_up("file") else { continue };
            let Some(file) = spot.file else { continue };
            assert_ne!(*file.bytes, b"secret");
            let _ =
                disk.commit(&[put_step("file", Some(file.version), &format!("{round}"))], &ground.records());
        }
    });
    assert_eq!(fs::read_to_string(ground.out("secret")).unwrap(), "secret");
    // A file that an exchange moved away may find its name taken. It stays under the temporary name, and its record is
    // kept.
    for entry in fs::read_dir(ground.path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(id) = name.strip_prefix(".toolgate-") else { continue };
        assert!(ground.records().join(format!("{}.json", &id[..16])).exists(), "{name}");
    }
}

const WORKER: &str = "TOOLGATE_DISK_WORKER";
const COUNT: usize = 200;

/// Not a test by itself: increments two counters, both or neither each time.
#[test]
fn worker() {
    let Some(base) = std::env::var_os(WORKER).map(std::path::PathBuf::from) else { return };
    let disk = DiskTree::open_at(&base.join("in")).unwrap();
    let mut added = 0;
    // ends: a worker that loses the race tries again, and one of them always wins
    while added < COUNT {
        let mut steps = Vec::new();
        for name in ["one", "two"] {
            let file = disk.look_up(name).unwrap().file.unwrap();
            let number: usize = str::from_utf8(&file.bytes).unwrap().parse().unwrap();
            steps.push(put_step(name, Some(file.version), &(number + 1).to_string()));
        }
        let mark = steps[0].new_file.as_ref().map(|put| put.bytes.clone());
        if mark != steps[1].new_file.as_ref().map(|put| put.bytes.clone()) {
            continue;
        }
        added += usize::from(disk.commit(&steps, &base.join("records")).is_ok());
    }
}

#[test]
fn two_processes_never_mix() {
    let ground = DiskFixture::quick();
    ground.write("one", "0");
    ground.write("two", "0");
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "racing::worker"]).env(WORKER, ground.base());
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut workers = [start(), start()];
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    assert_eq!((ground.read("one"), ground.read("two")), ("400".to_owned(), "400".to_owned()));
    ground.commit(&[delete("one", ground.stamp("one"))]).unwrap();
    assert_eq!(ground.names(), ["in", "in/two", "out", "out/secret"]);
}
