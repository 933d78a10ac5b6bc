//! Tests of looking up one path.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use exec::fs::{ConfinedFs, FileKind, FsError};
use policy::{Denial, ReadRoot};
use rustix::fs::{CWD, FileType, Mode};

use super::{FsTestTree, confined_fs, is_root, outcome, permit};

const TREE: &str = "
    a = A
    dir/b = B
    dir/deep/c = C
    secrets/k = K
    to-a -> a
    to-a-absolute -> IN/a
    to-b-up -> dir/deep/../b
    to-dir -> dir
    to-dir-absolute -> IN/dir
    round-trip -> ../in/a
    chain -> to-a-absolute
    out-relative -> ../out/secret
    out-absolute -> OUT/secret
    out-dir -> ../out/dir
    out-dir-absolute -> OUT/dir
    out-dangling -> OUT/nothing
    out-dangling-relative -> ../out/nothing
    out-etc -> /etc/passwd
    broken -> nothing
    broken-absolute -> IN/nothing
    loop-1 -> loop-2
    loop-2 -> loop-1
    self -> self
    innocent -> secrets/k
    innocent-dir -> secrets
    innocent-absolute -> IN/secrets/k
    probe-out -> OUT/secret
    probe-nothing -> OUT/nothing
    probe-out-up -> IN/../out/secret
    probe-nothing-up -> IN/../out/nothing
    probe-out-chain -> IN/probe-out-up
    probe-nothing-chain -> IN/probe-nothing-up
    probe-denied -> secrets/k
    probe-denied-nothing -> secrets/nothing
    probe-denied-absolute -> IN/secrets/k
    probe-denied-absolute-nothing -> IN/secrets/nothing
";

#[test]
fn each_path_has_its_lookup_outcome() {
    let ground = FsTestTree::new(TREE);
    let confined_fs = confined_fs(vec![ReadRoot::new(ground.root())], &["secrets/"]);
    for (name, expected) in [
        ("a", "A"),
        ("dir/b", "B"),
        ("to-a", "A"),
        ("to-a-absolute", "A"),
        ("to-b-up", "B"),
        ("to-dir/b", "B"),
        ("to-dir-absolute/b", "B"),
        ("to-dir-absolute/deep/c", "C"),
        ("to-dir-absolute/depe", "missing [\"deep\"]"),
        ("to-dir-absolute/deep/d", "missing []"),
        ("to-dir-absolute/nothing/c", "missing []"),
        ("round-trip", "A"),
        ("chain", "A"),
        ("out-relative", "leads outside"),
        ("out-absolute", "leads outside"),
        ("out-dir/secret", "leads outside"),
        ("out-dir/nothing", "leads outside"),
        ("out-dir-absolute/secret", "leads outside"),
        ("out-dir-absolute/nothing", "leads outside"),
        ("out-dir-absolute/nothing/at/all", "leads outside"),
        ("out-dangling", "leads outside"),
        ("out-dangling/x", "leads outside"),
        ("out-dangling-relative", "leads outside"),
        ("out-etc", "leads outside"),
        ("broken", "broken"),
        ("broken/x", "broken"),
        ("broken-absolute", "broken"),
        ("loop-1", "loop"),
        ("self", "loop"),
        ("self/x", "loop"),
        ("secrets/k", "deny-read"),
        ("innocent", "deny-read"),
        ("innocent-absolute", "deny-read"),
        ("innocent-dir/k", "deny-read"),
        ("innocent-dir/nothing", "deny-read"),
        ("innocent-dir/nothing/at/all", "deny-read"),
        ("dir", "a directory"),
        ("", "a directory"),
        ("a/x", "a is a file"),
        ("a/x/y/z", "a is a file"),
        ("to-a/x", "to-a is a file"),
        ("A", "missing [\"a\"]"),
        ("../out/secret", "leads outside"),
    ] {
        assert_eq!(outcome(&confined_fs, &ground.path(name)), expected, "{name}");
    }
    assert_eq!(outcome(&confined_fs, &ground.outside().join("secret")), "not stated");
    assert_eq!(outcome(&confined_fs, &ground.path(&"x/".repeat(3000))), "too long");
    assert_eq!(outcome(&confined_fs, &ground.path(&"x".repeat(256))), "too long");
    let deep = format!("to-dir-absolute/{}", "x/".repeat(1800));
    assert_eq!(outcome(&confined_fs, &ground.path(&deep)), "missing []");
}

