//! Every error sentence that a failed call can show to a model, in every dialect, as a committed file for review.
//!
//! `TOOLGATE_BLESS=1 cargo test -p toolgate-wire --test error_messages` rewrites `error_messages.jsonl`.

use std::path::PathBuf;
use std::time::Duration;

use policy::Denial;
use serde_json::json;
use tool::{
    BadArguments, CancelCause, OutputFacts, SchemaViolation, ToolCall, ToolError, ToolErrorKind, ToolOutput,
};
use toolgate_wire::Dialect;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/error_messages.jsonl");

#[test]
fn every_error_reads_as_committed() {
    testkit::assert_committed(FILE, &table());
}

#[test]
fn sentences_are_lower_case_without_a_full_stop() {
    for error in errors() {
        let said = error.to_string();
        assert!(!said.starts_with(char::is_uppercase) && !said.ends_with('.'), "{said}");
    }
}

fn table() -> String {
    let call = ToolCall::function("call_1", "read_file", "{}");
    let mut lines = String::new();
    for dialect in Dialect::ALL {
        for error in errors() {
            let facts = OutputFacts { error: Some(error.kind()), ..OutputFacts::default() };
            let output = ToolOutput { facts, ..ToolOutput::failure(error.to_string()) };
            let items = dialect.answer(&call, &output);
            let mut line =
                json!({ "dialect": dialect.as_str(), "kind": error.kind().as_str(), "answer": items });
            line.sort_all_objects();
            lines += &line.to_string();
            lines.push('\n');
        }
    }
    lines
}

/// Returns one error of every variant. The match below fails to compile when a variant is added: add it here too.
fn errors() -> Vec<ToolError> {
    let mut errors: Vec<ToolError> = arguments().into_iter().map(ToolError::from).collect();
    errors.extend(denials().into_iter().map(ToolError::Forbidden));
    errors.extend(denials().into_iter().map(ToolError::Blocked));
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let unknown = |nearest: &[&str], known: &[&str]| {
        let (nearest, known) = (names(nearest), names(known));
        ToolError::UnknownTool { name: "raed_file".to_owned(), nearest, known }
    };
    errors.extend([
        unknown(&["read_file"], &["list_dir", "read_file"]),
        unknown(&[], &["list_dir", "read_file"]),
        unknown(&[], &[]),
        ToolError::UnknownServer { server: "git".to_owned(), known: names(&["docs", "files"]) },
        ToolError::UnknownServer { server: "git".to_owned(), known: Vec::new() },
        ToolError::Denied { note: Some("not on a Friday".to_owned()) },
        ToolError::Denied { note: None },
        ToolError::Unanswered { why: "no answer came in time".to_owned() },
        ToolError::TimedOut { after: Duration::from_secs(30) },
        ToolError::Cancelled { after: Duration::from_millis(1500), cause: CancelCause::User },
        ToolError::Stopped,
        ToolError::io("`/w/a` cannot be read: there is no such file"),
        ToolError::Crashed { tool: "read_file".to_owned() },
        ToolError::Fatal("the session has ended".to_owned()),
    ]);
    errors.sort_by_key(|error| place(error.kind()));
    errors
}

fn place(kind: ToolErrorKind) -> u8 {
    match kind {
        ToolErrorKind::UnknownTool => 0,
        ToolErrorKind::BadArguments => 1,
        ToolErrorKind::Forbidden => 2,
        ToolErrorKind::Denied => 3,
        ToolErrorKind::Blocked => 4,
        ToolErrorKind::TimedOut => 5,
        ToolErrorKind::Cancelled => 6,
        ToolErrorKind::Stopped => 7,
        ToolErrorKind::Io => 8,
        ToolErrorKind::Crashed => 9,
        ToolErrorKind::Fatal => 10,
    }
}

fn arguments() -> Vec<BadArguments> {
    let misfit = |path: &str| {
        let (path, expected, found) = (path.to_owned(), "a string".to_owned(), "a number".to_owned());
        BadArguments::SchemaViolation(SchemaViolation { path, expected, found })
    };
    let value = BadArguments::Value {
        path: "steps[1].status".to_owned(),
        why: "only one step is in progress".to_owned(),
    };
    let not_json = BadArguments::NotJson { line: 1, column: 7, why: "EOF while parsing a value".to_owned() };
    let all = vec![
        not_json,
        misfit(""),
        misfit("command[0]"),
        value,
        BadArguments::TooLong { bytes: 9 << 20, limit: 8 << 20 },
    ];
    for one in &all {
        match one {
            BadArguments::NotJson { .. }
            | BadArguments::SchemaViolation(_)
            | BadArguments::Value { .. }
            | BadArguments::TooLong { .. } => {}
        }
    }
    all
}

fn unasked(unasked: policy::NotAskedReason) -> Denial {
    Denial::Unasked {
        why: "`rm -rf x` removes files without asking".to_owned(),
        denials: Vec::new(),
        unasked,
    }
}

fn denials() -> Vec<Denial> {
    let path = || PathBuf::from("/etc/shadow");
    let all = vec![
        Denial::Outside { path: path(), roots: vec!["/w".into()] },
        Denial::LeadsOutside { path: "/w/link".into() },
        Denial::DenyRead { path: "/w/.env".into(), rule: "**/.env".to_owned() },
        Denial::NotStated { path: path() },
        Denial::NotStatedRun { argv: vec!["rm".to_owned(), "a".to_owned()] },
        Denial::MayNotWrite { path: path(), roots: vec!["/w".into()] },
        Denial::MayNotWrite { path: path(), roots: Vec::new() },
        Denial::ClosedByRule {
            path: "/w/a.sql".into(),
            rule: "the rule at rules.toml:3 asks about it".to_owned(),
        },
        Denial::MayNotConnect {
            target: "192.0.2.1:443".to_owned(),
            network: policy::NetworkPolicy::Loopback,
        },
        Denial::MayNotReach { name: "@name".to_owned() },
        Denial::HostConfiguration { path: "/w/AGENTS.md".into(), when: "start an agent here".to_owned() },
        Denial::ByRule {
            what: "`git push`".to_owned(),
            rule: "rules.toml:3".to_owned(),
            reason: Some("a person does that".to_owned()),
        },
        Denial::ByRule { what: "`git push`".to_owned(), rule: "rules.toml:3".to_owned(), reason: None },
        Denial::ByHook { hook: "guard".to_owned(), reason: "not on a Friday".to_owned() },
        Denial::Ended { excess: policy::ResourceExcess::Scratch { most: 5 << 30 } },
        Denial::Ended { excess: policy::ResourceExcess::Memory },
        Denial::Disabled,
        unasked(policy::NotAskedReason::Never),
        unasked(policy::NotAskedReason::NoReviewer),
    ];
    for one in &all {
        match one {
            Denial::Outside { .. }
            | Denial::LeadsOutside { .. }
            | Denial::DenyRead { .. }
            | Denial::NotStated { .. }
            | Denial::NotStatedRun { .. }
            | Denial::MayNotWrite { .. }
            | Denial::ClosedByRule { .. }
            | Denial::MayNotConnect { .. }
            | Denial::MayNotReach { .. }
            | Denial::HostConfiguration { .. }
            | Denial::ByRule { .. }
            | Denial::ByHook { .. }
            | Denial::Ended { .. }
            | Denial::Disabled
            | Denial::Unasked { .. } => {}
        }
    }
    all
}
