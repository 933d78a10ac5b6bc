//! Tests the router's guarantees for hooks: all run, the strictest decision wins, none loosens, none keeps running.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use parking_lot::Mutex;
use policy::{ApprovalQuestion, DenyRead, Effect, Gate, Intent, Permit, ReadRoot, ReadScope, ReviewDecision};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::{
    BoxFuture, CallId, Cx, FreeformArgs, FreeformLanguage, HALT_GRACE, TakenOverCall, TextGrammar, ToolCall,
    ToolError, ToolErrorKind, ToolHandler, ToolNotice, ToolOutput, ToolPayload, WorkingDir,
};
use toolgate_engine::{
    Approver, CallEvent, CallLimits, CallObserver, Hook, HookDecision, HookResponse, PlannedCall,
    ToolRegistry, ToolRouter,
};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
struct HookTestArgs {}

/// A tool that states an effect, waits for a given time and counts its runs.
struct SlowEffectTool {
    effect: Effect,
    takes: Duration,
    runs: Arc<AtomicUsize>,
}

impl ToolHandler for SlowEffectTool {
    type Args = HookTestArgs;
    const NAME: &'static str = "act";
    const ABOUT: &'static str = "Acts.";
    const ALIASES: &'static [&'static str] = &["container.act"];

    fn intent(&self, _: &HookTestArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::from_effects(vec![self.effect.clone()]))
    }

    async fn run(&self, _: &HookTestArgs, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        tokio::select! {
            halt = cx.wait_for_halt() => Ok(ToolOutput::text(format!("so far: {halt:?}"))),
            () = tokio::time::sleep(self.takes) => Ok(ToolOutput::text("acted")),
        }
    }
}

/// A hook with fixed responses that records the calls it sees.
#[derive(Default)]
struct RecordingHook {
    before: HookResponse,
    after: HookResponse,
    heard: Mutex<Vec<String>>,
}

impl RecordingHook {
    fn before(wants: HookDecision) -> Arc<Self> {
        Arc::new(Self {
            before: HookResponse { decision: wants, ..HookResponse::default() },
            ..Self::default()
        })
    }

    fn after(wants: HookDecision) -> Arc<Self> {
        Arc::new(Self {
            after: HookResponse { decision: wants, ..HookResponse::default() },
            ..Self::default()
        })
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().clone()
    }
}

impl Hook for RecordingHook {
    fn name(&self) -> &str {
        "says"
    }

    fn before<'a>(&'a self, call: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        self.heard.lock().push(format!("before {} as {}", call.tool, call.call.name));
        Box::pin(std::future::ready(self.before.clone()))
    }

    fn after<'a>(&'a self, call: PlannedCall<'a>, output: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        self.heard.lock().push(format!("after {}: {}", call.tool, output.joined_text()));
        Box::pin(std::future::ready(self.after.clone()))
    }
}

/// A hook that runs one closure before and after the call.
struct ClosureHook<F>(F);

impl<F> Hook for ClosureHook<F>
where
    F: Fn(&'static str) -> BoxFuture<'static, HookResponse> + Send + Sync,
{
    fn name(&self) -> &str {
        "does"
    }

    fn before<'a>(&'a self, _: PlannedCall<'a>) -> BoxFuture<'a, HookResponse> {
        (self.0)("before")
    }

    fn after<'a>(&'a self, _: PlannedCall<'a>, _: &'a ToolOutput) -> BoxFuture<'a, HookResponse> {
        (self.0)("after")
    }
}

/// An approver that gives every question one fixed answer.
struct FixedApprover(ReviewDecision, AtomicUsize);

impl Approver for FixedApprover {
    fn ask<'a>(&'a self, _: &'a CallId, _: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(self.0.clone()))
    }
}

#[derive(Default)]
struct WarningRecorder(Mutex<Vec<String>>);

impl CallObserver for WarningRecorder {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::Notice(ToolNotice::Warning { text }) = event {
            self.0.lock().push(text.clone());
        }
    }
}

/// Returns a router with one tool, and the counter of that tool's runs.
fn router(effect: Effect, takes: Duration) -> (ToolRouter, Arc<AtomicUsize>) {
    let gate =
        Gate::read_only(ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new(["**/.env"], None).unwrap()));
    let runs = Arc::default();
    let acts = SlowEffectTool { effect, takes, runs: Arc::clone(&runs) };
    let tools = ToolRegistry::builder().tool(acts).build().unwrap();
    let router = ToolRouter::new(tools, gate, WorkingDir { cwd: "/w".into() });
    (router.with_limits(CallLimits { call_timeout: LIMIT, ..CallLimits::default() }), runs)
}

fn reads() -> Effect {
    Effect::Read("/w/a".into())
}

