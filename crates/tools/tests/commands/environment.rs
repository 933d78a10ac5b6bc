//! Tests the environment variables that a command gets, and those that are withheld.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use policy::{EnvironmentPolicy, InheritScope};
use serde_json::json;

use crate::harness::{CommandHarness, CommandToolsSetup, output_text};

fn host() -> Vec<(&'static str, String)> {
    [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("OPENAI_API_KEY", "sk-1"),
        ("ANTHROPIC_API_KEY", "sk-2"),
        ("GITHUB_TOKEN", "ghp"),
        ("AWS_SECRET_ACCESS_KEY", "aws"),
        ("DATABASE_URL", "postgres://user:word@host/db"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("MY_PASSWORD", "word"),
        ("LD_PRELOAD", "/nowhere.so"),
        ("BASH_ENV", "/nowhere"),
        ("BASH_FUNC_ls%%", "() { echo taken over; }"),
        ("TOOLGATE_LOG", "debug"),
        ("PAGER", "less"),
        ("TERM", "screen"),
        ("LC_TIME", "de_DE.UTF-8"),
        ("CARGO_HOME", "/c"),
        ("COLORTERM", "truecolor"),
        ("FAVOURITE_COLOUR", "blue"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

fn variables(bench: &CommandHarness, tty: bool) -> BTreeMap<String, String> {
    let answer = bench.start_script("env", &json!({"tty": tty, "yield_time_ms": 30_000}));
    let pairs = output_text(&answer);
    let pairs = pairs.lines().map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line}")));
    pairs.map(|(name, value)| (name.to_owned(), bench.workspace.normalize(value))).collect()
}

fn listed(variables: &BTreeMap<String, String>) -> String {
    // Variables that the shell itself adds.
    let own = ["_", "SHLVL", "OLDPWD"];
    let lines = variables.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    lines.map(|(name, value)| format!("{name}={value}\n")).collect()
}

pub(crate) fn environment_has_core_and_forced_variables() {
    let bench = CommandToolsSetup { host: host(), ..CommandToolsSetup::default() }.harness();
    assert_snapshot!(listed(&variables(&bench, false)), @"
    CARGO_HOME=/c
    COLORTERM=
    DEBIAN_FRONTEND=noninteractive
    GH_PAGER=cat
    GIT_EDITOR=true
    GIT_PAGER=cat
    GIT_SEQUENCE_EDITOR=true
    GIT_TERMINAL_PROMPT=0
    HOME=$DIR/home
    LANG=C.UTF-8
    LC_ALL=C.UTF-8
    LC_TIME=de_DE.UTF-8
    MANPAGER=cat
    NO_COLOR=1
    NO_UPDATE_NOTIFIER=1
    PAGER=cat
    PATH=/usr/local/bin:/usr/bin:/bin
    PWD=$DIR
    SYSTEMD_PAGER=cat
    TERM=dumb
    TOOLGATE=1
    npm_config_update_notifier=false
    ");
}

pub(crate) fn environment_differs_on_a_terminal() {
    let bench = CommandToolsSetup { host: host(), ..CommandToolsSetup::default() }.harness();
    let (with, without) = (variables(&bench, true), variables(&bench, false));
    let only = |these: &BTreeMap<String, String>, those: &BTreeMap<String, String>| {
        let differ = these.iter().filter(|(name, value)| those.get(*name) != Some(value));
        listed(&differ.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    assert_snapshot!(only(&with, &without), @"TERM=xterm-256color");
    assert_snapshot!(only(&without, &with), @"
    DEBIAN_FRONTEND=noninteractive
    GIT_EDITOR=true
    GIT_SEQUENCE_EDITOR=true
    GIT_TERMINAL_PROMPT=0
    NO_COLOR=1
    TERM=dumb
    ");
}

pub(crate) fn credentials_are_withheld() {
    let environment = EnvironmentPolicy {
        inherit: InheritScope::All,
        pass: ["GITHUB_TOKEN", "OPENAI_API_KEY", "AWS_*"].map(str::to_owned).to_vec(),
        set: vec![
            ("SET_BY_CONFIG".to_owned(), "yes".to_owned()),
            ("ANTHROPIC_API_KEY".to_owned(), "no".to_owned()),
        ],
    };
    let bench = CommandToolsSetup { host: host(), environment, ..CommandToolsSetup::default() }.harness();
    let found = variables(&bench, false);
    let names: Vec<&str> = ["FAVOURITE_COLOUR", "GITHUB_TOKEN", "SET_BY_CONFIG"].to_vec();
    assert!(names.iter().all(|name| found.contains_key(*name)), "{found:?}");
    for withheld in [
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "SSH_AUTH_SOCK",
        "MY_PASSWORD", "LD_PRELOAD", "BASH_ENV", "BASH_FUNC_ls%%", "TOOLGATE_LOG",
    ] {
        assert!(!found.contains_key(withheld), "{withheld}");
    }
    // Nor can they be read from the parent processes.
    let around = "for p in $PPID $(awk '{print $4}' /proc/$PPID/stat); do cat /proc/$p/environ; done 2>&1 | tr '\\0' '\\n'";
    let seen = output_text(&bench.run_script(around));
    assert!(!seen.contains("PATH="), "{seen}");
}

pub(crate) fn nothing_is_inherited_if_that_is_the_policy() {
    let environment = EnvironmentPolicy { inherit: InheritScope::None, ..EnvironmentPolicy::default() };
    let bench = CommandToolsSetup { host: host(), environment, ..CommandToolsSetup::default() }.harness();
    let found = listed(&variables(&bench, false));
    for name in ["HOME=", "CARGO_HOME=", "FAVOURITE_COLOUR="] {
        assert!(!found.contains(name), "{found}");
    }
    assert!(found.contains("PAGER=cat\n"));
}

pub(crate) fn pagers_do_not_block() {
    let bench = CommandHarness::new();
    let script = "git init -q . && git -c user.email=a@b -c user.name=n commit -q --allow-empty -m first && git log && git --no-pager branch -a";
    for tty in [false, true] {
        let answer =
            bench.start_script(script, &json!({"tty": tty, "workdir": "home", "yield_time_ms": 30_000}));
        assert_eq!(answer.facts.exit_code, Some(0), "{}", answer.joined_text());
        assert!(output_text(&answer).contains("    first\n"), "{}", output_text(&answer));
    }
}
