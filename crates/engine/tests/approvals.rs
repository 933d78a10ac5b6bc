//! Tests approvals: which calls ask the user, how often, and the resulting output for the model.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use insta::assert_snapshot;
use parking_lot::Mutex;
use policy::rules::{NewRule, RuleSet};
use policy::{
    ApprovalQuestion, Confinement, Denial, DenyRead, Effect, Gate, Intent, Permit, ReadRoot, ReadScope,
    ReviewDecision, SandboxPolicy,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tool::{
    CallId, Cx, FreeformArgs, FreeformLanguage, Lane, TakenOverCall, TextGrammar, ToolCall, ToolError,
    ToolErrorKind, ToolHandler, ToolOutput, ToolPayload, WorkingDir,
};
use toolgate_engine::{Approver, CallLimits, Rulebook, ToolCallRuntime, ToolRegistry, ToolRouter};

#[derive(Deserialize, JsonSchema)]
struct RunScriptArgs {
    /// A script.
    script: String,
}

/// Pretends to run a script; reports a denied write as a sandbox refusal.
struct PretendShellTool;

impl ToolHandler for PretendShellTool {
    type Args = RunScriptArgs;
    const NAME: &'static str = "run";
    const ABOUT: &'static str = "Runs a script.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &RunScriptArgs, place: &WorkingDir) -> Result<Intent, ToolError> {
        let argv = ["bash", "-c", &args.script].map(str::to_owned).to_vec();
        Ok(Intent::run(argv, &place.cwd))
    }

    async fn run(&self, args: &RunScriptArgs, permit: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let outside = args.script.strip_prefix("write ").map(std::path::PathBuf::from);
        let Some(confinement) = permit.confinement() else { return Ok(ToolOutput::text("ran free")) };
        match outside.filter(|path| !confinement.may_write(path)) {
            None => Ok(ToolOutput::text("ran")),
            Some(path) => {
                let mut output = ToolOutput::failure("failed");
                output.facts.denials = vec![Denial::MayNotWrite { path, roots: vec!["/w".into()] }];
                Ok(output)
            }
        }
    }
}

struct AnyText;

impl FreeformLanguage for AnyText {
    const GRAMMAR: TextGrammar = TextGrammar { syntax: "regex", definition: ".*" };
}

/// Answers with the patch text and the working directory.
struct EchoPatchTool;

impl ToolHandler for EchoPatchTool {
    type Args = FreeformArgs<AnyText>;
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = "Applies a patch.";

    fn takes_over(&self, intent: &Intent) -> Option<TakenOverCall> {
        let exec = intent.command()?;
        let patch = exec.analysis().patch.clone()?;
        let cwd = policy::normalize_path(&exec.cwd().join(patch.directory.unwrap_or_default()));
        let working_dir = WorkingDir { cwd };
        Some(TakenOverCall { payload: ToolPayload::Custom { input: patch.text }, working_dir })
    }

    async fn run(&self, args: &FreeformArgs<AnyText>, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} in {}", args.text, cx.cwd().display())))
    }
}

type DecisionFn = Box<dyn Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync>;

struct ScriptedApprover {
    answer: DecisionFn,
    asked: Mutex<Vec<String>>,
    thinks: Duration,
    at_once: AtomicUsize,
}

impl ScriptedApprover {
    fn new(answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static) -> Arc<Self> {
        Self::slow(Duration::ZERO, answer)
    }

    fn slow(
        thinks: Duration,
        answer: impl Fn(&ApprovalQuestion) -> ReviewDecision + Send + Sync + 'static,
    ) -> Arc<Self> {
        let at_once = AtomicUsize::new(0);
        Arc::new(Self { answer: Box::new(answer), asked: Mutex::default(), thinks, at_once })
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock())
    }
}

impl Approver for ScriptedApprover {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async {
            assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0, "two questions at a time");
            tokio::time::sleep(self.thinks).await;
            self.at_once.store(0, Ordering::SeqCst);
            let why: Vec<String> = question.reasons.iter().map(ToString::to_string).collect();
            self.asked.lock().push(why.join("; "));
            (self.answer)(question)
        })
    }
}

fn router() -> ToolRouter {
    let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
    let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
    let gate = Gate::new(reach, SandboxPolicy::WorkspaceWrite).with_confinement(confinement);
    let tools = ToolRegistry::builder().tool(PretendShellTool).tool(EchoPatchTool).build().unwrap();
    ToolRouter::new(tools, gate, WorkingDir { cwd: "/w".into() })
}

fn call(id: &str, script: &str) -> ToolCall {
    ToolCall::function(id, "run", serde_json::json!({ "script": script }).to_string())
}

async fn answer(router: &ToolRouter, script: &str) -> (String, Option<ToolErrorKind>) {
    let output = router.dispatch(call("1", script), CancellationToken::new()).await;
    (output.joined_text(), output.facts.error)
}

