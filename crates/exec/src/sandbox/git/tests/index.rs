//! Tests of the check of `.git/index` before changes of the sandbox are applied to the repository.

use proptest::prelude::*;

use super::support::GitOverlayLab;
use crate::sandbox::git::index::{HostIndexPaths, check_index};
use crate::sandbox::git::index_paths::is_safe_tree_path;
use crate::sandbox::git::object_format::ObjectFormat;

/// Builds an index of version 2 with these modes, flags and paths.
fn index(format: ObjectFormat, entries: &[(u32, u16, &[u8])]) -> Vec<u8> {
    let mut index = b"DIRC\0\0\0\x02".to_vec();
    index.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    for (mode, flags, path) in entries {
        let start = index.len();
        index.extend([0; 24]);
        index.extend(mode.to_be_bytes());
        index.extend(vec![0; 12 + format.id_length()]);
        index.extend((flags | u16::try_from(path.len().min(0xfff)).unwrap()).to_be_bytes());
        index.extend(*path);
        let end = start + (index.len() - start) / 8 * 8 + 8;
        index.resize(end, 0);
    }
    sealed(index, format)
}

fn sealed(mut index: Vec<u8>, format: ObjectFormat) -> Vec<u8> {
    let sum = format.hash_bytes(&index);
    index.extend(sum);
    index
}

fn fits(index: &[u8], format: ObjectFormat) -> bool {
    check_index(index.to_vec(), format, &HostIndexPaths::default()).is_some()
}

fn one(mode: u32, path: &[u8]) -> bool {
    fits(&index(ObjectFormat::Sha1, &[(mode, 0, path)]), ObjectFormat::Sha1)
}

#[test]
fn paths_are_those_that_git_takes() {
    for good in ["a", "a/b", ".gitignore", ".gitx", "git", "git~2", "a.git/b", "...", "ü", ".github/x", "a b"]
    {
        assert!(is_safe_tree_path(good.as_bytes()) && one(0o100_644, good.as_bytes()), "{good}");
    }
    for bad in [
        "", "/a", "a/", "a//b", ".", "./a", "..", "a/../b", ".git", ".git/hooks/post-index-change",
        "a/.git/config", ".GIT/x", ".gIt", "git~1", "GIT~1/x", ".git.", ".git ", ".git . ./x",
        ".git::$INDEX_ALLOCATION", ".git:x", "git~1 .:x", ".g\u{200c}it/x", "\u{feff}.git", ".gi\u{206f}t",
        ".git\\hooks", "a\\.git",
    ] {
        assert!(!is_safe_tree_path(bad.as_bytes()) && !one(0o100_644, bad.as_bytes()), "{bad}");
    }
    assert!(!is_safe_tree_path(b"a\0b") && !one(0o100_644, &[b'a'; 5000]) && one(0o100_644, &[b'a'; 4096]));
}

#[test]
fn an_index_is_as_git_writes_it() {
    let sha1 = |entries: &[(u32, u16, &[u8])]| index(ObjectFormat::Sha1, entries);
    let fit = |index: &[u8]| fits(index, ObjectFormat::Sha1);
    assert!(fit(&sha1(&[])) && fit(&sha1(&[(0o120_000, 0, b"a"), (0o100_755, 0, b"b")])));
    assert!(one(0o160_000, b"a"));
    for mode in [0, 0o100_600, 0o104_755, 0o40_000, 0o100_777, 0o20_000, u32::MAX] {
        assert!(!one(mode, b"a") && !one(mode, b"a/"), "{mode:o}");
    }
    let plain = |path: &'static [u8]| (0o100_644, 0, path);
    assert!(!fit(&sha1(&[plain(b"b"), plain(b"a")])) && !fit(&sha1(&[plain(b"a"), plain(b"a")])));
    let staged = |stage: u16| (0o100_644, stage << 12, b"a".as_slice());
    assert!(fit(&sha1(&[staged(1), staged(2), staged(3)])) && !fit(&sha1(&[staged(0), staged(1)])));
    // The length that git trusts differs from the actual length.
    let mut lies = sha1(&[plain(b"a\0.git")]);
    lies.truncate(lies.len() - 20);
    assert!(!fit(&sealed(lies, ObjectFormat::Sha1)));
    let good = sha1(&[plain(b"a")]);
    assert!(!fit(&good[..good.len() - 1]) && !fits(&good, ObjectFormat::Sha256));
    let mut wrong = good.clone();
    wrong[50] ^= 1;
    assert!(!fit(&wrong));
    let mut unsummed = good;
    let end = unsummed.len();
    unsummed[end - 20..].fill(0);
    assert!(fit(&unsummed), "index.skipHash");
    let long = index(ObjectFormat::Sha256, &[plain(b"a")]);
    assert!(fits(&long, ObjectFormat::Sha256) && !fits(&long, ObjectFormat::Sha1));
}

