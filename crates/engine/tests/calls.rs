//! Tests the engine's guarantees for every call (one answer, in order, under any failure) and its checks of tools.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use insta::assert_snapshot;
use parking_lot::Mutex;
use policy::{DenyRead, Effect, Gate, Intent, Permit, ReadRoot, ReadScope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Barrier, Notify};
use tokio_util::sync::CancellationToken;
use tool::{
    AnyTool, BoxFuture, CallId, Cx, ForeignToolSpec, Lane, RequiredCapability, StrictMode, ToolCall,
    ToolError, ToolErrorKind, ToolHandler, ToolOutput, ToolSource, WorkingDir,
};
use toolgate_engine::{
    CallEvent, CallLimits, CallObserver, OverflowStore, RegistryFault, ToolCallRuntime, ToolRegistry,
    ToolRegistryBuilder, ToolRouter, ToolsConfig, WebSearchMode,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoArgs {
    /// What to say.
    text: String,
}

/// Answers with its argument.
struct EchoTool;

impl ToolHandler for EchoTool {
    type Args = EchoArgs;
    const NAME: &'static str = "echo";
    const ABOUT: &'static str = "Says it back.";
    const ALIASES: &'static [&'static str] = &["container.echo"];
    const LANE: Lane = Lane::Shared;

    async fn run(&self, args: &EchoArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&args.text))
    }
}

#[derive(Deserialize, JsonSchema)]
struct EmptyArgs {}

/// A tool that runs a closure.
struct ClosureTool<F>(F);

impl<F, R> ToolHandler for ClosureTool<F>
where
    F: Fn(Cx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send,
{
    type Args = EmptyArgs;
    const NAME: &'static str = "act";
    const ABOUT: &'static str = "Acts.";

    async fn run(&self, _: &EmptyArgs, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        (self.0)(cx.clone()).await
    }
}

/// States an effect and does nothing.
struct StatedEffectTool(Effect);

impl ToolHandler for StatedEffectTool {
    type Args = EmptyArgs;
    const NAME: &'static str = "states";
    const ABOUT: &'static str = "States an effect.";

    fn intent(&self, _: &EmptyArgs, _: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent { effects: vec![self.0.clone()], ..Intent::default() })
    }

    async fn run(&self, _: &EmptyArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ran"))
    }
}

fn router(tools: ToolRegistryBuilder) -> ToolRouter {
    let deny = DenyRead::new(["**/.env"], None).unwrap();
    let gate = Gate::read_only(ReadScope::new(vec![ReadRoot::new("/w")], deny));
    ToolRouter::new(tools.build().unwrap(), gate, WorkingDir { cwd: "/w".into() })
}

