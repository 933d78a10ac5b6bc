//! Tests login shell profiles: their effects apply, and they run only once.

use std::fs;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use tool::ToolOutput;

use crate::harness::{
    CommandHarness, CommandToolsSetup, assert_none_left, output_text, processes_with_mark, structured_field,
    unique_sleep_mark, wait_within,
};

fn login(bench: &CommandHarness, script: &str) -> ToolOutput {
    bench.call("shell_command", &json!({"command": script, "timeout_ms": 60_000}))
}

fn runs(bench: &CommandHarness) -> usize {
    fs::read_to_string(bench.workspace.path().join("home/runs")).unwrap_or_default().lines().count()
}

const PROFILE: &str = r#"
echo run >> ~/runs
echo the profile says hello
export FROM_PROFILE='two words
and two lines'
export SECRET_TOKEN=abc
export PATH="$HOME/bin:/usr/bin:/bin:/usr/bin"
greet() { echo "hello $1"; }
shopt -s nullglob
set -o pipefail
"#;

const ASK: &str = r#"echo "$FROM_PROFILE"; greet you; shopt -p nullglob; set -o | grep -E 'pipefail' | tr -s ' \t' ' '; echo "$PATH"; echo "[$SECRET_TOKEN]""#;

pub(crate) fn profile_stderr_is_not_executed() {
    let bench = CommandToolsSetup::default().harness();
    bench
        .workspace
        .write_file("home/.bash_profile", "A=b\nexport A\ntrap 'echo echo a complaint >&2' EXIT\n");
    for _ in 0..2 {
        assert_eq!(output_text(&login(&bench, "echo $A")), "b\n");
    }
}

pub(crate) fn a_profile_is_run_once() {
    let host = vec![("PATH", "/opt/of-the-host:/usr/bin:/bin".to_owned())];
    let bench = CommandToolsSetup { host, ..CommandToolsSetup::default() }.harness();
    bench.workspace.write_file("home/.bash_profile", PROFILE);
    let first = login(&bench, ASK);
    assert_snapshot!(bench.workspace.normalize(&output_text(&first)), @"
    two words
    and two lines
    hello you
    shopt -s nullglob
    pipefail on
    $DIR/home/bin:/usr/bin:/bin:/opt/of-the-host
    []
    ");
    for answer in [
        login(&bench, ASK),
        bench.call("exec_command", &json!({"cmd": ASK, "yield_time_ms": 30_000})),
        bench.call("shell", &json!({"command": ["bash", "-lc", ASK]})),
        bench.call("shell", &json!({"command": ["/bin/bash", "-lc", ASK]})),
        bench.call("exec_command", &json!({"cmd": ASK, "tty": true, "yield_time_ms": 30_000})),
    ] {
        assert_eq!(output_text(&answer), output_text(&first));
    }
    assert_eq!(runs(&bench), 1);
    // Not for a command without `login`.
    let answer =
        bench.call("shell_command", &json!({"command": "echo [$FROM_PROFILE]; greet", "login": false}));
    assert!(output_text(&answer).contains("[]\n") && answer.facts.exit_code == Some(127));
    assert_eq!(runs(&bench), 1);
}

pub(crate) fn missing_program_makes_the_profile_run_again() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("home/.bash_profile", "echo run >> ~/runs\n");
    assert!(login(&bench, "true").success);
    bench.workspace.write_file("home/.bash_profile", "echo run >> ~/runs\nlate() { echo here; }\n");
    assert_eq!(login(&bench, "late").facts.exit_code, Some(127));
    assert_eq!(output_text(&login(&bench, "late")), "here\n");
    assert_eq!(runs(&bench), 2);
}

/// Returns the differences between a cached profile and one that is run, as seen by a script.
fn differ(profiles: &[(&str, &str, &str)]) -> Vec<String> {
    let mut differ = Vec::new();
    for (what, profile, script) in profiles {
        let bench =
            CommandToolsSetup { host: vec![("USER", "me".to_owned())], ..CommandToolsSetup::default() }
                .harness();
        bench.workspace.write_file("home/.bash_profile", profile);
        // Only `-lc` uses the cached profile.
        let run = bench.call("shell", &json!({"command": ["bash", "-l", "-c", script]}));
        let placed = bench.call("shell", &json!({"command": ["bash", "-lc", script]}));
        let of =
            |answer: &ToolOutput| (structured_field(answer, "stdout").to_owned(), answer.facts.exit_code);
        if of(&run) != of(&placed) {
            differ.push(format!(
                "{what}: {:?}, but put in place {:?}: {}",
                of(&run),
                of(&placed),
                output_text(&placed)
            ));
        }
    }
    differ
}

