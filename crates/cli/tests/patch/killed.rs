//! Tests of a patch that is killed half-way: the next one repairs it and reports that.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::PatchFixture;

const FILES: usize = 300;

fn patch() -> String {
    let update = |at: usize| format!("*** Update File: d/f{at}.txt\n-old\n+new\n");
    format!("*** Begin Patch\n{}*** End Patch\n", (0..FILES).map(update).collect::<String>())
}

/// Returns the number of new files, and of all files.
fn count(shell: &PatchFixture) -> (usize, usize) {
    let files = fs::read_dir(shell.w.path().join("d")).unwrap();
    let files: Vec<_> = files.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    (files.iter().filter(|text| *text == "new\n").count(), files.len())
}

/// Starts the patch, and kills it after it has recorded its plan; reports whether that was in time.
fn killed(shell: &PatchFixture) -> bool {
    let records = shell.home.path().join(".local/state/toolgate/edits");
    let noted = || {
        let names = fs::read_dir(&records).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".json"))
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["patch", "all.patch"])
        .current_dir(shell.w.path())
        .env_clear()
        .env("HOME", shell.home.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !noted() && child.try_wait().unwrap().is_none() && Instant::now() < until {}
    child.kill().unwrap();
    child.wait().unwrap();
    noted()
}

#[test]
fn the_next_patch_mends_what_was_stopped() {
    for _ in 0..20 {
        let shell = PatchFixture::new();
        for at in 0..FILES {
            shell.w.write_file(format!("d/f{at}.txt"), "old\n");
        }
        shell.w.write_file("all.patch", patch());
        if !killed(&shell) {
            continue;
        }
        let ran = shell.fed(&[], super::CHANGE);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "M a.txt\n"), "{}", ran.err);
        let (new, all) = count(&shell);
        assert!((new == 0 || new == FILES) && all == FILES, "{new} of {all} are new");
        let done = if new == 0 { "rolled back" } else { "completed" };
        assert!(ran.err.starts_with(&format!("hint: an interrupted edit was {done}: ")), "{}", ran.err);
        // Only once: nothing is left to repair.
        assert_eq!(shell.fed(&[], super::CHANGE).err, "");
        return;
    }
    panic!("it was never killed in time");
}
