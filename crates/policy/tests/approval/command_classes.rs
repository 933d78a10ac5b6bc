//! Tests the class of each command: read-only (S), confined without a question (X), or asked about (Q).
//!
//! A command of class Q is asked about even when confined. `¶` is a newline.

use toolgate_policy::{ApprovalPolicy, SandboxPolicy};

use super::{gate, says, script};

/// Returns the decisions under `untrusted` and under `on-request`.
fn class(command: &str) -> (&'static str, &'static str) {
    let command = command.replace('¶', "\n");
    let under = |approval| {
        says(&gate(approval, SandboxPolicy::WorkspaceWrite).decide("shell_command", &script(&command)))
    };
    (under(ApprovalPolicy::Untrusted), under(ApprovalPolicy::OnRequest))
}

fn check(table: &str, expected: (&str, &str)) {
    let wrong: Vec<String> = table
        .lines()
        .filter(|line| !line.is_empty())
        .filter_map(|line| {
            let said = class(line);
            (said != expected).then(|| format!("{line}\n    {said:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "expected {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_only_reads_is_never_asked_about() {
    check(include_str!("reads.txt"), ("allow", "allow"));
}

#[test]
fn what_is_confined_is_asked_about_only_if_the_user_trusts_nothing() {
    check(include_str!("runs.txt"), ("ask", "allow"));
}

#[test]
fn what_is_dangerous_is_asked_about_though_it_is_confined() {
    check(include_str!("dangers.txt"), ("ask", "ask"));
}

/// Dangers that the words of the command alone do not show.
#[test]
fn what_is_dangerous_is_so_however_it_is_spelled() {
    check(include_str!("spelled.txt"), ("ask", "ask"));
}

/// Checks the decisions under `on-request`, confined and unconfined.
fn unconfined(table: &str, expected: (&str, &str)) {
    let under = |command: &str, sandbox| {
        let intent = script(&command.replace('¶', "\n"));
        says(&gate(ApprovalPolicy::OnRequest, sandbox).decide("shell_command", &intent))
    };
    let wrong: Vec<String> = table
        .lines()
        .filter_map(|line| {
            let said = (under(line, SandboxPolicy::WorkspaceWrite), under(line, SandboxPolicy::FullAccess));
            (said != expected).then(|| format!("{line}\n    {said:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "expected {expected:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_may_do_harm_is_asked_about_where_nothing_confines_it() {
    unconfined(include_str!("unconfined.txt"), ("allow", "ask"));
}

#[test]
fn what_is_ordinary_is_not_asked_about_though_nothing_confines_it() {
    unconfined(include_str!("everyday.txt"), ("allow", "allow"));
}

#[test]
fn under_never_what_would_be_asked_is_refused() {
    for line in [":(){ :|:& };:", "dd if=a of=b", "chown root f", "X=-rf; rm $X x"] {
        let gate = gate(ApprovalPolicy::Never, SandboxPolicy::FullAccess);
        assert_eq!(says(&gate.decide("shell_command", &script(line))), "forbid", "{line}");
    }
}