pub(crate) fn cached_profile_equals_a_profile_that_runs() {
    let differ = differ(&[
        (
            "a function with a pattern",
            "shopt -s extglob\nf() { case $1 in @(a|b)) echo either;; esac; }\n",
            "f b",
        ),
        (
            "functions beside it",
            "g() { echo g; }\nshopt -s extglob\nf() { echo ${1/+(a)/b}; }\nz() { echo z; }\n",
            "g; z",
        ),
        ("aliases", "shopt -s expand_aliases\nalias hi='echo hello'\n", "hi"),
        ("a mask", "umask 077\n", "umask"),
        ("an empty variable", "export NOTHING=\n", "echo ${NOTHING-none}"),
        ("a failure", "false\n", "echo on"),
        ("an error", "if then\n", "echo on"),
        ("an unknown command", "no-such-program\n", "echo on"),
        ("strictness", "set -u\n", "echo ${missing}; echo on"),
        ("stopping at errors", "set -e\n", "false; echo on"),
        ("heredocs and quotes", "f() { cat <<'END'\n$x \"quoted\" 'single'\nEND\n}\n", "f"),
        ("the script's own lines", "f() { :; }\n", "f\necho $LINENO"),
        ("a script that is several lines", "f() { :; }\n", "cat <<END\na\nEND\necho b"),
        ("another directory", "cd /\n", "echo on"),
        ("where it is", "export A=1\n", "printenv PWD"),
    ]);
    assert!(differ.is_empty(), "{differ:#?}");
}

pub(crate) fn a_profile_that_starts_something_is_not_waited_for() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    let profile =
        format!("echo run >> ~/runs\nsetsid sleep {mark} >/dev/null 2>&1 &\nexport FROM_PROFILE=yes\n");
    bench.workspace.write_file("home/.bash_profile", profile);
    let began = Instant::now();
    assert_eq!(output_text(&login(&bench, "echo $FROM_PROFILE")), "yes\n");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_none_left(&mark);
    assert_eq!(output_text(&login(&bench, "echo $FROM_PROFILE")), "yes\n");
    assert_eq!(runs(&bench), 1);
}

/// The one test of ten seconds: the time limit of a profile.
pub(crate) fn hanging_profile_does_not_block_the_command() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    // Only the first time, so that the command itself gets through.
    let profile =
        format!("echo run >> ~/runs\n[ $(wc -l < ~/runs) -gt 1 ] || sleep {mark}\nexport FROM_PROFILE=yes\n");
    bench.workspace.write_file("home/.bash_profile", profile);
    let began = Instant::now();
    let answer = login(&bench, "echo $FROM_PROFILE");
    assert_eq!(output_text(&answer), "yes\n");
    assert!(began.elapsed() >= Duration::from_secs(10));
    wait_within(Duration::from_secs(3), "end of the profile", || processes_with_mark(&mark).is_empty());
}

pub(crate) fn call_is_cancelled_while_its_profile_hangs() {
    let bench = CommandHarness::new();
    let mark = unique_sleep_mark();
    bench.workspace.write_file("home/.bash_profile", format!("echo run >> ~/runs\nsleep {mark}\n"));
    let began = Instant::now();
    let arguments = json!({"command": "echo never"});
    let answer = bench.call_and_cancel("shell_command", &arguments, Duration::from_millis(500));
    assert!(!answer.success && began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    wait_within(Duration::from_secs(3), "end of the profile", || processes_with_mark(&mark).is_empty());
    assert_eq!(runs(&bench), 1);
}

pub(crate) fn exiting_profile_ends_the_command() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("home/.bash_profile", "echo no logins today; exit 9\n");
    let answer = login(&bench, "echo never");
    assert_eq!((output_text(&answer).as_str(), answer.facts.exit_code), ("no logins today\n", Some(9)));
}

pub(crate) fn other_shells_have_profiles_too() {
    let bench = CommandHarness::new();
    bench.workspace.write_file("home/.profile", "echo run >> ~/runs\nexport FROM_PROFILE=yes\n");
    let run = || {
        bench.call(
            "exec_command",
            &json!({"cmd": "echo $FROM_PROFILE", "shell": "sh", "yield_time_ms": 30_000}),
        )
    };
    assert_eq!((output_text(&run()).as_str(), output_text(&run()).as_str()), ("yes\n", "yes\n"));
    assert_eq!(runs(&bench), 1);
}