#[test]
fn a_denial_does_not_tell_what_exists_behind_it() {
    let ground = FsTestTree::new(TREE);
    let confined_fs = confined_fs(vec![ReadRoot::new(ground.root())], &["secrets/"]);
    let said =
        |name: &str| confined_fs.lookup(&ground.path(name)).unwrap_err().to_string().replace(name, "NAME");
    for (there, not_there) in [
        ("out-dir/secret", "out-dir/nothing"),
        ("out-dir-absolute/secret", "out-dir-absolute/nothing/at/all"),
        ("innocent-dir/k", "innocent-dir/x"),
        ("probe-out", "probe-nothing"),
        ("probe-out-up", "probe-nothing-up"),
        ("probe-out-chain", "probe-nothing-chain"),
        ("probe-denied", "probe-denied-nothing"),
        ("probe-denied-absolute", "probe-denied-absolute-nothing"),
    ] {
        assert_eq!(said(there), said(not_there), "{there}");
    }
}

#[test]
fn a_link_into_another_root_is_followed() {
    let ground = FsTestTree::new("a -> OUT/secret");
    let both = confined_fs(vec![ReadRoot::new(ground.root()), ReadRoot::new(ground.outside())], &[]);
    assert_eq!(outcome(&both, &ground.path("a")), "secret");
    assert_eq!(both.lookup(&ground.path("a")).unwrap().path(), ground.outside().join("secret"));
}

#[test]
fn a_root_can_be_spelled_through_a_link() {
    let ground = FsTestTree::new("dir/a = A");
    let spelled = ground.base().join("spelled");
    symlink(ground.root(), &spelled).unwrap();
    let root = ReadRoot::new(ground.root()).with_spelling(&spelled);
    let confined_fs = ConfinedFs::new(&permit(vec![root], &[], std::slice::from_ref(&spelled)));
    assert_eq!(outcome(&confined_fs, &spelled.join("dir/a")), "A");
    assert_eq!(confined_fs.lookup(&spelled.join("dir/a")).unwrap().path(), ground.path("dir/a"));
}

#[test]
fn the_whole_file_system_can_be_a_root() {
    let ground = FsTestTree::new("dir/a = A\nlink -> OUT/secret\ndir/.env");
    let confined_fs = confined_fs(vec![ReadRoot::new("/")], &["**/.env"]);
    assert_eq!(outcome(&confined_fs, &ground.path("dir/a")), "A");
    assert_eq!(outcome(&confined_fs, &ground.path("link")), "secret");
    let (seen, walked) = super::walk(&confined_fs, &ground.path("dir"), &super::options(1));
    assert_eq!((seen, walked.denied), (vec!["a".to_owned()], 1));
    let top = exec::fs::WalkOptions { max_depth: Some(1), ..super::options(1) };
    assert!(super::walk(&confined_fs, Path::new("/"), &top).0.contains(&"etc".to_owned()));
}

#[test]
fn a_root_that_became_a_link_is_judged_like_any_other() {
    let ground = FsTestTree::new("secret = inside");
    let confined_fs = ground.confined_fs();
    fs::rename(ground.root(), ground.base().join("was")).unwrap();
    symlink(ground.outside(), ground.root()).unwrap();
    assert_eq!(outcome(&confined_fs, &ground.path("secret")), "leads outside");
}

#[test]
fn only_what_was_stated_opens() {
    let ground = FsTestTree::new("dir/a = A\nb = B");
    let stated = [ground.path("dir")];
    let confined_fs = ConfinedFs::new(&permit(vec![ReadRoot::new(ground.root())], &[], &stated));
    assert_eq!(outcome(&confined_fs, &ground.path("dir/a")), "A");
    assert_eq!(outcome(&confined_fs, &ground.path("b")), "not stated");
}

#[test]
fn fifos_and_sockets_are_named_and_never_opened() {
    let ground = FsTestTree::new("");
    rustix::fs::mknodat(CWD, ground.path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(ground.path("socket")).unwrap();
    assert_eq!(outcome(&ground.confined_fs(), &ground.path("fifo")), "a FIFO");
    assert_eq!(outcome(&ground.confined_fs(), &ground.path("socket")), "a socket");
}

#[test]
fn a_device_is_named_and_never_opened() {
    let confined_fs = confined_fs(vec![ReadRoot::new("/dev")], &[]);
    assert_eq!(outcome(&confined_fs, Path::new("/dev/null")), "a character device");
    assert_eq!(outcome(&confined_fs, Path::new("/dev/tty")), "a character device");
}

#[test]
fn magic_links_are_not_followed() {
    let confined_fs = confined_fs(vec![ReadRoot::new("/proc")], &[]);
    let outside = std::fs::File::open("/etc/passwd").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&outside);
    let pid = std::process::id();
    for path in [
        "/proc/self/root/etc/passwd".to_owned(),
        "/proc/self/root".to_owned(),
        "/proc/self/cwd".to_owned(),
        "/proc/self/exe".to_owned(),
        format!("/proc/self/fd/{fd}"),
        format!("/proc/{pid}/fd/{fd}"),
    ] {
        assert_eq!(outcome(&confined_fs, Path::new(&path)), "loop", "{path}");
    }
    // Not magic: a plain link that happens to live in /proc.
    assert_eq!(confined_fs.lookup(Path::new("/proc/self")).unwrap().kind(), FileKind::Directory);
}