fn act() -> ToolCall {
    ToolCall::function("1", "act", "{}")
}

async fn answer(router: &ToolRouter) -> ToolOutput {
    router.dispatch(act(), CancellationToken::new()).await
}

fn deny(why: &str) -> HookDecision {
    HookDecision::Deny(why.to_owned())
}

fn ask(why: &str) -> HookDecision {
    HookDecision::Ask(why.to_owned())
}

#[tokio::test]
async fn the_strictest_counts_and_a_deny_ends_it() {
    let (router, runs) = router(reads(), Duration::ZERO);
    let asked = Arc::new(FixedApprover(ReviewDecision::Approved, AtomicUsize::new(0)));
    let last = RecordingHook::before(HookDecision::NoObjection);
    let router = router
        .with_approver(Arc::clone(&asked) as Arc<dyn Approver>)
        .with_hook(RecordingHook::before(ask("look at it")))
        .with_hook(RecordingHook::before(deny("not on a Friday")))
        .with_hook(Arc::clone(&last) as Arc<dyn Hook>);
    let output = answer(&router).await;
    assert_snapshot!(output.joined_text(), @"forbidden by policy: the hook `says` forbids it: not on a Friday");
    assert_eq!(output.facts.error, Some(ToolErrorKind::Forbidden));
    assert_eq!((runs.load(Ordering::SeqCst), asked.1.load(Ordering::SeqCst)), (0, 0));
    assert!(last.heard().is_empty());
}

#[tokio::test]
async fn a_hook_that_asks_is_asked_about_each_time() {
    for (decision, ran) in [
        (ReviewDecision::ApprovedForSession, true),
        (ReviewDecision::Denied { note: Some("no".to_owned()) }, false),
    ] {
        let (router, _) = router(reads(), Duration::ZERO);
        let asked = Arc::new(FixedApprover(decision, AtomicUsize::new(0)));
        let router = router
            .with_approver(Arc::clone(&asked) as Arc<dyn Approver>)
            .with_hook(RecordingHook::before(ask("look at it")));
        assert_eq!(answer(&router).await.success, ran);
        assert_eq!(answer(&router).await.success, ran);
        assert_eq!(asked.1.load(Ordering::SeqCst), 2);
    }
    let (router, _) = router(reads(), Duration::ZERO);
    let unasked = answer(&router.with_hook(RecordingHook::before(ask("look at it")))).await;
    assert!(unasked.joined_text().contains("the hook `says` asks: look at it"), "{}", unasked.joined_text());
}