fn say(id: &str, text: &str) -> ToolCall {
    ToolCall::function(id, "echo", format!(r#"{{"text": "{text}"}}"#))
}

async fn answer(router: &ToolRouter, call: ToolCall) -> (String, Option<ToolErrorKind>) {
    let output = router.dispatch(call, CancellationToken::new()).await;
    assert_eq!(output.success, output.facts.error.is_none());
    (output.joined_text(), output.facts.error)
}

#[tokio::test]
async fn every_fault_has_an_answer() {
    let router =
        router(ToolRegistry::builder().tool(EchoTool).tool(StatedEffectTool(Effect::Write("/w/a".into()))));
    let ask =
        async |name: &str, arguments: &str| answer(&router, ToolCall::function("1", name, arguments)).await;
    assert_eq!(ask("echo", r#"{"text": "hi"}"#).await, ("hi".into(), None));
    assert_eq!(ask("container.echo", r#"{"text": "hi"}"#).await, ("hi".into(), None));
    let (text, kind) = ask("eco", "{}").await;
    assert_snapshot!(text, @"there is no tool `eco`; did you mean `echo`?");
    assert_eq!(kind, Some(ToolErrorKind::UnknownTool));
    assert_snapshot!(ask("zzz", "{}").await.0, @"there is no tool `zzz`; there are `echo`, `states`");
    let (text, kind) = ask("echo", r#"{"text": 1}"#).await;
    assert_snapshot!(text, @"the arguments do not fit at `text`: expected a string, found a number");
    assert_eq!(kind, Some(ToolErrorKind::BadArguments));
    let (text, kind) = ask("states", "{}").await;
    assert_snapshot!(text, @"forbidden by policy: this needs approval: `/w/a` may not be changed: this session may change no files (the sandbox is read-only); no approver is available, so it was refused: try a way that needs no approval");
    assert_eq!(kind, Some(ToolErrorKind::Forbidden));
}

#[tokio::test]
async fn a_panic_becomes_an_answer_and_the_next_call_runs() {
    let count = Arc::new(AtomicUsize::new(0));
    let router = router(ToolRegistry::builder().tool(ClosureTool(move |_: Cx| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { panic!("boom") } else { Ok(ToolOutput::text("fine")) } }
    })));
    let (text, kind) = answer(&router, ToolCall::function("1", "act", "{}")).await;
    assert_snapshot!(text, @"the tool `act` crashed; the fault is in its code, not in the call: try another way");
    assert_eq!(kind, Some(ToolErrorKind::Crashed));
    assert_eq!(answer(&router, ToolCall::function("2", "act", "{}")).await.0, "fine");
}

#[tokio::test]
async fn a_panic_in_blocking_work_becomes_an_answer() {
    let router = router(ToolRegistry::builder().tool(ClosureTool(async |cx: Cx| {
        cx.run_blocking(|_| -> Result<ToolOutput, ToolError> { panic!("boom") }).await
    })));
    assert_eq!(answer(&router, ToolCall::function("1", "act", "{}")).await.1, Some(ToolErrorKind::Crashed));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_given_up_and_its_blocking_work_is_told() {
    let told = Arc::new(Notify::new());
    let tell = Arc::clone(&told);
    let act = ClosureTool(move |cx: Cx| {
        let tell = Arc::clone(&tell);
        async move {
            cx.run_blocking(move |stop| {
                while !stop.is_requested() {
                    std::thread::yield_now();
                }
                tell.notify_one();
                Ok(ToolOutput::text("too late"))
            })
            .await
        }
    });
    let router = router(ToolRegistry::builder().tool(act))
        .with_limits(CallLimits { call_timeout: Duration::from_millis(1500), ..CallLimits::default() });
    // Blocking work keeps a paused clock from advancing by itself.
    let dispatch = router.dispatch(ToolCall::function("1", "act", "{}"), CancellationToken::new());
    let (output, ()) = tokio::join!(dispatch, tokio::time::advance(Duration::from_secs(2)));
    assert_snapshot!(output.joined_text(), @"timed out after 1.5 seconds; ask for less at a time");
    assert_eq!(output.facts.error, Some(ToolErrorKind::TimedOut));
    told.notified().await;
}

#[tokio::test]
async fn answers_come_in_call_order_whatever_finishes_first() {
    let held = Arc::new(Notify::new());
    let hold = Arc::clone(&held);
    let router = router(ToolRegistry::builder().tool(EchoTool).tool(ClosureTool(move |_: Cx| {
        let hold = Arc::clone(&hold);
        async move {
            hold.notified().await;
            Ok(ToolOutput::text("slow"))
        }
    })));
    let mut runtime = ToolCallRuntime::new(router);
    runtime.start(say("a", "1")).unwrap();
    runtime.start(ToolCall::function("b", "act", "{}")).unwrap();
    runtime.start(say("c", "3")).unwrap();
    assert_eq!(runtime.open_count(), 3);
    assert_eq!(runtime.next_answer().await.unwrap().output.joined_text(), "1");
    held.notify_one();
    let rest = [runtime.next_answer().await.unwrap(), runtime.next_answer().await.unwrap()];
    assert_eq!(rest.map(|answer| answer.call.id.to_string()), ["b", "c"]);
    assert_eq!(runtime.next_answer().await, None);
}

#[tokio::test]
async fn shared_calls_meet_and_lone_calls_do_not() {
    let meeting = Arc::new(Barrier::new(3));
    struct BarrierTool(Arc<Barrier>);
    impl ToolHandler for BarrierTool {
        type Args = EmptyArgs;
        const NAME: &'static str = "meets";
        const ABOUT: &'static str = "Waits for two others.";
        const LANE: Lane = Lane::Shared;
        async fn run(&self, _: &EmptyArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            self.0.wait().await;
            Ok(ToolOutput::text("met"))
        }
    }
    let inside = Arc::new(AtomicUsize::new(0));
    let alone = ClosureTool(move |_: Cx| {
        let inside = Arc::clone(&inside);
        async move {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "runs alone");
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::text("alone"))
        }
    });
    let mut runtime =
        ToolCallRuntime::new(router(ToolRegistry::builder().tool(BarrierTool(meeting)).tool(alone)));
    for (id, name) in
        [("1", "meets"), ("2", "meets"), ("3", "meets"), ("4", "act"), ("5", "act"), ("6", "act")]
    {
        runtime.start(ToolCall::function(id, name, "{}")).unwrap();
    }
    while let Some(answer) = runtime.next_answer().await {
        assert!(answer.output.success, "{:?}", answer.output);
    }
}

#[tokio::test]
async fn one_call_or_a_turn_can_be_cancelled_and_is_still_answered() {
    let forever = ClosureTool(async |_: Cx| std::future::pending().await);
    let mut runtime = ToolCallRuntime::new(router(ToolRegistry::builder().tool(EchoTool).tool(forever)));
    for id in ["a", "b", "c"] {
        runtime.start(ToolCall::function(id, "act", "{}")).unwrap();
    }
    assert!(!runtime.cancel(&CallId::from("x")));
    assert!(runtime.cancel(&CallId::from("a")));
    let first = runtime.next_answer().await.unwrap().output;
    assert_snapshot!(first.joined_text(), @"aborted by the user after 0.0 seconds");
    runtime.cancel_turn();
    for _ in 0..2 {
        assert_eq!(runtime.next_answer().await.unwrap().output.facts.error, Some(ToolErrorKind::Cancelled));
    }
    runtime.start(say("d", "next turn")).unwrap();
    assert_eq!(runtime.next_answer().await.unwrap().output.joined_text(), "next turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lone_calls_run_in_the_models_order_on_many_threads() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let act = ClosureTool(move |cx: Cx| {
        let seen = Arc::clone(&seen);
        async move {
            tokio::task::yield_now().await;
            seen.lock().push(cx.call_id().to_string());
            Ok(ToolOutput::text("done"))
        }
    });
    let mut runtime = ToolCallRuntime::new(router(ToolRegistry::builder().tool(act).tool(SlowEchoTool)));
    for n in 0..500 {
        runtime.start(ToolCall::function(format!("{n:03}"), "act", "{}")).unwrap();
        runtime.start(ToolCall::function(format!("e{n}"), "late", r#"{"text": "x"}"#)).unwrap();
    }
    while let Some(answer) = runtime.next_answer().await {
        assert!(answer.output.success);
    }
    let order = order.lock();
    assert!(order.len() == 500 && order.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn a_cancelled_call_that_waited_does_not_run() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let act = ClosureTool(move |_: Cx| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { std::future::pending().await } else { Ok(ToolOutput::text("ran")) } }
    });
    let router = router(ToolRegistry::builder().tool(act));
    let mut runtime = ToolCallRuntime::new(router.clone());
    for id in ["a", "b", "c"] {
        runtime.start(ToolCall::function(id, "act", "{}")).unwrap();
    }
    runtime.cancel_turn();
    while let Some(answer) = runtime.next_answer().await {
        assert_eq!(answer.output.facts.error, Some(ToolErrorKind::Cancelled));
    }
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let late = router.dispatch(ToolCall::function("d", "act", "{}"), cancelled).await;
    assert_eq!(late.facts.error, Some(ToolErrorKind::Cancelled));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn panics_outside_the_tool_become_answers() {
    struct PanickingStore;
    impl OverflowStore for PanickingStore {
        fn store(&self, _: &CallId, _: &str) -> Option<String> {
            panic!("store")
        }
    }
    struct PanickingTool(tool::ToolSpec);
    impl tool::AnyTool for PanickingTool {
        fn spec(&self) -> &tool::ToolSpec {
            &self.0
        }
        fn lane(&self) -> Lane {
            panic!("lane")
        }
        fn plan(&self, _: &ToolCall, _: &WorkingDir) -> Result<Box<dyn tool::CallAttempt>, ToolError> {
            panic!("plan")
        }
    }
    let spec = tool::erase(SlowEchoTool).unwrap().spec().clone();
    let tools = ToolRegistry::builder().tool(EchoTool).erased(Arc::new(PanickingTool(spec)));
    let limits = CallLimits { output_tokens: 60, ..CallLimits::default() };
    let router = router(tools).with_limits(limits).with_overflow_store(Arc::new(PanickingStore));
    assert_eq!(answer(&router, ToolCall::function("1", "late", "{}")).await.1, Some(ToolErrorKind::Crashed));
    let short = answer(&router, say("2", &"x".repeat(1000))).await.0;
    assert!(short.contains("the rest was not kept"), "{short}");
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_free_again_once_answered() {
    let mut runtime = ToolCallRuntime::new(router(ToolRegistry::builder().tool(EchoTool)));
    runtime.start(say("a", "1")).unwrap();
    let twice = runtime.start(say("a", "2")).unwrap_err();
    assert_snapshot!(twice, @"the call id `a` is in use by a call that is not answered yet; this call was not run");
    assert_eq!(runtime.next_answer().await.unwrap().output.joined_text(), "1");
    runtime.start(say("a", "3")).unwrap();
    assert_eq!(runtime.next_answer().await.unwrap().output.joined_text(), "3");
}

#[tokio::test]
async fn long_answers_lose_their_middle_and_say_where_the_rest_is() {
    struct RecordingStore(Mutex<String>);
    impl OverflowStore for RecordingStore {
        fn store(&self, call: &CallId, text: &str) -> Option<String> {
            *self.0.lock() = text.to_owned();
            Some(format!("/state/{call}.txt"))
        }
    }
    let shelf = Arc::new(RecordingStore(Mutex::default()));
    let text: String = (0..100).map(|n| format!("line {n}\\n")).collect();
    let limits = CallLimits { output_tokens: 60, ..CallLimits::default() };
    let plain = router(ToolRegistry::builder().tool(EchoTool)).with_limits(limits);
    assert_snapshot!(answer(&plain, say("1", &text)).await.0, @r"
    line 0
    line 1
    [… 96 lines, 760 bytes (about 190 tokens) cut here; the rest was not kept: ask for less at a time …]
    line 98
    line 99
    ");
    let keeping = plain.with_overflow_store(Arc::clone(&shelf) as Arc<dyn OverflowStore>);
    let short = answer(&keeping, say("7", &text)).await.0;
    assert!(short.contains("the whole answer is in `/state/7.txt`"), "{short}");
    assert_eq!(shelf.0.lock().lines().count(), 100);
}

#[tokio::test]
async fn observers_see_every_step_and_cannot_spoil_it() {
    struct CallEventLog(Mutex<Vec<String>>);
    impl CallObserver for CallEventLog {
        fn on_event(&self, call: &CallId, event: &CallEvent) {
            let event = match event {
                CallEvent::Finished { success, error, .. } => format!("Finished {success} {error:?}"),
                _ => format!("{event:?}"),
            };
            self.0.lock().push(format!("{call} {event}"));
        }
    }
    struct PanickingObserver;
    impl CallObserver for PanickingObserver {
        fn on_event(&self, _: &CallId, _: &CallEvent) {
            panic!("observer")
        }
    }
    let log = Arc::new(CallEventLog(Mutex::default()));
    let router = router(ToolRegistry::builder().tool(EchoTool))
        .with_observer(Arc::new(PanickingObserver))
        .with_observer(Arc::clone(&log) as Arc<dyn CallObserver>);
    assert_eq!(answer(&router, say("1", "hi")).await.0, "hi");
    answer(&router, ToolCall::function("2", "nope", "")).await;
    assert_snapshot!(log.0.lock().join("\n"), @r#"
    1 Queued { tool: "echo" }
    1 Started
    1 Judged { verdict: "allow", why: [], by: "approval on-request" }
    1 Attempted { number: 1, sandbox: "read-only" }
    1 Finished true None
    2 Queued { tool: "nope" }
    2 Finished false Some(UnknownTool)
    "#);
    let stats = router.metrics().snapshot();
    let counted: Vec<_> = stats.iter().map(|s| (s.tool.as_str(), s.successes, s.errors)).collect();
    assert_eq!(counted, [("echo", 1, 0), ("(unknown)", 0, 1)]);
}

/// Answers with its argument after a varying delay, at times later than the calls after it.
struct SlowEchoTool;

impl ToolHandler for SlowEchoTool {
    type Args = EchoArgs;
    const NAME: &'static str = "late";
    const ABOUT: &'static str = "Says it back, later.";
    const LANE: Lane = Lane::Shared;

    async fn run(&self, args: &EchoArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        for _ in 0..args.text.len() * 7 % 5 {
            tokio::task::yield_now().await;
        }
        Ok(ToolOutput::text(&args.text))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_parallel_calls_answer_in_order() {
    let mut runtime = ToolCallRuntime::new(router(ToolRegistry::builder().tool(SlowEchoTool)));
    for n in 0..10_000 {
        let call = ToolCall::function(n.to_string(), "late", format!(r#"{{"text": "{n}"}}"#));
        runtime.start(call).unwrap();
    }
    assert_eq!(runtime.open_count(), 10_000);
    for n in 0..10_000 {
        let answer = runtime.next_answer().await.unwrap();
        assert_eq!(answer.call.id.as_str(), n.to_string());
        assert_eq!(answer.output.joined_text(), n.to_string());
    }
    assert_eq!(runtime.open_count(), 0);
}

#[test]
fn duplicates_of_ours_are_refused_and_foreign_ones_left_out() {
    struct ImpostorTool;
    impl ToolHandler for ImpostorTool {
        type Args = EmptyArgs;
        const NAME: &'static str = "echo";
        const ABOUT: &'static str = "Is not echo.";
        async fn run(&self, _: &EmptyArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text("impostor"))
        }
    }
    let twice = ToolRegistry::builder().tool(EchoTool).tool(ImpostorTool).build().err().unwrap();
    assert_snapshot!(twice, @"two tools are called `echo`; rename one, or leave one out");
    // Added first, and still not preferred.
    let registry =
        ToolRegistry::builder().foreign(tool::erase(ImpostorTool).unwrap()).tool(EchoTool).build().unwrap();
    assert_eq!(registry.rejected_tools(), [RegistryFault::Duplicate("echo".into())]);
    assert_eq!(registry.offered_names(), ["echo"]);
}

#[tokio::test]
async fn foreign_tools_are_checked_and_a_bad_one_takes_no_other_down() {
    let foreign = |name: &str, schema: serde_json::Value| {
        let foreign =
            ForeignToolSpec { name: name.into(), description: "x\u{202e}y".into(), input_schema: schema };
        foreign.into_tool_with(async |arguments: serde_json::Value, _: Cx| {
            Ok(ToolOutput::text(arguments.to_string()))
        })
    };
    assert!(foreign("bad_root", json!("nonsense")).is_err());
    let tools = ToolRegistry::builder()
        .foreign(foreign("bad name", json!({})).unwrap())
        .foreign(foreign("echo", json!({})).unwrap())
        .foreign(foreign("fine", json!({"properties": {"n": {"type": "integer", "maximum": 3}}})).unwrap())
        .tool(EchoTool);
    let router = router(tools);
    assert_eq!(router.registry().offered_names(), ["echo", "fine"]);
    let ask = async |arguments: &str| answer(&router, ToolCall::function("1", "fine", arguments)).await;
    assert_eq!(ask(r#"{"n": 2, "more": [1.0]}"#).await, (r#"{"more":[1.0],"n":2}"#.into(), None));
    let (text, kind) = ask(r#"{"n": 4}"#).await;
    assert_snapshot!(text, @"the arguments do not fit at `n`: expected an integer of at most 3, found 4");
    assert_eq!(kind, Some(ToolErrorKind::BadArguments));
    let tool::ToolSpec::Function(fine) = router.registry().offered_specs().remove(1) else {
        panic!("a function")
    };
    assert_eq!(fine.description, "xy");
}

#[test]
fn a_search_that_the_provider_runs_is_advertised_and_not_called() {
    let config = ToolsConfig { web_search: WebSearchMode::Cached, ..ToolsConfig::default() };
    let registry = ToolRegistry::builder().tool(EchoTool).with_config(config).build().unwrap();
    let specs = registry.offered_specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name()).collect();
    assert_eq!(names, ["echo", "web_search"]);
    assert!(registry.find("web_search").is_err());
}

#[test]
fn a_model_gets_what_it_can_use_and_what_the_user_allows() {
    struct ImageOnlyTool;
    impl ToolHandler for ImageOnlyTool {
        type Args = EmptyArgs;
        const NAME: &'static str = "shows";
        const ABOUT: &'static str = "Shows.";
        const NEEDS: RequiredCapability = RequiredCapability::ImageInput;
        async fn run(&self, _: &EmptyArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(""))
        }
    }
    let names = |config: ToolsConfig| {
        let registry =
            ToolRegistry::builder().tool(ImageOnlyTool).tool(EchoTool).with_config(config).build().unwrap();
        registry.offered_names()
    };
    let family = |model: &str| toolgate_engine::ModelFamily::for_model(model);
    let only = |name: &str| Some([name.to_owned()].into());
    assert_eq!(names(ToolsConfig::default()), ["echo", "shows"]);
    assert_eq!(names(ToolsConfig { family: family("deepseek-v3"), ..ToolsConfig::default() }), ["echo"]);
    assert_eq!(names(ToolsConfig { only: only("shows"), ..ToolsConfig::default() }), ["shows"]);
    assert_eq!(
        names(ToolsConfig { without: ["shows".to_owned()].into(), ..ToolsConfig::default() }),
        ["echo"]
    );
}

#[test]
fn a_strict_tool_must_have_a_strict_schema() {
    #[derive(Deserialize, JsonSchema)]
    struct OpenMapArgs {
        /// Anything.
        #[serde(flatten)]
        all: std::collections::BTreeMap<String, String>,
    }
    struct FalselyStrictTool;
    impl ToolHandler for FalselyStrictTool {
        type Args = OpenMapArgs;
        const NAME: &'static str = "claims";
        const ABOUT: &'static str = "Claims to be strict.";
        const STRICT: StrictMode = StrictMode::Yes;
        async fn run(&self, args: &OpenMapArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(format!("{:?}", args.all)))
        }
    }
    let refused = ToolRegistry::builder().tool(FalselyStrictTool).build().err().unwrap();
    assert_snapshot!(refused, @"the tool `claims` is marked strict, but its schema is not: the schema is not strict at `$`: the object accepts other properties than its own");
}

#[test]
fn a_strict_tool_is_sent_with_every_property_required() {
    #[derive(Deserialize, JsonSchema)]
    struct OptionalFieldArgs {
        /// Needed.
        a: String,
        /// Not needed.
        b: Option<u8>,
    }
    struct StrictTool;
    impl ToolHandler for StrictTool {
        type Args = OptionalFieldArgs;
        const NAME: &'static str = "strictly";
        const ABOUT: &'static str = "Is strict.";
        const STRICT: StrictMode = StrictMode::Yes;
        async fn run(&self, args: &OptionalFieldArgs, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(format!("{} {:?}", args.a, args.b)))
        }
    }
    let registry = ToolRegistry::builder().tool(StrictTool).build().unwrap();
    let tool::ToolSpec::Function(function) = registry.offered_specs().remove(0) else { panic!("a function") };
    assert_snapshot!(serde_json::to_string(&function.parameters).unwrap(), @r#"{"type":"object","properties":{"a":{"type":"string","description":"Needed."},"b":{"type":["integer","null"],"description":"Not needed.","minimum":0,"maximum":255}},"required":["a","b"],"additionalProperties":false}"#);
    // A strict schema makes the model write null for an absent value; null is read as absent.
    let router = router(ToolRegistry::builder().tool(StrictTool));
    let call = ToolCall::function("1", "strictly", r#"{"a": "x", "b": null}"#);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(answer(&router, call)).0, "x None");
}

/// A source whose tool appears once its semaphore has a permit.
struct LateToolSource {
    there: Arc<tokio::sync::Semaphore>,
    tool: Arc<dyn AnyTool>,
}

impl ToolSource for LateToolSource {
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        (name == "act" && self.there.available_permits() > 0).then(|| Arc::clone(&self.tool))
    }

    fn wait_for_tool(&self, name: &str) -> Option<BoxFuture<'static, ()>> {
        let there = Arc::clone(&self.there);
        let waits = async move { drop(there.acquire().await) };
        (name == "act" && self.there.available_permits() == 0)
            .then(|| Box::pin(waits) as BoxFuture<'static, ()>)
    }
}

#[tokio::test]
async fn pending_tool_does_not_block_readers() {
    let there = Arc::new(tokio::sync::Semaphore::new(0));
    let tool = tool::erase(ClosureTool(|_| async { Ok(ToolOutput::text("came")) })).unwrap();
    let source = LateToolSource { there: Arc::clone(&there), tool };
    let router = router(ToolRegistry::builder().tool(EchoTool).source(Arc::new(source)));
    let late = router.dispatch(ToolCall::function("1", "act", "{}"), CancellationToken::new());
    let read = router.dispatch(say("2", "read"), CancellationToken::new());
    assert_eq!(read.await.joined_text(), "read");
    there.add_permits(1);
    assert_eq!(late.await.joined_text(), "came");
}

#[tokio::test]
async fn router_with_own_lanes_does_not_wait_for_others() {
    let going = Arc::new(Notify::new());
    let waits = Arc::clone(&going);
    let act = ClosureTool(move |_| {
        let waits = Arc::clone(&waits);
        async move {
            waits.notified().await;
            Ok(ToolOutput::text("done"))
        }
    });
    let router = router(ToolRegistry::builder().tool(EchoTool).tool(act));
    let call = |id: &str| ToolCall::function(id, "act", "{}");
    let (first, second) = (router.with_own_lanes(), router.with_own_lanes());
    let held = first.dispatch(call("1"), CancellationToken::new());
    assert_eq!(second.dispatch(say("2", "read"), CancellationToken::new()).await.joined_text(), "read");
    going.notify_one();
    assert_eq!(held.await.joined_text(), "done");
}
