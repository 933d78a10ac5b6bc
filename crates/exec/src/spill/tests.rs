//! Tests of the spill: kept files, their permissions, and the limits.
#![expect(clippy::disallowed_methods, reason = "tests look at real files")]

use std::os::unix::fs::PermissionsExt;

use super::*;

fn spill(base: &Path) -> Spill {
    // The disk that tests run on may be small.
    let limits = SpillLimits { min_free_bytes: 0, ..LIMITS };
    Spill { limits, ..Spill::new(base.to_owned(), Path::new("/work")) }
}

fn limited(base: &Path, limits: SpillLimits) -> Spill {
    Spill { limits, ..spill(base) }
}

const SMALL: SpillLimits = SpillLimits {
    max_file_bytes: 100,
    max_total_bytes: 250,
    max_files: 10,
    min_free_bytes: 0,
    step_bytes: 10,
};

#[test]
fn texts_are_kept_apart_and_for_their_owner() {
    let dir = tempfile::tempdir().unwrap();
    let spill = spill(&dir.path().join("a/b"));
    assert!(!dir.path().join("a").exists());
    let one = spill.keep("call/../1", b"one").unwrap();
    let two = spill.keep("call/../1", b"two").unwrap();
    assert_ne!(one, two);
    assert_eq!(one.parent(), Some(&*spill.directory()));
    assert_eq!(std::fs::read(&two).unwrap(), b"two");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&one), mode(&spill.directory())), (0o600, 0o700));
    let other = Spill::new(dir.path().join("a/b"), Path::new("/other"));
    assert_ne!(other.directory(), spill.directory());
}

#[test]
fn a_text_is_kept_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let files = |spill: &Spill| std::fs::read_dir(spill.directory()).map_or(0, Iterator::count);
    for (limits, length, kept) in [
        (SMALL, 100, true),
        (SMALL, 101, false),
        (SMALL, 0, false),
        (SpillLimits { max_total_bytes: 40, ..SMALL }, 41, false),
        (SpillLimits { min_free_bytes: u64::MAX, ..SMALL }, 1, false),
    ] {
        let spill = limited(&dir.path().join(format!("{length}-{kept}")), limits);
        assert_eq!(spill.keep("x", &vec![b'x'; length]).is_ok(), kept, "{length} of {limits:?}");
        assert_eq!(files(&spill), usize::from(kept), "{length} of {limits:?}");
    }
}

#[test]
fn oldest_files_are_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let spill = spill(dir.path());
    for (workspace, name) in [("w1", "000000000000001-x-0.txt"), ("w2", "000000000000002-x-0.txt")] {
        std::fs::create_dir(dir.path().join(workspace)).unwrap();
        let file = File::create(dir.path().join(workspace).join(name)).unwrap();
        file.set_len(LIMITS.max_total_bytes / 2).unwrap();
    }
    let kept = spill.keep("x", b"text").unwrap();
    let left = |path: &str| dir.path().join(path).exists();
    assert!(kept.exists() && left("w2/000000000000002-x-0.txt"));
    assert!(!left("w1/000000000000001-x-0.txt"));
}

#[test]
fn there_are_never_too_many_files() {
    let dir = tempfile::tempdir().unwrap();
    let spill = limited(dir.path(), SMALL);
    let paths: Vec<PathBuf> = (0..30).map(|_| spill.keep("x", b"x").unwrap()).collect();
    let left = paths.iter().filter(|path| path.exists()).count();
    assert_eq!((left, paths[29].exists()), (SMALL.max_files, true));
}

#[test]
fn a_file_is_written_piece_by_piece_up_to_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = limited(dir.path(), SMALL).begin("x").unwrap();
    for piece in [&[b'a'; 33][..], &[b'b'; 33], b""] {
        file.append(piece);
    }
    assert_eq!((file.bytes_kept(), file.fault()), (66, None));
    file.append(&[b'c'; 1000]);
    file.append(b"d");
    assert_eq!((file.bytes_kept(), file.fault()), (100, Some("no more is kept of one output")));
    let expected = [&[b'a'; 33][..], &[b'b'; 33], &[b'c'; 34]].concat();
    assert_eq!(std::fs::read(file.path()).unwrap(), expected);
}

#[test]
fn a_file_without_text_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let file = spill(dir.path()).begin("x").unwrap();
    let path = file.path().to_owned();
    assert!(path.exists());
    drop(file);
    assert!(!path.exists());
}

#[test]
fn open_files_are_not_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let spill = limited(dir.path(), SMALL);
    let mut open: Vec<SpillFile> = (0..3).map(|_| spill.begin("x").unwrap()).collect();
    for file in &mut open {
        file.append(&[b'x'; 80]);
    }
    let fault = "outputs that are being written take all the room there is";
    open[2].append(&[b'x'; 11]);
    assert_eq!((open[2].bytes_kept(), open[2].fault()), (90, Some(fault)));
    assert!(open.iter().all(|file| file.path().exists()));
    let closed = open.remove(0).path().to_owned();
    let mut file = spill.begin("y").unwrap();
    file.append(&[b'y'; 50]);
    assert_eq!((file.bytes_kept(), file.fault(), closed.exists()), (50, None, false));
}

#[test]
fn a_full_disk_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut file =
        limited(dir.path(), SpillLimits { min_free_bytes: u64::MAX / 2, ..SMALL }).begin("x").unwrap();
    file.append(b"x");
    assert_eq!((file.bytes_kept(), file.fault()), (0, Some("the disk is nearly full")));
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let mut file = limited(dir.path(), SMALL).begin("x").unwrap();
    file.file = full;
    file.append(b"x");
    assert_eq!((file.bytes_kept(), file.fault()), (0, Some("the disk is full")));
}
