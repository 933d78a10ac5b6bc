//! Tests of the entries that ignore files hide.

use std::fs;
use std::os::unix::fs::symlink;

use policy::ReadRoot;

use super::{FsTestTree, confined_fs, options, walk};

/// Walks `tree` from `start` and returns the plain files, without ignore files.
fn seen(tree: &str, start: &str) -> String {
    let ground = FsTestTree::new(tree);
    let mut both = [1, 3].map(|threads| {
        let (mut seen, _) = walk(&ground.confined_fs(), &ground.path(start), &options(threads));
        seen.retain(|path| ground.path(start).join(path).is_file() && !path.ends_with("ignore"));
        seen.sort();
        seen.join(" ")
    });
    assert_eq!(both[0], both[1], "one thread and many differ");
    std::mem::take(&mut both[0])
}

#[test]
fn ignore_rules_hide_entries_like_ripgrep() {
    for (tree, expected) in [
        ("a\nb", "a b"),
        (".gitignore = a\na\nb\nd/a", "b"),
        (".gitignore = /a\na\nd/a", "d/a"),
        (".gitignore = a/\na/x\nd/a", "d/a"),
        (".gitignore = d/*.o\nd/x.o\nd/x.c\ne/d/x.o", "d/x.c e/d/x.o"),
        (".gitignore = **/x\na/b/x\na/y", "a/y"),
        (".gitignore = a/**\na/b/x\nb", "b"),
        (".gitignore = *.log\\n!keep.log\nx.log\nkeep.log", "keep.log"),
        (".gitignore = # c\\n\\n  \\n\\#x\n#x\ny", "y"),
        (".gitignore = *.log\nd/.gitignore = !x.log\nd/x.log\nd/y.log\nx.log", "d/x.log"),
        (".gitignore = !x\nd/.gitignore = x\nx\nd/x\nd/e/x", "x"),
        (".gitignore = d\nd/.gitignore = !x\nd/x\ny", "y"),
        (".ignore = a\na\nb", "b"),
        (".gitignore = a\n.ignore = !a\na\nb", "a b"),
        (".ignore = a\nd/.gitignore = !a\nd/a\nb", "b"),
        (".gitignore = \u{feff}a\na\nb", "b"),
        (".gitignore = a\\r\\nb\\r\na\nb\nc", "c"),
        (".gitignore = [\\n{\\nb\na\nb", "a"),
        // Git's rules end where another repository begins; those of `.ignore` continue.
        (".gitignore = a\nsub/.git/x\nsub/a\na\nb", "b sub/a"),
        (".ignore = a\nsub/.git/x\nsub/a\na\nb", "b"),
        (".git/info/exclude = a\na\nb\nd/a", "b"),
        (".git/info/exclude = a\n.gitignore = !a\na\nb", "a b"),
        ("sub/.git/info/exclude = a\nsub/a\na\nsub/b", "a sub/b"),
    ] {
        assert_eq!(seen(tree, ""), expected, "{tree}");
    }
}

#[test]
fn rules_from_above_the_start_hold() {
    let tree = ".gitignore = *.log\\n/w/s/only\nw/.ignore = x\nw/s/x\nw/s/a.log\nw/s/only\nw/s/t/only\nw/s/y";
    assert_eq!(seen(tree, "w/s"), "t/only y");
    // Rules above the start's repository belong to another one.
    let tree =
        ".gitignore = a\nrepo/.git/info/exclude = b\nrepo/.gitignore = c\nrepo/d/a\nrepo/d/b\nrepo/d/c";
    assert_eq!(seen(tree, "repo/d"), "a");
    // An ignored start was requested by name.
    assert_eq!(seen(".gitignore = target/\ntarget/a", "target"), "a");
}

#[test]
fn rules_from_outside_the_root_do_not_hold() {
    let ground = FsTestTree::new("a");
    fs::write(ground.base().join(".gitignore"), "a").unwrap();
    assert_eq!(walk(&ground.confined_fs(), &ground.root(), &options(1)).0, ["a"]);
}

#[test]
fn an_ignore_file_behind_a_link_or_denied_is_not_read() {
    let ground = FsTestTree::new("a\nd/.gitignore = b\nd/b");
    fs::write(ground.outside().join("rules"), "a").unwrap();
    symlink(ground.outside().join("rules"), ground.path(".gitignore")).unwrap();
    let (seen, _) = walk(&ground.confined_fs(), &ground.root(), &options(1));
    assert_eq!(seen, [".gitignore", "a", "d", "d/.gitignore"]);
    let confined_fs = confined_fs(vec![ReadRoot::new(ground.root())], &["**/d/.gitignore"]);
    assert_eq!(walk(&confined_fs, &ground.root(), &options(1)).0, [".gitignore", "a", "d", "d/b"]);
}

#[test]
fn a_fifo_as_ignore_file_does_not_hang() {
    use rustix::fs::{CWD, FileType, Mode};
    let ground = FsTestTree::new("a");
    rustix::fs::mknodat(CWD, ground.path(".gitignore"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(walk(&ground.confined_fs(), &ground.root(), &options(1)).0, [".gitignore", "a"]);
}

#[test]
fn a_large_directory_finds_its_ignore_file_too() {
    let ground = FsTestTree::new(".gitignore = *.o");
    for number in 0..3000 {
        ground.plant(&format!("f{number}.o"));
    }
    for threads in [1, 3] {
        assert_eq!(walk(&ground.confined_fs(), &ground.root(), &options(threads)).0, [".gitignore"]);
    }
}

#[test]
fn a_huge_ignore_file_is_cut_off() {
    let ground = FsTestTree::new("a\nb");
    let rules: String = (0..400_000).map(|number| format!("*x{number}*y\n")).collect();
    fs::write(ground.path(".gitignore"), format!("a\n{rules}b\n")).unwrap();
    let started = std::time::Instant::now();
    assert_eq!(walk(&ground.confined_fs(), &ground.root(), &options(1)).0, [".gitignore", "b"]);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
