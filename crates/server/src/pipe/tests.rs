//! Tests of a pipe session with an endless tool: backpressure, interruption and cancellation.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use runtime::wire::Dialect;
use runtime::{
    CallEvent, CallId, CallObserver, Cx, OutputFacts, OutputStream, Permit, ProcessUsage, ToolError,
    ToolHandler, ToolNotice, ToolOutput, Toolgate,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::event_queue;
use super::input_lines::InputLine;
use super::pipe_session::PipeSession;

const PIECE: &str = "yes\n";

#[derive(Deserialize, JsonSchema)]
struct Args {}

/// A tool that writes until it is cancelled, and counts its writes.
#[derive(Clone, Default)]
struct EndlessTool(Arc<AtomicUsize>);

impl ToolHandler for EndlessTool {
    type Args = Args;
    const NAME: &'static str = "yes";
    const ABOUT: &'static str = "Writes without end.";

    async fn run(&self, _: &Args, _: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let writing = async {
            loop {
                cx.stream(ToolNotice::Output { stream: OutputStream::Stdout, text: PIECE.to_owned() }).await;
                self.0.fetch_add(1, Ordering::SeqCst);
                tokio::task::consume_budget().await;
            }
        };
        tokio::select! {
            () = writing => {}
            _ = cx.wait_for_halt() => {}
        }
        let facts = OutputFacts { usage: Some(ProcessUsage::default()), ..OutputFacts::default() };
        Ok(ToolOutput { facts, ..ToolOutput::text("so far") })
    }
}

/// Runs a session with a call that is answered at once and a call of `yes`. `read` gets every line, slowly,
/// and may answer or interrupt.
async fn run_session(
    yes: EndlessTool,
    mut read: impl FnMut(&Value, &mpsc::Sender<InputLine>, &mpsc::Sender<()>) -> io::Result<()>,
) -> io::Result<bool> {
    let (events, happened) = event_queue::channel();
    let toolgate = Toolgate::at("/").tool(yes).observer(Arc::new(events)).build().unwrap();
    let (input, lines) = mpsc::channel(2);
    let (interrupt, interrupts) = mpsc::channel(1);
    let call = |id, name| json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"});
    send(&input, &json!({"object": "response", "output": [call("0", "nope"), call("1", "yes")]}));
    let write = move |line: &Value| {
        std::thread::sleep(Duration::from_micros(200));
        read(line, &input, &interrupt)
    };
    let mut session = PipeSession::new(Dialect::Responses, &toolgate, write, None);
    let running = session.run(
        lines,
        happened,
        (super::approvals::channel().1, super::elicitations::channel().1),
        interrupts,
    );
    tokio::time::timeout(Duration::from_secs(60), running).await.unwrap()
}

fn send(input: &mpsc::Sender<InputLine>, line: &Value) {
    input
        .try_send(InputLine::Text(line.to_string().into_bytes()))
        .unwrap_or_else(|_| panic!("there is room"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_is_written_whole_at_the_readers_pace_and_an_interrupt_is_heard() {
    let yes = EndlessTool::default();
    let (mut pieces, mut ahead, mut others) = (0, 0, Vec::new());
    let interrupted = run_session(yes.clone(), |line, _, interrupt| {
        if line["event"] == "output" {
            pieces += 1;
            ahead = yes.0.load(Ordering::SeqCst).saturating_sub(pieces).max(ahead);
            if pieces == 300 {
                interrupt.try_send(()).unwrap();
            }
        } else if line["call_id"] == "1" {
            others.push(line.clone());
        }
        Ok(())
    });
    assert!(interrupted.await.unwrap());
    assert_eq!(pieces, yes.0.load(Ordering::SeqCst), "nothing is lost");
    assert!((1..=64).contains(&ahead), "{ahead}");
    let [queued, started, finished, answer] = &others[..] else { panic!("{others:?}") };
    assert_eq!((&queued["event"], &started["event"]), (&json!("queued"), &json!("started")));
    assert_eq!((&finished["error"], &finished["usage"]["stdout_bytes"]), (&json!("cancelled"), &json!(0)));
    assert!(answer["output"].to_string().contains("so far"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_does_not_drown_a_line_that_cancels() {
    let mut pieces = 0;
    let stopped = run_session(EndlessTool::default(), |line, input, _| {
        if line["event"] == "output" {
            pieces += 1;
            if pieces == 300 {
                send(input, &json!({"type": "toolgate.cancel", "call_id": "1"}));
            }
        }
        // The input stays open, so the test ends the session by a write error.
        let answered = line["type"] == "function_call_output" && line["call_id"] == "1";
        if answered { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    assert_eq!(stopped.await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn long_pieces_wait_too_but_not_for_an_ended_session() {
    let (events, mut happened) = event_queue::channel();
    let text = "x".repeat(1 << 20);
    let call = CallId::from("1");
    assert!(events.ready().is_none());
    events.on_event(&call, &CallEvent::Notice(ToolNotice::Output { stream: OutputStream::Stderr, text }));
    let mut room = events.ready().unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(10), &mut room).await.is_err());
    assert_eq!(happened.next().await.unwrap()["stream"], "stderr");
    room.await;
    for _ in 0..64 {
        assert!(events.ready().is_none());
        events.on_event(&call, &CallEvent::Started);
    }
    let mut room = events.ready().unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(10), &mut room).await.is_err());
    drop(happened);
    room.await;
}
