//! Tests cancelled and timed-out calls (partial answer, or tool dropped), and streaming that waits for observers.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use insta::assert_snapshot;
use parking_lot::Mutex;
use policy::{DenyRead, Gate, Permit, ReadRoot, ReadScope};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::{
    BoxFuture, CallId, Cx, HALT_GRACE, HaltReason, OutputFacts, OutputStream, ProcessUsage, ToolCall,
    ToolError, ToolErrorKind, ToolHandler, ToolNotice, ToolOutput, WorkingDir,
};
use toolgate_engine::{CallEvent, CallLimits, CallObserver, ToolCallRuntime, ToolRegistry, ToolRouter};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
struct HaltTestArgs {}

/// A tool that runs a closure.
struct HaltableTool<F>(F);

impl<F, R> ToolHandler for HaltableTool<F>
where
    F: Fn(Cx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send,
{
    type Args = HaltTestArgs;
    const NAME: &'static str = "act";
    const ABOUT: &'static str = "Acts.";

    async fn run(&self, _: &HaltTestArgs, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        (self.0)(cx.clone()).await
    }
}

/// Sets its flag when it is dropped.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn router<F, R>(act: F) -> ToolRouter
where
    F: Fn(Cx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let gate =
        Gate::read_only(ReadScope::new(vec![ReadRoot::new("/w")], DenyRead::new([""; 0], None).unwrap()));
    let tools = ToolRegistry::builder().tool(HaltableTool(act)).build().unwrap();
    ToolRouter::new(tools, gate, WorkingDir { cwd: "/w".into() })
        .with_limits(CallLimits { call_timeout: LIMIT, ..CallLimits::default() })
}

fn act(id: &str) -> ToolCall {
    ToolCall::function(id, "act", "{}")
}

/// Makes a call, cancels it after `wait`, and also returns the elapsed time.
async fn cancelled(router: &ToolRouter, wait: Duration) -> (ToolOutput, Duration) {
    let (cancel, began) = (CancellationToken::new(), Instant::now());
    let dispatch = router.dispatch(act("1"), cancel.clone());
    let cancelling = async {
        tokio::time::sleep(wait).await;
        cancel.cancel();
    };
    (tokio::join!(dispatch, cancelling).0, began.elapsed())
}

async fn timed_out(router: &ToolRouter) -> (ToolOutput, Duration) {
    let began = Instant::now();
    let output = router.dispatch(act("1"), CancellationToken::new()).await;
    (output, began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_told_answers_with_what_it_has() {
    let router = router(async |cx: Cx| {
        let why = cx.wait_for_halt().await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok(ToolOutput::text(format!("so far: {why:?}")))
    });
    let (output, took) = cancelled(&router, Duration::from_secs(1)).await;
    assert_snapshot!(output.joined_text(), @"so far: Cancelled { cause: User }");
    assert_eq!((output.success, output.facts.error), (false, Some(ToolErrorKind::Cancelled)));
    assert_eq!(took, Duration::from_secs(3));
    let (output, took) = timed_out(&router).await;
    assert_snapshot!(output.joined_text(), @"so far: TimedOut { after: 60s }");
    assert_eq!((output.success, output.facts.error), (false, Some(ToolErrorKind::TimedOut)));
    assert_eq!(took, LIMIT + Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_says_itself_what_went_wrong_is_believed() {
    let router = router(async |cx: Cx| {
        let facts = OutputFacts { error: Some(ToolErrorKind::Io), ..OutputFacts::default() };
        match cx.wait_for_halt().await {
            HaltReason::Cancelled { .. } => Ok(ToolOutput { facts, ..ToolOutput::failure("disk full") }),
            HaltReason::TimedOut { .. } => Err(ToolError::io("disk gone")),
        }
    });
    let (output, _) = cancelled(&router, Duration::ZERO).await;
    assert_eq!((output.joined_text().as_str(), output.facts.error), ("disk full", Some(ToolErrorKind::Io)));
    let (output, _) = timed_out(&router).await;
    assert_eq!((output.joined_text().as_str(), output.facts.error), ("disk gone", Some(ToolErrorKind::Io)));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_told_and_does_not_end_is_dropped() {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let router = router(move |cx: Cx| {
        let dropped = DropFlag(Arc::clone(&flag));
        async move {
            let _dropped = dropped;
            cx.wait_for_halt().await;
            std::future::pending().await
        }
    });
    let (output, took) = cancelled(&router, Duration::from_secs(1)).await;
    assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
    assert_eq!(took, Duration::from_secs(1) + HALT_GRACE);
    assert!(dropped.swap(false, Ordering::SeqCst));
    let (output, took) = timed_out(&router).await;
    assert_snapshot!(output.joined_text(), @"timed out after 60.0 seconds; ask for less at a time");
    assert_eq!((output.facts.error, took), (Some(ToolErrorKind::TimedOut), LIMIT + HALT_GRACE));
    assert!(dropped.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_asks_is_dropped_at_once() {
    let router = router(async |_: Cx| std::future::pending().await);
    let (output, took) = cancelled(&router, Duration::from_secs(1)).await;
    assert_eq!((output.facts.error, took), (Some(ToolErrorKind::Cancelled), Duration::from_secs(1)));
    let (output, took) = timed_out(&router).await;
    assert_eq!((output.facts.error, took), (Some(ToolErrorKind::TimedOut), LIMIT));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_asked_once_is_given_its_time_whatever_it_waits_for() {
    let router = router(async |cx: Cx| {
        let halted = cx.wait_for_halt();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let why = halted.await;
        Ok(ToolOutput::text(format!("{why:?}")))
    });
    let (output, took) = cancelled(&router, Duration::from_secs(1)).await;
    assert_eq!((output.joined_text().as_str(), took), ("Cancelled { cause: User }", Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_after_the_halt_becomes_an_answer() {
    let router = router(async |cx: Cx| panic!("{:?}", cx.wait_for_halt().await));
    let (output, _) = cancelled(&router, Duration::from_secs(1)).await;
    assert_eq!(output.facts.error, Some(ToolErrorKind::Crashed));
    assert_eq!(timed_out(&router).await.0.facts.error, Some(ToolErrorKind::Crashed));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_there_is_the_better_answer() {
    let router = router(async |cx: Cx| {
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_secs(1)) => Ok(ToolOutput::text("done")),
            _ = cx.wait_for_halt() => Ok(ToolOutput::text("halted")),
        }
    });
    let (output, _) = cancelled(&router, Duration::from_secs(1)).await;
    assert_eq!((output.joined_text().as_str(), output.success), ("done", true));
}

#[tokio::test]
async fn a_tool_that_never_rests_is_stopped_all_the_same() {
    let deaf = router(async |_: Cx| {
        loop {
            tokio::task::consume_budget().await;
        }
    });
    let keen = router(async |cx: Cx| {
        let halted = cx.wait_for_halt();
        tokio::pin!(halted);
        loop {
            tokio::select! {
                biased;
                () = tokio::task::consume_budget() => {}
                _ = &mut halted => return Ok(ToolOutput::text("so far")),
            }
            tokio::select! {
                biased;
                _ = &mut halted => return Ok(ToolOutput::text("so far")),
                () = tokio::task::consume_budget() => {}
            }
        }
    });
    let limits = CallLimits { call_timeout: Duration::from_millis(20), ..CallLimits::default() };
    for (router, text) in [(deaf, "seconds"), (keen, "so far")] {
        let (output, _) = cancelled(&router, Duration::from_millis(20)).await;
        assert_eq!(output.facts.error, Some(ToolErrorKind::Cancelled));
        assert!(output.joined_text().contains(text), "{}", output.joined_text());
        let (output, _) = timed_out(&router.with_limits(limits)).await;
        assert_eq!(output.facts.error, Some(ToolErrorKind::TimedOut));
        assert!(output.joined_text().contains(text), "{}", output.joined_text());
    }
}

#[tokio::test(start_paused = true)]
async fn the_lane_is_held_until_the_tool_has_answered_and_answers_keep_their_order() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&log);
    let router = router(move |cx: Cx| {
        let log = Arc::clone(&lines);
        async move {
            let say = |what: &str| log.lock().push(format!("{} {what}", cx.call_id()));
            say("began");
            if cx.call_id().as_str() == "3" {
                return Ok(ToolOutput::text("3"));
            }
            cx.wait_for_halt().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            say("ended");
            Ok(ToolOutput::text(cx.call_id().as_str()))
        }
    });
    // The first step of a call is polled without a waker, further steps by a task.
    let mut runtime = ToolCallRuntime::new(router);
    for id in ["1", "2", "3"] {
        runtime.start(act(id)).unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(runtime.cancel(&CallId::from("1")));
    tokio::time::sleep(Duration::from_millis(500)).await;
    // A second cancellation has no further effect.
    assert!(runtime.cancel(&CallId::from("1")));
    for (id, error) in
        [("1", Some(ToolErrorKind::Cancelled)), ("2", Some(ToolErrorKind::TimedOut)), ("3", None)]
    {
        let answer = runtime.next_answer().await.unwrap();
        assert_eq!((answer.output.joined_text().as_str(), answer.output.facts.error), (id, error));
    }
    assert_eq!(*log.lock(), ["1 began", "1 ended", "2 began", "2 ended", "3 began"]);
}

#[tokio::test]
async fn dropping_the_call_drops_the_tool() {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let router = router(move |cx: Cx| {
        let dropped = DropFlag(Arc::clone(&flag));
        async move {
            let _dropped = dropped;
            cx.wait_for_halt().await;
            std::future::pending().await
        }
    });
    let cancel = CancellationToken::new();
    let mut call = Box::pin(router.dispatch(act("1"), cancel.clone()));
    assert!((&mut call).now_or_never().is_none());
    cancel.cancel();
    assert!((&mut call).now_or_never().is_none() && !dropped.load(Ordering::SeqCst));
    drop(call);
    assert!(dropped.load(Ordering::SeqCst));
}

/// An observer with capacity for a number of pieces; further pieces wait.
struct BoundedObserver {
    heard: Mutex<Vec<String>>,
    room: Semaphore,
}

impl CallObserver for BoundedObserver {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        match event {
            CallEvent::Notice(ToolNotice::Output { stream, text }) => {
                self.heard.lock().push(format!("{}: {text}", stream.as_str()));
            }
            CallEvent::Finished { usage, .. } => assert_eq!(usage.map(|usage| usage.stdout), Some(3)),
            _ => {}
        }
    }

    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        Some(Box::pin(async { self.room.acquire().await.unwrap().forget() }))
    }
}

/// An observer that panics when asked for capacity.
struct PanicOnRoomObserver;

impl CallObserver for PanicOnRoomObserver {
    fn on_event(&self, _: &CallId, _: &CallEvent) {}

    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        panic!("room")
    }
}

#[tokio::test(start_paused = true)]
async fn streaming_waits_for_every_observer_and_loses_nothing() {
    let router = router(async |cx: Cx| {
        assert!(cx.is_watched());
        let streaming = async {
            for text in ["a", "b", "c"] {
                cx.stream(ToolNotice::Output { stream: OutputStream::Stdout, text: text.to_owned() }).await;
            }
        };
        let text = tokio::select! {
            biased;
            () = streaming => "all",
            _ = cx.wait_for_halt() => "cut",
        };
        let facts = OutputFacts {
            usage: Some(ProcessUsage { stdout: 3, ..ProcessUsage::default() }),
            ..OutputFacts::default()
        };
        Ok(ToolOutput { facts, ..ToolOutput::text(text) })
    });
    let narrow = Arc::new(BoundedObserver { heard: Mutex::default(), room: Semaphore::new(2) });
    let router = router
        .with_observer(Arc::new(PanicOnRoomObserver))
        .with_observer(Arc::clone(&narrow) as Arc<dyn CallObserver>);
    let (output, _) = timed_out(&router).await;
    assert_eq!((output.joined_text().as_str(), output.facts.error), ("cut", Some(ToolErrorKind::TimedOut)));
    assert_eq!(*narrow.heard.lock(), ["stdout: a", "stdout: b"]);
    let slow_reader = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            narrow.room.add_permits(1);
        }
    };
    let ((output, took), ()) = tokio::join!(timed_out(&router), slow_reader);
    assert_eq!((output.joined_text().as_str(), took), ("all", Duration::from_secs(3)));
    assert_eq!(narrow.heard.lock().len(), 5);
}

#[tokio::test]
async fn streaming_without_observers_does_not_wait() {
    let router = router(async |cx: Cx| {
        assert!(!cx.is_watched());
        cx.stream(ToolNotice::Output { stream: OutputStream::Terminal, text: "x".to_owned() }).await;
        Ok(ToolOutput::text("done"))
    });
    assert!(timed_out(&router).await.0.success);
}
