//! Tests of staged changes: `toolgate try`, `--changes staged`, review, apply, discard, undo and redo.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at real files, run git, and may unwrap"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

/// Files of a tree with permissions and content.
type TreeContent = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn list(root: &Path) -> TreeContent {
    let mut all = TreeContent::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            let content = match status.file_type() {
                kind if kind.is_dir() => Vec::new(),
                kind if kind.is_symlink() => {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                }
                kind if kind.is_file() => fs::read(&path).unwrap(),
                _ => b"special".to_vec(),
            };
            if status.is_dir() {
                directories.push(path.clone());
            }
            let mode = if status.is_symlink() { 0 } else { status.permissions().mode() };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), (mode, content));
        }
    }
    all
}

struct Place {
    home: TestHome,
    workspace: TestWorkspace,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self { home: TestHome::new(), workspace: TestWorkspace::new() };
        for (path, content) in files {
            place.workspace.write_file(path, content);
        }
        // A file that changes while a command runs is a conflict, and file times have the kernel's clock tick.
        std::thread::sleep(std::time::Duration::from_millis(30));
        place
    }

    fn root(&self) -> PathBuf {
        self.workspace.path()
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> CommandRun {
        self.home.run(&self.root(), args, "")
    }

    /// Runs `toolgate` and expects success.
    #[track_caller]
    fn done(&self, args: &[&str]) -> CommandRun {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.out, ran.err);
        ran
    }

    #[track_caller]
    fn try_script(&self, script: &str) -> CommandRun {
        self.done(&["try", "--keep", "--", "sh", "-c", script])
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(args);
        let ran = git.current_dir(self.root()).stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

/// Changes of every kind that a command can make.
const EVERYTHING: &str = "set -e
echo more >> a.txt
rm -r old
mkdir -p new/deep && echo new > new/deep/file && mkdir new/empty
chmod +x run.sh
ln -s a.txt link
mkfifo pipe
head -c 3000000 /dev/zero > zeros
mv moved renamed
printf '\\0\\1\\2' > binary
chmod 700 dir && echo x > dir/inner
ln a.txt hard";

fn everything() -> Place {
    Place::new(&[
        ("a.txt", "a\n"),
        ("old/one", "1\n"),
        ("old/deep/two", "2\n"),
        ("run.sh", "echo\n"),
        ("moved", "moved\n"),
        ("dir/kept", "kept\n"),
    ])
}

#[test]
fn a_command_sees_its_changes_and_the_files_stay_until_they_are_applied() {
    let place = everything();
    let before = list(&place.root());
    let script = format!("{EVERYTHING}\ncat a.txt new/deep/file; ls old 2>&1 || true");
    let ran = place.try_script(&script);
    assert!(ran.out.starts_with("a\nmore\nnew\n"), "{}", ran.out);
    assert_eq!(list(&place.root()), before);
    place.done(&["apply", "--yes"]);
    let direct = everything();
    let ran = Command::new("sh").args(["-c", EVERYTHING]).current_dir(direct.root()).status().unwrap();
    assert!(ran.success());
    let (applied, wanted) = (list(&place.root()), list(&direct.root()));
    assert_eq!(applied.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (path, entry) in &wanted {
        assert_eq!(&applied[path], entry, "{path:?}");
    }
    place.done(&["undo"]);
    assert_eq!(list(&place.root()), before);
    place.done(&["redo"]);
    assert_eq!(list(&place.root()), applied);
    place.done(&["undo", "2"]);
    assert_eq!(list(&place.root()), before);
}

#[test]
fn the_list_names_every_change() {
    let place = everything();
    place.try_script(EVERYTHING);
    assert_snapshot!(place.done(&["changes"]).out, @r"
    removed   moved  6 B
    removed   old/
    modified  a.txt  7 B
    mode      dir/
    mode      run.sh  5 B  executable
    added     binary  binary, 3 B
    added     dir/inner  2 B
    added     hard  7 B
    added     link  link
    added     new/deep/file  4 B
    added     new/empty/
    added     pipe  FIFO
    added     renamed  6 B
    added     zeros  binary, 3.0 MB
    ");
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    let place = Place::new(&[("a.txt", "a\n")]);
    assert_eq!(place.run(&["try", "--keep", "--", "sh", "-c", "echo x > a.txt; exit 7"]).code, Some(7));
    assert_eq!(
        place.run(&["try", "--apply-if-ok", "--", "sh", "-c", "echo y > a.txt; exit 7"]).code,
        Some(7)
    );
    assert_eq!(fs::read_to_string(place.root().join("a.txt")).unwrap(), "a\n");
    assert_eq!(place.run(&["try", "--apply-if-ok", "--", "sh", "-c", "echo y > a.txt"]).code, Some(0));
    assert_eq!(fs::read_to_string(place.root().join("a.txt")).unwrap(), "y\n");
    assert_eq!(place.run(&["try", "--keep", "--", "no-such-program"]).code, Some(127));
    let nothing = place.done(&["try", "--", "true"]);
    assert!(nothing.err.contains("the command changed nothing"), "{}", nothing.err);
}

#[test]
fn a_file_that_you_changed_too_is_merged_or_nothing_is_applied() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let place = Place::new(&[("a.txt", text), ("b.txt", "b\n")]);
    place.try_script("sed -i s/1/one/ a.txt; echo session > b.txt");
    fs::write(place.root().join("a.txt"), text.replace('9', "nine")).unwrap();
    fs::write(place.root().join("b.txt"), "mine\n").unwrap();
    let before = list(&place.root());
    let refused = place.run(&["apply", "--yes"]);
    assert_eq!(refused.code, Some(2));
    assert_snapshot!(place.workspace.normalize(&refused.err), @r"
      $DIR/b.txt: you changed it too
    error: 1 path changed since the session changed it, so nothing was applied
    hint: `toolgate apply PATH…` applies other paths, `toolgate discard PATH…` gives these up
    ");
    assert_eq!(list(&place.root()), before);
    place.done(&["discard", "--yes", "b.txt"]);
    let applied = place.done(&["apply", "--yes"]);
    assert!(applied.err.contains("merged with your changes"), "{}", applied.err);
    let merged = text.replace('1', "one").replace('9', "nine");
    assert_eq!(fs::read_to_string(place.root().join("a.txt")).unwrap(), merged);
    assert_eq!(fs::read_to_string(place.root().join("b.txt")).unwrap(), "mine\n");
}

#[test]
fn commits_land_by_gits_own_rules_and_are_undone() {
    let place = Place::new(&[("a.txt", "a\n")]);
    place.git(&["init", "-q"]);
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "first"]);
    let commit = "echo b > b.txt; git add b.txt; git -c user.name=a -c user.email=a@example.org commit -qm second; \
                  echo 'touch /evil' > .git/hooks/post-commit; git log --format=%s";
    assert_eq!(place.try_script(commit).out, "second\nfirst\n");
    assert_eq!(place.git(&["log", "--format=%s"]), "first\n");
    place.done(&["apply", "--yes"]);
    assert_eq!(place.git(&["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert!(!place.root().join(".git/hooks/post-commit").exists());
    place.git(&["fsck", "--strict"]);
    place.done(&["undo"]);
    assert_eq!(place.git(&["log", "--format=%s"]), "first\n");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn configuration_that_programs_obey_is_applied_only_by_name() {
    let place = Place::new(&[("a.txt", "a\n")]);
    place.try_script("mkdir .claude; echo {} > .claude/settings.json; echo b > a.txt");
    let applied = place.done(&["apply", "--yes"]);
    assert!(applied.err.contains("was not applied: it takes effect when you"), "{}", applied.err);
    assert!(!place.root().join(".claude").exists());
    place.done(&["apply", "--yes", ".claude"]);
    assert!(place.root().join(".claude/settings.json").exists());
}

/// Runs calls in one session with staged changes, and returns their answers.
fn pipe(place: &Place, calls: &[(&str, Value)]) -> Vec<String> {
    let line = |(at, (name, arguments)): (usize, &(&str, Value))| {
        let arguments = arguments.to_string();
        json!({"type": "function_call", "call_id": format!("call_{at}"), "name": name, "arguments": arguments})
            .to_string()
            + "\n"
    };
    let input: String = calls.iter().enumerate().map(line).collect();
    let args = ["pipe", "--changes", "staged", "--sandbox", "workspace-write"];
    let ran = place.home.run(&place.root(), &args, &input);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let output = |line: &str| {
        let item: Value = serde_json::from_str(line).unwrap();
        item["output"].as_str().map_or_else(|| item["output"].to_string(), str::to_owned)
    };
    ran.out.lines().map(output).collect()
}

#[test]
fn file_tools_and_commands_of_a_session_see_one_view() {
    let place = Place::new(&[("src/lib.rs", "fn old() {}\n"), ("gone.txt", "x\n")]);
    let before = list(&place.root());
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n-fn old() {}\n+fn new() {}\n*** Add File: made.txt\n\
                 +by a patch\n*** Delete File: gone.txt\n*** End Patch\n";
    let answers = pipe(
        &place,
        &[
            ("apply_patch", json!({"input": patch})),
            ("shell_command", json!({"command": "cat src/lib.rs made.txt; ls; echo shell > by_shell.txt"})),
            ("read_file", json!({"path": "by_shell.txt"})),
            ("grep_files", json!({"pattern": "shell|patch|new"})),
            ("list_dir", json!({"path": "."})),
            ("shell_command", json!({"command": "ln -s by_shell.txt link; ln -s $PWD/src far"})),
            ("read_file", json!({"path": "link"})),
            ("read_file", json!({"path": "far/lib.rs"})),
        ],
    );
    assert!(answers[1].contains("fn new() {}\nby a patch\nmade.txt\nsrc"), "{}", answers[1]);
    assert!(answers[2].contains("shell"), "{}", answers[2]);
    for found in ["by_shell.txt", "made.txt", "src/lib.rs"] {
        assert!(answers[3].contains(found), "{}", answers[3]);
    }
    assert!(!answers[4].contains("gone.txt") && answers[4].contains("made.txt"), "{}", answers[4]);
    assert!(answers[6].contains("shell"), "{}", answers[6]);
    assert!(answers[7].contains("fn new"), "{}", answers[7]);
    assert_eq!(list(&place.root()), before);
    let steps = place.done(&["checkpoints", "--json"]).out;
    let steps: Value = serde_json::from_str(&steps).unwrap();
    assert_eq!(steps["checkpoints"].as_array().unwrap().len(), 3, "{steps}");
    // The last step made the links.
    place.done(&["undo"]);
    let left: Value = serde_json::from_str(&place.done(&["changes", "--json"]).out).unwrap();
    let left: Vec<&str> =
        left["changes"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert!(left.iter().all(|path| !path.ends_with("link")), "{left:?}");
    place.done(&["undo", "call_0"]);
    assert!(place.done(&["changes"]).err.contains("no changes are pending"));
    place.done(&["redo", "3"]);
    place.done(&["apply", "--yes"]);
    assert_eq!(fs::read_to_string(place.root().join("by_shell.txt")).unwrap(), "shell\n");
    assert_eq!(fs::read_to_string(place.root().join("src/lib.rs")).unwrap(), "fn new() {}\n");
    assert!(!place.root().join("gone.txt").exists());
}

#[test]
fn a_link_cannot_lead_a_patch_past_the_staged_changes() {
    let place = Place::new(&[("target.txt", "old\n"), ("dir/inner.txt", "old\n")]);
    let before = list(&place.root());
    let root = place.root();
    let update =
        |path: &str| format!("*** Begin Patch\n*** Update File: {path}\n-old\n+new\n*** End Patch\n");
    let links = format!("ln -s {0}/target.txt file_link; ln -s {0}/dir dir_link", root.display());
    let absolute = root.join("target.txt").display().to_string();
    pipe(
        &place,
        &[
            ("shell_command", json!({"command": links})),
            ("apply_patch", json!({"input": update("file_link")})),
            ("apply_patch", json!({"input": update("dir_link/inner.txt")})),
            (
                "apply_patch",
                json!({"input": update(&absolute).replace("old", "new").replace("+new", "+newer")}),
            ),
        ],
    );
    assert_eq!(list(&root), before);
    let diff = place.done(&["changes", "--diff"]).out;
    assert!(diff.contains("+newer") && diff.contains("dir/inner.txt"), "{diff}");
}

#[test]
fn changes_survive_a_kill_and_others_cannot_be_staged() {
    let place = Place::new(&[("a.txt", "a\n")]);
    let before = list(&place.root());
    let mut killed = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["try", "--keep", "--", "sh", "-c", "echo b > a.txt; echo ready; sleep 60"])
        .current_dir(place.root())
        .env_clear()
        .env("HOME", place.home.path())
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(&mut killed.stdout.take().unwrap(), &mut ready).unwrap();
    let busy = place.run(&["apply", "--yes"]);
    assert!(busy.err.contains("is running"), "{}", busy.err);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(list(&place.root()), before);
    place.done(&["apply", "--yes"]);
    assert_eq!(fs::read_to_string(place.root().join("a.txt")).unwrap(), "b\n");
    let unconfined =
        place.run(&["call", "list_dir", "--changes", "staged", "--sandbox", "danger-full-access"]);
    assert_eq!(unconfined.code, Some(2));
    assert!(unconfined.err.contains("commands are not confined"), "{}", unconfined.err);
}

#[test]
fn a_directory_that_holds_the_state_cannot_be_staged() {
    let home = TestHome::new();
    let ran = home.run(home.path(), &["try", "--keep", "--", "true"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("Toolgate's own state lies in it"), "{}", ran.err);
    assert!(ran.err.contains("TOOLGATE_HOME"), "{}", ran.err);
}

#[test]
fn nothing_that_programs_obey_lands_without_its_name() {
    let place = Place::new(&[("a.txt", "a\n"), ("here/x", "x\n")]);
    place.git(&["init", "-q"]);
    place.git(&["add", "."]);
    place.git(&["commit", "-qm", "first"]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    place.try_script(
        "mkdir -p pkg/.claude pkg/src; echo {} > pkg/.claude/settings.json; echo ok > pkg/src/lib.rs
        mkdir sub; (cd sub; git init -q; git config core.fsmonitor 'touch /tmp/evil')
        (cd here; git init -q); mkdir bare; (cd bare; mkdir objects refs; echo x > HEAD)
        cp -r .git g2; rm -rf .git; echo 'gitdir: g2' > .git",
    );
    let applied = place.done(&["apply", "--yes"]);
    let root = place.root();
    assert!(root.join("pkg/src/lib.rs").exists());
    for path in ["pkg/.claude", "sub/.git", "here/.git", "bare", "g2"] {
        assert!(!root.join(path).exists(), "{path}: {}", applied.err);
    }
    assert!(root.join(".git").is_dir());
    assert_eq!(place.git(&["status", "--porcelain"]), "?? pkg/\n");
    // What was held back is still pending.
    place.done(&["apply", "--yes", "pkg/.claude"]);
    assert!(root.join("pkg/.claude/settings.json").exists());
}

#[test]
fn staged_secrets_are_hidden_from_later_commands() {
    let place = Place::new(&[("a.txt", "a\n")]);
    place.try_script("echo KEY=1 > .env; echo KEY=1 > plain");
    let state = place.home.path().join(".local/state/toolgate/changes");
    assert!(state.exists());
    let script = format!("ls {0} 2>&1; cat {0}/*/layer-*/0/plain 2>&1; true", state.display());
    for command in [&["try", "--keep"][..], &["sandbox"]] {
        let ran = place.done(&[command, &["--", "sh", "-c", &script]].concat());
        assert!(!ran.out.contains("KEY"), "{}", ran.out);
    }
}

#[test]
fn an_undo_keeps_what_you_wrote_into_an_applied_directory() {
    let place = Place::new(&[("a.txt", "a\n")]);
    place.try_script("mkdir made; echo port=80 > made/config");
    place.done(&["apply", "--yes"]);
    let file = place.root().join("made/config");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "port=99\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    let undone = place.done(&["undo"]);
    assert!(undone.err.contains("you changed it since"), "{}", undone.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "port=99\n");
}

#[test]
fn what_a_replaced_directory_loses_is_listed() {
    let place = Place::new(&[("src/notes", "precious\n"), ("src/deep/x", "x\n")]);
    place.try_script("rm -r src && mkdir src && echo new > src/new.rs");
    assert_snapshot!(place.done(&["changes"]).out, @r"
    removed   src/deep/
    removed   src/notes  9 B
    added     src/new.rs  4 B
    ");
}

#[test]
fn a_directory_that_you_changed_while_it_was_removed_is_a_conflict() {
    let place = Place::new(&[("dir/sub/one", "1\n")]);
    let root = place.root();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolgate"))
        .args(["try", "--keep", "--", "sh", "-c", "rm -r dir; echo removed; sleep 0.2"])
        .current_dir(&root)
        .env_clear()
        .env("HOME", place.home.path())
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut removed = [0; 8];
    std::io::Read::read_exact(&mut command.stdout.take().unwrap(), &mut removed).unwrap();
    fs::write(root.join("dir/sub/one"), "mine\n").unwrap();
    assert!(command.wait().unwrap().success());
    assert_eq!(place.run(&["apply", "--yes"]).code, Some(2));
    assert_eq!(fs::read_to_string(root.join("dir/sub/one")).unwrap(), "mine\n");
}

#[test]
fn permissions_that_you_changed_survive_a_merge() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let place = Place::new(&[("a.txt", text)]);
    place.try_script("sed -i s/1/one/ a.txt");
    let file = place.root().join("a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    place.done(&["apply", "--yes"]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace('1', "one"));
}
