//! Tests which paths can be touched, and the error for each that cannot.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use toolgate_patch::FileTree;
use toolgate_patch::{DiskTree, FileAccess};
use toolgate_patch::{PatchPlan, parse};

use super::{DiskFixture, delete, put_step};

/// Asserts that looking up and changing `path` both fail for this reason, and that nothing has changed.
#[track_caller]
fn refused(ground: &DiskFixture, path: &str, why: &str) {
    let before = ground.names();
    let looked = ground.disk().look_up(path).unwrap_err();
    assert!(looked.what.contains(why), "{path}: {looked}");
    let changed = ground.commit(&[put_step(path, None, "new")]).unwrap_err();
    assert!(changed.what.contains(why), "{path}: {changed}");
    ground.commit(&[delete(path, Some(Default::default()))]).unwrap_err();
    assert_eq!(ground.names(), before);
    assert_eq!(fs::read_to_string(ground.out("secret")).unwrap(), "secret");
}

#[test]
fn paths_that_lead_out_are_refused() {
    let ground = DiskFixture::new();
    ground.write("dir/file", "old");
    symlink(ground.out(""), ground.path("parent")).unwrap();
    symlink(ground.out("secret"), ground.path("leaf")).unwrap();
    symlink(ground.out("new"), ground.path("dangling")).unwrap();
    symlink("nothing", ground.path("nowhere")).unwrap();
    symlink("round", ground.path("round")).unwrap();
    symlink("/proc/self/cwd", ground.path("magic")).unwrap();
    let outside = ground.out("secret");
    for (path, why) in [
        ("", "is empty"),
        ("../out/secret", "leaves"),
        ("dir/../../out/secret", "leaves"),
        (outside.to_str().unwrap(), "outside"),
        ("/etc/passwd", "outside"),
        ("~/x", "shell"),
        ("file:///x", "URL"),
        (r"\\?\x", "Windows"),
        ("dir/", "directory"),
        ("a\0b", "NUL"),
        ("parent/secret", "outside"),
        ("parent/new", "outside"),
        ("parent/new/deep", "outside"),
        ("leaf", "is a link that ends"),
        ("dangling", "is a link that ends"),
        ("nowhere", "is a link that ends"),
        ("round", "is a link that ends"),
        ("nowhere/x", "leads nowhere"),
        ("round/x", "lead nowhere"),
        ("magic/x", "lead nowhere"),
        ("dir/file/x", "not a directory"),
        ("dir", "is a directory"),
    ] {
        refused(&ground, path, why);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn only_regular_files_are_touched() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let ground = DiskFixture::new();
    mknodat(CWD, ground.path("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(ground.path("socket")).unwrap();
    symlink("fifo", ground.path("link")).unwrap();
    let mut all = vec![("fifo", "is a FIFO"), ("socket", "is a socket"), ("link", "is a FIFO")];
    let device = mknodat(CWD, ground.path("null"), FileType::CharacterDevice, Mode::RWXU, 0x103);
    if device.is_ok() {
        all.push(("null", "is a device"));
    }
    for (path, why) in all {
        refused(&ground, path, why);
    }
}

#[test]
fn a_link_inside_is_followed_and_stays() {
    let ground = DiskFixture::new();
    ground.write("dir/file", "old");
    symlink("dir/file", ground.path("link")).unwrap();
    symlink(ground.path("dir"), ground.path("parent")).unwrap();
    assert_eq!(ground.disk().look_up("link").unwrap().real_path, ground.path("dir/file"));
    assert_eq!(ground.disk().look_up("parent/file").unwrap().real_path, ground.path("dir/file"));
    ground.commit(&[put_step("link", ground.stamp("link"), "new")]).unwrap();
    assert_eq!(ground.read("dir/file"), "new");
    ground.commit(&[put_step("parent/other", None, "other")]).unwrap();
    assert_eq!(ground.read("dir/other"), "other");
    assert_eq!(fs::read_link(ground.path("link")).unwrap(), Path::new("dir/file"));
    ground.commit(&[delete("link", ground.stamp("link"))]).unwrap();
    assert!(!ground.path("link").is_symlink());
    assert_eq!(ground.read("dir/file"), "new");
}

#[test]
fn a_link_that_is_deleted_is_not_what_it_leads_to() {
    let plan = |ground: &DiskFixture, body: &str| {
        let patch = parse(&format!("*** Begin Patch\n{body}*** End Patch\n")).unwrap();
        PatchPlan::build(&patch, &ground.disk())
    };
    let ground = DiskFixture::new();
    ground.write("a", "old\n");
    symlink("a", ground.path("l")).unwrap();
    let again = plan(&ground, "*** Delete File: l\n*** Add File: l\n+new\n").unwrap_err().to_string();
    assert!(again.contains("`l` is a link that the patch deletes"), "{again}");
    let both = plan(&ground, "*** Update File: l\n-old\n+new\n*** Delete File: l\n").unwrap_err();
    assert!(both.to_string().contains("`l` is deleted after another part"), "{both}");
    let plan = plan(&ground, "*** Delete File: l\n*** Delete File: a\n").unwrap();
    ground.commit(&plan.commit_steps()).unwrap();
    assert!(!ground.path("l").is_symlink() && !ground.path("a").exists());
}

#[test]
fn dots_after_a_link_or_nothing_are_refused() {
    let ground = DiskFixture::new();
    ground.write("a/b/x", "x");
    ground.write("f", "x");
    symlink("a/b", ground.path("l")).unwrap();
    for path in ["l/../f", "missing/../f", "f/../a/b/x", "a/missing/../b/x"] {
        refused(&ground, path, "has `..` after");
    }
    assert_eq!(ground.disk().look_up("a/b/../../f").unwrap().real_path, ground.path("f"));
    let absolute = ground.path("a/../f");
    assert_eq!(ground.disk().look_up(absolute.to_str().unwrap()).unwrap().real_path, ground.path("f"));
}

#[test]
fn an_absolute_path_inside_is_a_path() {
    let ground = DiskFixture::new();
    let path = ground.write("dir/file", "old");
    symlink(ground.path(""), ground.base().join("alias")).unwrap();
    let path = path.to_str().unwrap();
    ground.commit(&[put_step(path, ground.stamp(path), "new")]).unwrap();
    assert_eq!(ground.read("dir/file"), "new");
    let alias = DiskTree::open_at(&ground.base().join("alias")).unwrap();
    let spelled = ground.base().join("alias/dir/file");
    assert_eq!(alias.look_up(spelled.to_str().unwrap()).unwrap().real_path, ground.path("dir/file"));
}

#[test]
fn hard_links_are_broken_only_knowingly() {
    let ground = DiskFixture::new();
    ground.write("file", "old");
    fs::hard_link(ground.path("file"), ground.path("twin")).unwrap();
    let step = [put_step("file", ground.stamp("file"), "new")];
    let refusal = ground.commit(&step).unwrap_err();
    assert!(refusal.what.contains("has 2 names"), "{refusal}");
    assert_eq!(ground.read("file"), "old");
    ground.disk().with_hard_links_broken(true).commit(&step, &ground.records()).unwrap();
    assert_eq!((ground.read("file"), ground.read("twin")), ("new".to_owned(), "old".to_owned()));
    fs::hard_link(ground.path("file"), ground.path("third")).unwrap();
    ground.commit(&[delete("third", ground.stamp("third"))]).unwrap();
    assert_eq!(ground.names(), ["in", "in/file", "in/twin", "out", "out/secret"]);
}

#[test]
fn large_files_are_refused_at_once() {
    let ground = DiskFixture::new();
    fs::File::create(ground.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    let refusal = ground.disk().look_up("sparse").unwrap_err();
    assert!(refusal.what.contains("bytes"), "{refusal}");
}

#[test]
fn one_file_under_two_spellings_is_refused() {
    let ground = DiskFixture::new();
    ground.write("dir/file", "old");
    symlink("dir", ground.path("alias")).unwrap();
    symlink("dir/file", ground.path("link")).unwrap();
    let found = ground.stamp("dir/file");
    for steps in [
        [put_step("dir/file", found, "a"), put_step("alias/file", found, "b")],
        [put_step("dir/file", found, "a"), put_step("link", found, "b")],
        [put_step("dir/file", found, "a"), delete("alias/file", found)],
        [put_step("dir/new", None, "a"), put_step("alias/new", None, "b")],
        [put_step("dir/deep/new", None, "a"), put_step("alias/deep/new", None, "b")],
        [put_step("dir/deep/new", None, "a"), put_step("dir/./deep/new", None, "b")],
    ] {
        let refusal = ground.commit(&steps).unwrap_err();
        assert!(refusal.what.contains("twice"), "{refusal}");
    }
    let refusal = ground.commit(&[put_step("new", None, "a"), put_step("new/below", None, "b")]).unwrap_err();
    assert!(refusal.what.contains("changed meanwhile"), "{refusal}");
    let refusal = ground.commit(&[put_step("dir/file", None, "a")]).unwrap_err();
    assert!(refusal.what.contains("there already"), "{refusal}");
    assert_eq!(ground.read("dir/file"), "old");
    assert_eq!(ground.names(), ["in", "in/alias", "in/dir", "in/dir/file", "in/link", "out", "out/secret"]);
}

#[test]
fn a_judge_sees_real_paths_and_replaces_the_root() {
    let ground = DiskFixture::new();
    ground.write("dir/file", "old");
    symlink(ground.path("dir"), ground.path("link")).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, allowed, secret) = (Arc::clone(&asked), ground.out("allowed"), ground.path("dir/secret"));
    let disk = ground.disk().with_access_check(Arc::new(move |path: &Path, access: FileAccess| {
        seen.lock().push((path.to_owned(), access));
        let no = path == secret || (access == FileAccess::Write && path.ends_with("out/secret"));
        if no { Err(format!("{} is not for you", path.display())) } else { Ok(()) }
    }));
    disk.look_up("link/file").unwrap();
    assert_eq!(asked.lock().as_slice(), [(ground.path("dir/file"), FileAccess::Read)]);
    assert_eq!(disk.look_up("link/secret").unwrap_err().what.split(" is ").nth(1), Some("not for you"));
    disk.commit(&[put_step(allowed.to_str().unwrap(), None, "new")], &ground.records()).unwrap();
    assert_eq!(fs::read_to_string(allowed).unwrap(), "new");
    let secret = ground.out("secret");
    let secret = secret.to_str().unwrap();
    let found = disk.look_up(secret).unwrap().file.map(|file| file.version);
    assert!(disk.commit(&[put_step(secret, found, "new")], &ground.records()).is_err());
    let records = ground.records().join("0000000000000000.json");
    let forged = put_step(records.to_str().unwrap(), None, "{}");
    assert!(disk.commit(&[forged], &ground.records()).unwrap_err().what.contains("records"));
}
