//! Tests approvals of patches: when the user is asked, the diff that is shown, and the rights that an answer grants.

use std::fs;

use policy::{ApprovalPolicy, ApprovalQuestion, ReviewDecision, SandboxPolicy};
use tool::ToolErrorKind;

use super::{PatchWorkspace, no, writes, yes};

const CHANGE: &str = "*** Update File: a.txt\n one\n-two\n+2\n";
const BOTH: &str = "*** Update File: a.txt\n-two\n+2\n*** Add File: new/b.txt\n+b\n";

fn filled(bench: PatchWorkspace) -> PatchWorkspace {
    bench.w.write_file("a.txt", "one\ntwo\n");
    bench
}

#[test]
fn patch_inside_the_workspace_needs_no_approval() {
    let bench = filled(PatchWorkspace::new());
    assert!(bench.envelope(BOTH).success);
    assert!(bench.asked().is_empty());
}

#[test]
fn under_read_only_every_file_is_asked_about() {
    let on = |answer: fn(&ApprovalQuestion) -> ReviewDecision| {
        filled(PatchWorkspace::with(SandboxPolicy::ReadOnly, ApprovalPolicy::OnRequest, "", answer))
    };
    let bench = on(no);
    let answer = bench.envelope(BOTH);
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Denied), "{}", answer.joined_text());
    assert_eq!(bench.text("a.txt"), "one\ntwo\n");
    assert!(!bench.path("new").exists());
    // A new file is created in the nearest existing directory.
    assert_eq!(bench.asked(), [writes([bench.path("a.txt"), bench.w.path()])]);
    let bench = on(yes);
    let answer = bench.envelope(CHANGE);
    assert!(answer.success, "{}", answer.joined_text());
    assert_eq!(bench.asked(), [writes([bench.path("a.txt")])]);
    assert_eq!(bench.text("a.txt"), "one\n2\n");
}

#[test]
fn approval_policy_never_refuses_the_patch() {
    let bench = filled(PatchWorkspace::with(SandboxPolicy::ReadOnly, ApprovalPolicy::Never, "", yes));
    let answer = bench.envelope(CHANGE);
    assert_eq!(answer.facts.error, Some(ToolErrorKind::Forbidden), "{}", answer.joined_text());
    assert_eq!(bench.text("a.txt"), "one\ntwo\n");
    assert!(bench.asked().is_empty());
}

#[test]
fn approval_outside_grants_only_the_named_files() {
    let bench = filled(PatchWorkspace::asking(yes));
    let secret = bench.w.outside_dir().join("secret.txt");
    let answer = bench.envelope(&format!("*** Update File: {}\n-SECRET\n+told\n", secret.display()));
    assert!(answer.success, "{}", answer.joined_text());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "told\n");
    assert_eq!(bench.asked(), [writes([secret.clone()])]);
    // The approval was for one call.
    let bench_again = bench.envelope(&format!("*** Update File: {}\n-told\n+again\n", secret.display()));
    assert!(bench_again.success);
    assert_eq!(bench.asked(), [writes([secret])]);
}

#[test]
fn a_yes_for_the_session_covers_just_those_files() {
    let bench = filled(PatchWorkspace::with(SandboxPolicy::ReadOnly, ApprovalPolicy::OnRequest, "", |_| {
        ReviewDecision::ApprovedForSession
    }));
    bench.w.write_file("b.txt", "b\n");
    assert!(bench.envelope(CHANGE).success);
    assert_eq!(bench.asked().len(), 1);
    assert!(bench.envelope("*** Update File: a.txt\n-2\n+3\n").success);
    assert!(bench.asked().is_empty());
    // Another file, or both together, need another question.
    assert!(bench.envelope("*** Update File: a.txt\n-3\n+4\n*** Update File: b.txt\n-b\n+c\n").success);
    assert_eq!(bench.asked().len(), 1);
}

#[test]
fn previewed_diff_equals_the_written_change() {
    let bench =
        filled(PatchWorkspace::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Untrusted, "", yes));
    bench.w.write_file("copy/a.txt", "one\ntwo\n");
    assert!(bench.envelope(BOTH).success);
    let diff = bench.approver.take_questions().remove(0).intent.diff.unwrap();
    assert_eq!(
        diff,
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\
         diff --git a/new/b.txt b/new/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+b\n"
    );
    // Applied to the original state, the diff gives the current state.
    let twin = filled(PatchWorkspace::new());
    assert!(twin.patch(&diff).success);
    assert_eq!((twin.text("a.txt"), twin.text("new/b.txt")), (bench.text("a.txt"), bench.text("new/b.txt")));
}

#[test]
fn file_changed_during_approval_is_left_alone() {
    let change = |text: &'static str| {
        let at = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
        let seen = std::sync::Arc::clone(&at);
        let bench =
            PatchWorkspace::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Untrusted, "", move |_| {
                fs::write(seen.get().unwrap(), text).unwrap();
                ReviewDecision::Approved
            });
        at.set(bench.path("a.txt")).unwrap();
        filled(bench)
    };
    // Even if the patch would still apply: external changes are not overwritten.
    for text in ["zero\none\ntwo\n", "nothing\n", "one\n2\n"] {
        let bench = change(text);
        let answer = bench.envelope(BOTH);
        assert!(!answer.success, "{}", answer.joined_text());
        assert_eq!(bench.text("a.txt"), text);
        assert!(!bench.path("new").exists() && bench.changes().is_empty());
    }
}

#[test]
fn a_patch_that_does_not_fit_is_told_so_without_a_question() {
    let bench =
        filled(PatchWorkspace::with(SandboxPolicy::WorkspaceWrite, ApprovalPolicy::Untrusted, "", yes));
    let answer = bench.envelope("*** Update File: a.txt\n-no such line\n+x\n");
    assert!(!answer.success);
    assert!(answer.joined_text().contains("does not match"), "{}", answer.joined_text());
}