#[tokio::test]
async fn a_hook_that_crashes_says_no() {
    let crash: fn(&'static str) -> BoxFuture<'static, HookResponse> = |_| panic!("boom");
    let late: fn(&'static str) -> BoxFuture<'static, HookResponse> = |_| Box::pin(async { panic!("boom") });
    let only_after: fn(&'static str) -> BoxFuture<'static, HookResponse> = |when| {
        assert_eq!(when, "before");
        Box::pin(std::future::ready(HookResponse::default()))
    };
    for (hook, ran) in [(crash, 0), (late, 0), (only_after, 1)] {
        let (router, runs) = router(reads(), Duration::ZERO);
        let output = answer(&router.with_hook(Arc::new(ClosureHook(hook)))).await;
        let text = output.joined_text();
        assert!(text.starts_with("forbidden by policy: the hook `does` forbids it: "), "{text}");
        assert!(text.ends_with("it crashed") && text.contains("withheld") == (ran == 1), "{text}");
        assert_eq!((output.facts.error, runs.load(Ordering::SeqCst)), (Some(ToolErrorKind::Forbidden), ran));
    }
}

#[tokio::test]
async fn notes_stand_before_the_answer_and_warnings_are_told() {
    let (router, _) = router(reads(), Duration::ZERO);
    let says = |text: &str| HookResponse {
        note: Some(text.to_owned()),
        warning: Some(format!("{text} broke")),
        ..HookResponse::default()
    };
    let watches = Arc::new(WarningRecorder::default());
    let hook = RecordingHook { before: says("one"), after: says("two"), ..RecordingHook::default() };
    let router =
        router.with_observer(Arc::clone(&watches) as Arc<dyn CallObserver>).with_hook(Arc::new(hook));
    assert_snapshot!(answer(&router).await.joined_text(), @"
    Note of the hook `says`: one
    Note of the hook `says`: two
    acted
    ");
    assert_eq!(
        *watches.0.lock(),
        ["the hook `says` was ignored: one broke", "the hook `says` was ignored: two broke"]
    );
}

#[tokio::test]
async fn a_deny_afterwards_withholds_the_answer() {
    for wants in [deny("a secret is in it"), ask("a secret is in it")] {
        let (router, runs) = router(reads(), Duration::ZERO);
        let last = RecordingHook::after(HookDecision::NoObjection);
        let output = answer(
            &router.with_hook(RecordingHook::after(wants)).with_hook(Arc::clone(&last) as Arc<dyn Hook>),
        )
        .await;
        assert_eq!(
            output.joined_text(),
            "forbidden by policy: the hook `says` forbids it: the call was done, and its answer is withheld: a secret is in it"
        );
        assert_eq!((output.success, output.structured), (false, None));
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(last.heard(), ["before act as act"]);
    }
}

#[tokio::test]
async fn hooks_hear_the_tools_own_name_and_no_call_that_is_none() {
    let (router, _) = router(reads(), Duration::ZERO);
    let hook = RecordingHook::before(HookDecision::NoObjection);
    let router = router.with_hook(Arc::clone(&hook) as Arc<dyn Hook>);
    let call = |name: &str, arguments: &str| {
        router.dispatch(ToolCall::function("1", name, arguments), CancellationToken::new())
    };
    assert_eq!(call("atc", "{}").await.facts.error, Some(ToolErrorKind::UnknownTool));
    assert_eq!(call("act", "[]").await.facts.error, Some(ToolErrorKind::BadArguments));
    assert!(hook.heard().is_empty());
    assert!(call("container.act", "{}").await.success);
    assert_eq!(hook.heard(), ["before act as container.act", "after act: acted"]);
}

#[derive(Deserialize, JsonSchema)]
struct HookShellArgs {
    /// What it runs.
    cmd: String,
}

struct FakeShellTool;

impl ToolHandler for FakeShellTool {
    type Args = HookShellArgs;
    const NAME: &'static str = "shell";
    const ABOUT: &'static str = "Runs.";

    fn intent(&self, args: &HookShellArgs, place: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::run(["sh", "-c", &args.cmd].map(str::to_owned).to_vec(), &place.cwd))
    }

    async fn run(&self, _: &HookShellArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ran"))
    }
}

struct AnyPatchText;

impl FreeformLanguage for AnyPatchText {
    const GRAMMAR: TextGrammar = TextGrammar { syntax: "regex", definition: ".*" };
}

struct FakePatchTool;

impl ToolHandler for FakePatchTool {
    type Args = FreeformArgs<AnyPatchText>;
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = "Applies a patch.";

    fn takes_over(&self, intent: &Intent) -> Option<TakenOverCall> {
        let exec = intent.command()?;
        let patch = exec.analysis().patch.clone()?;
        let cwd = policy::normalize_path(&exec.cwd().join(patch.directory.unwrap_or_default()));
        let working_dir = WorkingDir { cwd };
        Some(TakenOverCall { payload: ToolPayload::Custom { input: patch.text }, working_dir })
    }

    async fn run(&self, _: &FreeformArgs<AnyPatchText>, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("applied"))
    }
}

#[tokio::test]
async fn a_patch_in_a_shell_is_heard_as_a_patch() {
    let reach = ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap());
    let tools = ToolRegistry::builder().tool(FakeShellTool).tool(FakePatchTool).build().unwrap();
    let hook = RecordingHook::before(HookDecision::NoObjection);
    let router = ToolRouter::new(tools, Gate::read_only(reach), WorkingDir { cwd: "/w".into() })
        .with_hook(Arc::clone(&hook) as Arc<dyn Hook>);
    let arguments = r#"{"cmd": "cd sub && apply_patch <<'E'\n*** Begin Patch\nE"}"#;
    router.dispatch(ToolCall::function("1", "shell", arguments), CancellationToken::new()).await;
    assert_eq!(hook.heard(), ["before apply_patch as apply_patch", "after apply_patch: applied"]);
}

#[tokio::test]
async fn hooks_hear_of_a_call_that_was_refused() {
    let (router, runs) = router(Effect::Read("/etc/passwd".into()), Duration::ZERO);
    let hook = RecordingHook::before(HookDecision::NoObjection);
    let output = answer(&router.with_hook(Arc::clone(&hook) as Arc<dyn Hook>)).await;
    assert_eq!(output.facts.error, Some(ToolErrorKind::Forbidden));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(
        hook.heard(),
        ["before act as act".to_owned(), format!("after act: {}", output.joined_text())]
    );
}

/// A hook that never answers at `when`; signals that it was asked and counts its drops.
fn hangs(when: &'static str, asked: &Arc<Notify>, dropped: &Arc<AtomicUsize>) -> Arc<dyn Hook> {
    struct DropCounter(Arc<AtomicUsize>);
    impl Drop for DropCounter {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (asked, dropped) = (Arc::clone(asked), Arc::clone(dropped));
    Arc::new(ClosureHook(move |now: &'static str| -> BoxFuture<'static, HookResponse> {
        let (asked, gone) = (Arc::clone(&asked), DropCounter(Arc::clone(&dropped)));
        Box::pin(async move {
            if now == when {
                asked.notify_one();
                std::future::pending::<()>().await;
            }
            drop(gone);
            HookResponse::default()
        })
    }))
}

#[tokio::test(start_paused = true)]
async fn cancelling_drops_the_hook_that_is_asked() {
    for (when, ran, dropped_in_all) in [("before", 0, 1), ("after", 1, 2)] {
        let (router, runs) = router(reads(), Duration::ZERO);
        let (asked, dropped) = (Arc::default(), Arc::default());
        let router = router.with_hook(hangs(when, &asked, &dropped));
        let cancel = CancellationToken::new();
        let cancelling = async {
            asked.notified().await;
            cancel.cancel();
        };
        let (output, ()) = tokio::join!(router.dispatch(act(), cancel.clone()), cancelling);
        assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
        assert!(output.joined_text().starts_with("aborted by the user"), "{}", output.joined_text());
        assert_eq!(runs.load(Ordering::SeqCst), ran);
        assert_eq!(dropped.load(Ordering::SeqCst), dropped_in_all);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_takes_none_of_the_tools_time() {
    let (router, _) = router(reads(), LIMIT / 2);
    let slow: fn(&'static str) -> BoxFuture<'static, HookResponse> = |_| {
        Box::pin(async {
            tokio::time::sleep(LIMIT).await;
            HookResponse::default()
        })
    };
    let began = tokio::time::Instant::now();
    assert!(answer(&router.with_hook(Arc::new(ClosureHook(slow)))).await.success);
    assert_eq!(began.elapsed(), LIMIT * 5 / 2);
}

#[tokio::test(start_paused = true)]
async fn what_a_cancelled_tool_had_is_heard_too_or_withheld() {
    let cancelled = async |hook: Arc<dyn Hook>| {
        let (router, _) = router(reads(), LIMIT);
        let cancel = CancellationToken::new();
        let cancelling = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        let began = tokio::time::Instant::now();
        let (output, ()) = tokio::join!(router.with_hook(hook).dispatch(act(), cancel.clone()), cancelling);
        assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
        (output.joined_text(), began.elapsed())
    };
    let second = Duration::from_secs(1);
    let heard = cancelled(RecordingHook::after(HookDecision::NoObjection)).await;
    assert_eq!(heard, ("so far: Cancelled { cause: User }".to_owned(), second));
    let denied = cancelled(RecordingHook::after(deny("a secret is in it"))).await;
    let text = "forbidden by policy: the hook `says` forbids it: the call was done, and its answer is withheld: a secret is in it".to_owned();
    assert_eq!(denied, (text, second));
    let (text, took) = cancelled(hangs("after", &Arc::default(), &Arc::default())).await;
    assert!(text.starts_with("aborted by the user"), "{text}");
    assert_eq!(took, second + HALT_GRACE);
}

fn effect() -> impl Strategy<Value = Effect> {
    prop_oneof![
        Just(reads()),
        Just(Effect::Read("/etc/passwd".into())),
        Just(Effect::Read("/w/.env".into())),
        Just(Effect::Write("/w/a".into())),
        Just(Effect::Network("example.org:443".into())),
    ]
}

fn wants() -> impl Strategy<Value = HookDecision> {
    prop_oneof![
        Just(HookDecision::NoObjection),
        any::<String>().prop_map(HookDecision::Ask),
        any::<String>().prop_map(HookDecision::Deny),
    ]
}

fn says() -> impl Strategy<Value = HookResponse> {
    (wants(), any::<Option<String>>(), any::<Option<String>>())
        .prop_map(|(wants, note, warning)| HookResponse { decision: wants, note, warning })
}

proptest! {
    #[test]
    fn no_hook_loosens(effect in effect(), hooks in proptest::collection::vec((says(), says()), 0..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        // Without an approver, then with one that says no, then with one that says yes.
        for decision in [None, Some(ReviewDecision::Denied { note: None }), Some(ReviewDecision::Approved)] {
            let with = |hooks: &[(HookResponse, HookResponse)]| {
                let (mut router, runs) = router(effect.clone(), Duration::ZERO);
                if let Some(decision) = decision.clone() {
                    router = router.with_approver(Arc::new(FixedApprover(decision, AtomicUsize::new(0))));
                }
                for (before, after) in hooks.iter().cloned() {
                    router = router.with_hook(Arc::new(RecordingHook { before, after, ..RecordingHook::default() }));
                }
                (runtime.block_on(answer(&router)).success, runs.load(Ordering::SeqCst))
            };
            let (without, hooked) = (with(&[]), with(&hooks));
            assert!(hooked <= without, "{without:?} became {hooked:?}");
        }
    }
}