#[tokio::test]
async fn a_no_is_told_with_its_note() {
    let person =
        ScriptedApprover::new(|_| ReviewDecision::Denied { note: Some("use git clean -n first".to_owned()) });
    let router = router().with_approver(person.clone());
    assert_eq!(answer(&router, "make").await, ("ran".into(), None));
    assert!(person.asked().is_empty());
    let (text, error) = answer(&router, "rm -rf x").await;
    assert_snapshot!(text, @"denied by the user: use git clean -n first");
    assert_eq!(error, Some(ToolErrorKind::Denied));
    assert_eq!(person.asked(), ["`rm -rf x` removes files without asking"]);
}

#[tokio::test]
async fn an_unanswered_question_is_no_denial_by_the_user() {
    let away = ScriptedApprover::new(|_| ReviewDecision::Unanswered {
        why: "the client showed it to no one".into(),
    });
    let router = router().with_approver(away);
    let (text, error) = answer(&router, "rm -rf x").await;
    assert_snapshot!(text, @"refused, because no person answered: the client showed it to no one (it needed a yes, because `rm -rf x` removes files without asking)");
    assert_eq!(error, Some(ToolErrorKind::Denied));
    let (text, _) = answer(&router, "write /out/a").await;
    assert_snapshot!(text, @"
    The user was asked to let it change `/out/a`, but no person answered: the client showed it to no one.
    failed
    ");
}

#[tokio::test]
async fn an_approver_that_panics_is_not_blamed_on_the_tool() {
    let broken = ScriptedApprover::new(|_| panic!("a bug of the approver"));
    let (text, error) = answer(&router().with_approver(broken), "rm -rf x").await;
    assert_snapshot!(text, @"refused, because no person answered: the program that asks the user crashed (it needed a yes, because `rm -rf x` removes files without asking)");
    assert_eq!(error, Some(ToolErrorKind::Denied));
}

#[tokio::test]
async fn without_an_approver_a_question_is_refused() {
    let (text, error) = answer(&router(), "rm -rf x").await;
    assert_snapshot!(text, @"forbidden by policy: this needs approval: `rm -rf x` removes files without asking; no approver is available, so it was refused: try a way that needs no approval");
    assert_eq!(error, Some(ToolErrorKind::Forbidden));
    // Without an approver, a sandbox refusal stays as it is.
    assert_eq!(answer(&router(), "write /out/a").await, ("failed".into(), None));
}

#[tokio::test]
async fn a_refusal_is_asked_about_and_just_that_is_given() {
    let person = ScriptedApprover::new(|question| {
        assert!(question.is_retry && question.confinement.is_some());
        ReviewDecision::ApprovedForSession
    });
    let router = router().with_approver(person.clone());
    let (text, _) = answer(&router, "write /out/a").await;
    assert_snapshot!(text, @"
    It was refused something at first; the user let it change `/out/a`, and it was run again from the beginning.
    ran
    ");
    assert_eq!(person.asked().len(), 1);
    // An approved write needs no further question and is not refused first; another write needs one.
    assert_eq!(answer(&router, "write /out/a").await.0, "ran");
    assert!(person.asked().is_empty());
    answer(&router, "write /out/b").await;
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_no_to_more_leaves_what_there_is() {
    let router = router().with_approver(ScriptedApprover::new(|_| ReviewDecision::Denied { note: None }));
    assert_snapshot!(answer(&router, "write /out/a").await.0, @"
    The user was asked to let it change `/out/a`, and said no.
    failed
    ");
}

#[tokio::test(start_paused = true)]
async fn questions_come_one_at_a_time_and_one_answer_is_enough_for_equals() {
    let person = ScriptedApprover::slow(Duration::from_secs(5), |_| ReviewDecision::ApprovedForSession);
    let mut runtime = ToolCallRuntime::new(router().with_approver(person.clone()));
    for id in 0..4 {
        runtime.start(call(&id.to_string(), "rm -rf x")).unwrap();
    }
    runtime.start(call("other", "rm -rf y")).unwrap();
    while let Some(answer) = runtime.next_answer().await {
        assert_eq!(answer.output.joined_text(), "ran");
    }
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn approval_time_does_not_count_as_call_time() {
    let person = ScriptedApprover::slow(Duration::from_secs(3600), |_| ReviewDecision::Approved);
    let limits = CallLimits { call_timeout: Duration::from_secs(1), ..CallLimits::default() };
    let router = router().with_limits(limits).with_approver(person);
    assert_eq!(answer(&router, "rm -rf x").await.0, "ran");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_does_not_wait_for_an_answer() {
    let router =
        router().with_approver(ScriptedApprover::slow(Duration::MAX / 4, |_| ReviewDecision::Approved));
    let cancel = CancellationToken::new();
    let asking = router.dispatch(call("1", "rm -rf x"), cancel.clone());
    let (output, ()) = tokio::join!(asking, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
}

#[tokio::test]
async fn stop_ends_the_turn() {
    let person = ScriptedApprover::slow(Duration::from_millis(5), |_| ReviewDecision::Abort);
    let mut runtime = ToolCallRuntime::new(router().with_approver(person.clone()));
    for id in 0..5 {
        runtime.start(call(&id.to_string(), &format!("rm -rf {id}"))).unwrap();
    }
    let mut kinds = Vec::new();
    while let Some(answer) = runtime.next_answer().await {
        kinds.push(answer.output.facts.error.unwrap());
    }
    assert_eq!(kinds[0], ToolErrorKind::Stopped);
    assert_eq!(kinds.len(), 5);
    assert!(kinds[1..].iter().all(|kind| *kind == ToolErrorKind::Cancelled), "{kinds:?}");
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_rule_is_saved_and_counts_at_once_or_the_session_remembers() {
    struct RecordingRulebook(Mutex<Vec<String>>, bool);
    impl Rulebook for RecordingRulebook {
        fn save(&self, rule: &NewRule) -> Result<RuleSet, String> {
            self.0.lock().push(rule.to_string());
            match self.1 {
                true => RuleSet::parse(&rule.to_string(), "r.toml".as_ref(), policy::RuleLayer::User)
                    .map_err(|fault| fault.to_string()),
                false => Err("the disk is full".to_owned()),
            }
        }
    }
    for works in [true, false] {
        let person = ScriptedApprover::new(|question| {
            ReviewDecision::ApprovedWithRule(question.proposal.clone().unwrap().rule)
        });
        let book = Arc::new(RecordingRulebook(Mutex::default(), works));
        let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
        let gate =
            Gate::new(reach, SandboxPolicy::WorkspaceWrite).with_approval(policy::ApprovalPolicy::Untrusted);
        let tools = ToolRegistry::builder().tool(PretendShellTool).build().unwrap();
        let router = ToolRouter::new(tools, gate, WorkingDir { cwd: "/w".into() })
            .with_approver(person.clone())
            .with_rulebook(book.clone());
        assert_eq!(answer(&router, "cargo test").await.0, "ran");
        assert_eq!(answer(&router, "cargo test").await.0, "ran");
        assert_eq!(person.asked().len(), 1);
        let saved = book.0.lock().join("\n");
        assert_eq!(
            saved,
            "[[rule]]\npattern = [\"cargo\", \"test\"]\ndecision = \"allow\"\nmatch = [[\"cargo\", \"test\"]]\n"
        );
    }
}

#[tokio::test]
async fn a_patch_in_a_shell_is_a_patch() {
    let router = router();
    let text = async |script: &str| answer(&router, script).await.0;
    assert_eq!(text("apply_patch <<'E'\n*** Begin Patch\nE").await, "*** Begin Patch\n in /w");
    assert_eq!(text("cd sub && apply_patch <<'E'\n*** Begin Patch\nE").await, "*** Begin Patch\n in /w/sub");
    // A patch together with other commands is a command.
    assert_eq!(text("apply_patch <<'E'\n*** Begin Patch\nE\nls").await, "ran");
}

#[tokio::test]
async fn what_states_a_write_outside_is_asked_before_it_runs() {
    #[derive(Deserialize, JsonSchema)]
    struct WriteOutsideArgs {}
    struct WriteOutsideTool;
    impl ToolHandler for WriteOutsideTool {
        type Args = WriteOutsideArgs;
        const NAME: &'static str = "writes";
        const ABOUT: &'static str = "Writes.";

        fn intent(&self, _: &WriteOutsideArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
            Ok(Intent::from_effects(vec![Effect::Write("/out/a".into()), Effect::Write("/out/b".into())]))
        }

        async fn run(&self, _: &WriteOutsideArgs, permit: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            let confinement = permit.confinement().unwrap();
            assert!(confinement.may_write("/out/a".as_ref()) && confinement.may_write("/out/b".as_ref()));
            assert!(!confinement.may_write("/out/c".as_ref()));
            Ok(ToolOutput::text("wrote"))
        }
    }
    let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
    let gate = Gate::new(reach, SandboxPolicy::WorkspaceWrite);
    let person = ScriptedApprover::new(|question| {
        assert_eq!(question.grants.len(), 2);
        ReviewDecision::Approved
    });
    let tools = ToolRegistry::builder().tool(WriteOutsideTool).build().unwrap();
    let router = ToolRouter::new(tools, gate, WorkingDir { cwd: "/w".into() }).with_approver(person);
    let output = router.dispatch(ToolCall::function("1", "writes", "{}"), CancellationToken::new()).await;
    assert_eq!(output.joined_text(), "wrote");
}
