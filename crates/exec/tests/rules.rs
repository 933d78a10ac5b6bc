//! Tests of rule files: reading, and concurrent saves without loss.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, look at files and start themselves again"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use policy::rules::{NewRule, RuleDecision, RuleLayer, RuleSet, RuleSubject};
use tempfile::TempDir;
use toolgate_exec::rules::{load, save};

const PROCESSES: usize = 20;
const RULES_EACH: usize = 5;
/// The environment variable with the file and the number of a child process of this test.
const CHILD: &str = "RULES_TEST_CHILD";

fn allow(words: &[&str]) -> NewRule {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let pattern = words.iter().map(|word| vec![word.clone()]).collect();
    NewRule {
        subject: RuleSubject::Command { pattern, exact: true },
        decision: RuleDecision::Allow,
        reason: None,
        unsandboxed: false,
        example: Some(words),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn read(file: &Path) -> RuleSet {
    load(&[(RuleLayer::User, file.to_owned())]).unwrap()
}

/// Returns the names in the directory of `file`.
fn beside(file: &Path) -> Vec<String> {
    let entries = fs::read_dir(file.parent().unwrap()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn many_processes_save_at_once() {
    if let Some(child) = std::env::var_os(CHILD) {
        let child = child.into_string().unwrap();
        let (number, file) = child.split_once(' ').unwrap();
        for rule in 0..RULES_EACH {
            save(Path::new(file), &allow(&["run", number, &rule.to_string()])).unwrap();
            save(Path::new(file), &allow(&["all", &rule.to_string()])).unwrap();
        }
        return;
    }
    let home = TempDir::new().unwrap();
    let file = home.path().join("config/toolgate/rules.toml");
    let start = |number: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "many_processes_save_at_once"])
            .env(CHILD, format!("{number} {}", file.display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let rules = read(&file);
    assert_eq!(rules.len(), PROCESSES * RULES_EACH + RULES_EACH);
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(beside(&file), [".rules.toml.lock", "rules.toml"]);
}

#[test]
fn many_threads_save_at_once() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("rules.toml");
    std::thread::scope(|scope| {
        for number in 0..PROCESSES {
            let file = &file;
            scope.spawn(move || save(file, &allow(&["run", &number.to_string()])).unwrap());
        }
    });
    assert_eq!(read(&file).len(), PROCESSES);
}

#[test]
fn what_was_there_stays() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("rules.toml");
    let mine = "# mine\r\n[[rule]] # first\npattern = ['ls']\ndecision = 'ask'";
    fs::write(&file, mine).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    // A process was killed while saving.
    fs::write(home.path().join(".rules.toml.new"), "half a ru").unwrap();
    let saved = save(&file, &allow(&["cargo", "test"])).unwrap();
    assert_eq!((saved.line, saved.already_present), (6, false));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(mine), "{text}");
    assert_eq!((mode(&file), beside(&file).len()), (0o644, 2));
    let again = save(&file, &allow(&["cargo", "test"])).unwrap();
    assert_eq!((again.line, again.already_present), (6, true));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_link_stays_a_link() {
    let home = TempDir::new().unwrap();
    let (real, file) = (home.path().join("dotfiles"), home.path().join("rules.toml"));
    fs::write(&real, "# mine\n").unwrap();
    symlink(&real, &file).unwrap();
    let saved = save(&file, &allow(&["ls"])).unwrap();
    assert_eq!(saved.file, fs::canonicalize(&real).unwrap());
    assert!(file.is_symlink());
    assert_eq!(read(&file).len(), 1);
    assert!(fs::read_to_string(&real).unwrap().starts_with("# mine\n\n[[rule]]"));
}

#[test]
fn what_is_refused_changes_nothing() {
    let home = TempDir::new().unwrap();
    let told = |file: &Path, rule: &NewRule| {
        let fault = save(file, rule).unwrap_err().to_string();
        fault.replace(&home.path().display().to_string(), "$HOME")
    };
    let file = home.path().join("rules.toml");
    fs::write(&file, "[[rule]]\npattern = []\n").unwrap();
    insta::assert_snapshot!(told(&file, &allow(&["ls"])), @r#"the rule was not saved: $HOME/rules.toml:1:1: the rule has no `decision`: write "allow", "ask" or "forbid""#);
    assert_eq!(fs::read_to_string(&file).unwrap(), "[[rule]]\npattern = []\n");
    fs::write(&file, b"\xff").unwrap();
    insta::assert_snapshot!(told(&file, &allow(&["ls"])), @"the rule was not saved: $HOME/rules.toml: it is not UTF-8");
    fs::write(&file, "").unwrap();
    insta::assert_snapshot!(told(&file, &allow(&["a\0b"])), @"the rule was not saved: $HOME/rules.toml: the new rule is wrong: it holds a NUL, which no word of a command can");
    let nowhere = home.path().join("link");
    symlink(home.path().join("nothing"), &nowhere).unwrap();
    insta::assert_snapshot!(told(&nowhere, &allow(&["ls"])), @"the rule was not saved to `$HOME/link`: it is a link to nothing; remove it, or make what it points to");
    insta::assert_snapshot!(told(&file.join("x"), &allow(&["ls"])), @"the rule was not saved to `$HOME/rules.toml/x`: File exists (os error 17)");
    insta::assert_snapshot!(told(Path::new("/proc/rules.toml"), &allow(&["ls"])), @"the rule was not saved to `/proc/rules.toml`: No such file or directory (os error 2)");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    assert_eq!(beside(&file), [".rules.toml.lock", "link", "rules.toml"]);
}

#[test]
fn rule_files_are_read_by_layer() {
    let home = TempDir::new().unwrap();
    let (user, project) = (home.path().join("rules.toml"), home.path().join("p/.toolgate/rules.toml"));
    fs::create_dir_all(project.parent().unwrap()).unwrap();
    let one = |layer, file: &PathBuf| load(&[(layer, file.clone())]).map(|rules| rules.len());
    let told = |layer, file: &PathBuf| {
        one(layer, file).unwrap_err().to_string().replace(&home.path().display().to_string(), "$HOME")
    };
    assert_eq!(one(RuleLayer::User, &user), Ok(0));
    assert_eq!(one(RuleLayer::Project, &project), Ok(0));
    assert_eq!(one(RuleLayer::Project, &home.path().join("q/.toolgate/rules.toml")), Ok(0));
    let ask = "[[rule]]\npattern = ['ls']\ndecision = 'ask'\n";
    fs::write(&user, ask).unwrap();
    fs::write(&project, ask.replace("ls", "cat")).unwrap();
    let both = load(&[(RuleLayer::User, user.clone()), (RuleLayer::Project, project.clone())]).unwrap();
    let layers: Vec<RuleLayer> = both.iter().map(|rule| rule.layer).collect();
    assert_eq!(layers, [RuleLayer::User, RuleLayer::Project]);
    // A project may be behind a link as a whole; its rules may not.
    symlink(home.path().join("p"), home.path().join("l")).unwrap();
    assert_eq!(one(RuleLayer::Project, &home.path().join("l/.toolgate/rules.toml")), Ok(1));
    fs::create_dir(home.path().join("q")).unwrap();
    symlink(project.parent().unwrap(), home.path().join("q/.toolgate")).unwrap();
    insta::assert_snapshot!(told(RuleLayer::Project, &home.path().join("q/.toolgate/rules.toml")), @"$HOME/q/.toolgate/rules.toml: it is behind a link; a project's rules must be a file of the project");
    fs::remove_file(&project).unwrap();
    symlink(&user, &project).unwrap();
    insta::assert_snapshot!(told(RuleLayer::Project, &project), @"$HOME/p/.toolgate/rules.toml: it is behind a link; a project's rules must be a file of the project");
    assert_eq!(one(RuleLayer::User, &project), Ok(1));
    fs::remove_file(&project).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &project, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    insta::assert_snapshot!(told(RuleLayer::Project, &project), @"$HOME/p/.toolgate/rules.toml: it is not a file");
    fs::write(&user, "#".repeat((1 << 20) + 1)).unwrap();
    insta::assert_snapshot!(told(RuleLayer::User, &user), @"$HOME/rules.toml: longer than 1048576 bytes");
}