#[test]
fn a_link_into_proc_is_no_way_out() {
    let ground = FsTestTree::new(
        "root -> /proc/self/root\nfd -> /proc/self/fd/0\nthread -> /proc/thread-self/root/etc",
    );
    for name in ["root", "root/etc/passwd", "fd", "thread", "thread/passwd"] {
        assert_eq!(outcome(&ground.confined_fs(), &ground.path(name)), "leads outside", "{name}");
    }
}

#[test]
fn a_missing_name_brings_up_those_like_it() {
    let ground = FsTestTree::new("src/main.rs\nsrc/lib.rs\nsrc/.env\nREADME.md\nsrc/mainn.rs");
    let confined_fs = confined_fs(vec![ReadRoot::new(ground.root())], &["**/.env", "**/mainn.rs"]);
    let say = |name: &str| {
        let error = confined_fs.lookup(&ground.path(name)).unwrap_err().to_string();
        error.replace(ground.root().to_str().unwrap(), "/w")
    };
    for (name, expected) in [
        ("src/mian.rs", "`/w/src/mian.rs` does not exist; did you mean `main.rs`?"),
        ("src/Lib.rs", "`/w/src/Lib.rs` does not exist; did you mean `lib.rs`?"),
        ("src/.emv", "`/w/src/.emv` does not exist; list its directory to see what is there"),
        ("readme.md", "`/w/readme.md` does not exist; did you mean `README.md`?"),
        (
            "scr/main.rs",
            "`/w/scr/main.rs` does not exist; the deepest directory above it that does is `/w`; did you mean `src`?",
        ),
        ("src/a/b/c", "`/w/src/a/b/c` does not exist; the deepest directory above it that does is `/w/src`"),
    ] {
        assert_eq!(say(name), expected);
    }
}

#[test]
fn a_root_that_is_gone_is_missing() {
    let ground = FsTestTree::new("");
    let confined_fs = ground.confined_fs();
    fs::remove_dir(ground.root()).unwrap();
    assert_eq!(outcome(&confined_fs, &ground.path("a")), "missing []");
}

#[test]
fn a_file_without_permission_says_so() {
    let ground = FsTestTree::new("a = A\nlocked/b = B");
    fs::set_permissions(ground.path("a"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(ground.path("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let (a, b) = if is_root() { ("A", "B") } else { ("permission denied", "permission denied") };
    assert_eq!(outcome(&ground.confined_fs(), &ground.path("a")), a);
    assert_eq!(outcome(&ground.confined_fs(), &ground.path("locked/b")), b);
    fs::set_permissions(ground.path("locked"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_was_found_is_what_is_read() {
    let ground = FsTestTree::new("a = first");
    let found = ground.confined_fs().lookup(&ground.path("a")).unwrap();
    fs::rename(ground.path("a"), ground.path("moved")).unwrap();
    symlink(ground.outside().join("secret"), ground.path("a")).unwrap();
    for _ in 0..2 {
        let mut text = String::new();
        found.open().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "first");
    }
    assert_eq!((found.kind(), found.size()), (FileKind::File, 5));
    assert!(found.modified().unwrap().elapsed().unwrap().as_secs() < 600);
    assert_eq!(found.identity(), ground.confined_fs().lookup(&ground.path("moved")).unwrap().identity());
}

#[test]
fn a_file_may_be_called_deleted() {
    let ground = FsTestTree::new("a (deleted) = A");
    assert_eq!(outcome(&ground.confined_fs(), &ground.path("a (deleted)")), "A");
}

#[test]
fn a_directory_does_not_open_and_a_file_does_not_walk() {
    let ground = FsTestTree::new("dir/\na");
    let confined_fs = ground.confined_fs();
    let error = confined_fs.lookup(&ground.path("dir")).unwrap().open().unwrap_err();
    assert!(matches!(error, FsError::NotAFile { kind: FileKind::Directory, .. }), "{error}");
    let file = confined_fs.lookup(&ground.path("a")).unwrap();
    let visitor = || |_: &exec::fs::WalkEntry<'_>| exec::fs::WalkControl::Continue;
    let error = confined_fs.walk(&file, &super::options(1), &|| false, visitor).unwrap_err();
    assert!(matches!(error, FsError::NotADirectory { kind: FileKind::File, .. }), "{error}");
}

#[test]
fn confined_fs_crosses_threads_and_refusals_are_the_policys() {
    fn crosses<T: Send + Sync + Clone + 'static>(_: &T) {}
    let ground = FsTestTree::new("out -> /etc");
    let confined_fs = ground.confined_fs();
    crosses(&confined_fs);
    let error = confined_fs.lookup(&ground.path("out/passwd")).unwrap_err();
    assert!(matches!(error, FsError::Denied(Denial::LeadsOutside { .. })), "{error}");
}