#[test]
fn what_follows_the_entries_does_not_land() {
    let with = |name: &[u8], content: &[u8]| {
        let mut with = index(ObjectFormat::Sha1, &[(0o100_644, 0, b"a")]);
        with.truncate(with.len() - 20);
        with.extend(name);
        with.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
        with.extend(content);
        check_index(sealed(with, ObjectFormat::Sha1), ObjectFormat::Sha1, &HostIndexPaths::default())
            .map(|checked| checked.bytes)
    };
    let plain = index(ObjectFormat::Sha1, &[(0o100_644, 0, b"a")]);
    for name in [b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"] {
        assert_eq!(with(name, b"lies"), Some(plain.clone()));
    }
    assert_eq!((with(b"link", &[0; 20]), with(b"evil", b""), with(b"sdir", b"x")), (None, None, None));
    assert!(with(b"sdir", b"").is_some());
}

#[test]
fn a_file_cannot_be_hidden() {
    let hidden = index(ObjectFormat::Sha1, &[(0o100_644, 0x8000, b"a")]);
    let shown = index(ObjectFormat::Sha1, &[(0o100_644, 0, b"a")]);
    let checked =
        |known: &HostIndexPaths| check_index(hidden.clone(), ObjectFormat::Sha1, known).unwrap().bytes;
    assert_eq!(checked(&HostIndexPaths::default()), shown);
    assert_eq!(
        checked(&HostIndexPaths::from_index(&hidden, ObjectFormat::Sha1)),
        hidden,
        "the host has it so"
    );
    let lab = GitOverlayLab::with_commit();
    let layer = lab.layer();
    lab.run_inside("git update-index --skip-worktree f");
    assert_eq!(layer.finish().landed, 1);
    assert_eq!(lab.run_on_host("git ls-files -v"), "H f\n");
}

/// Every version that git writes, in both formats.
#[test]
fn what_git_writes_lands() {
    for format in ["sha1", "sha256"] {
        for version in [2, 3, 4] {
            let lab = GitOverlayLab::new();
            lab.run_on_host(&format!(
                "git init -q --object-format={format} .; git config index.version {version}"
            ));
            let make = "mkdir -p a/b c; echo 1 > a/b/x; echo 2 > a/b/xyz; echo 3 > a/c; echo 4 > c/d; ln -s x l
                git add .; git update-index --chmod=+x c/d; echo 5 > n; git add -N n; git commit -qm one; echo 6 > o";
            let landed = lab.run_and_land(make);
            assert_eq!((landed.kept_back, landed.faults), (vec![], vec![]), "{format} {version}");
            assert_eq!(lab.leftover_files(), [""; 0]);
        }
    }
}

#[test]
fn a_sparse_index_lands_where_the_host_is_sparse() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("mkdir a b; echo 1 > a/x; echo 2 > b/y; git add .; git commit -qm two; git sparse-checkout set --sparse-index a; git config advice.sparseIndexExpanded false");
    let landed = lab.run_and_land("echo 3 > a/x; git commit -qam three");
    assert_eq!(landed.kept_back, [""; 0]);
    assert!(lab.run_on_host("git ls-files --sparse -t").contains("S b/"));
}

proptest! {
    /// Law: any input is accepted or rejected without a panic.
    #[test]
    fn no_bytes_stop_us(bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..6, count in 0u8..4) {
        let mut index = vec![b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, count];
        index.extend(bytes);
        index.extend([0; 20]);
        let _ = check_index(index.clone(), ObjectFormat::Sha1, &HostIndexPaths::default());
        let _ = check_index(index, ObjectFormat::Sha256, &HostIndexPaths::default());
    }

    /// Law: a valid index with a few changed bytes is rejected, or still contains only plain paths.
    #[test]
    fn a_changed_index_is_still_harmless(changes in prop::collection::vec((0usize..300, any::<u8>()), 0..4), short in any::<bool>()) {
        let mut index = index(ObjectFormat::Sha1, &[(0o100_644, 0, b"a"), (0o100_644, 0, b"a/bit"), (0o160_000, 0, b"a/git")]);
        index.truncate(index.len() - 20);
        index[7] = if short { 4 } else { 2 };
        let length = index.len();
        changes.into_iter().for_each(|(at, byte)| index[at % length] = byte);
        if let Some(checked) = check_index(sealed(index, ObjectFormat::Sha1), ObjectFormat::Sha1, &HostIndexPaths::default()) {
            prop_assert!(checked.gitlinks.iter().all(|link| is_safe_tree_path(link)));
            let again = check_index(checked.bytes.clone(), ObjectFormat::Sha1, &HostIndexPaths::default()).map(|again| again.bytes);
            prop_assert_eq!(again, Some(checked.bytes));
        }
    }
}
