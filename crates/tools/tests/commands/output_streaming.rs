//! Tests output that is streamed to observers while it is written.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{CallEvent, CallObserver, ToolRouter};
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::TestWorkspace;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tool::{BoxFuture, CallId, OutputStream, ToolCall, ToolNotice, ToolOutput};
use toolgate_tools::CommandRunner;

use crate::harness::{
    CommandToolsSetup, eventually, observed_router, output_text, python_path, runtime, session_id,
    structured_field,
};

/// Records events, and accepts output only while its gate is open.
struct GatedObserver {
    events: Mutex<Vec<CallEvent>>,
    gate: watch::Sender<bool>,
}

impl CallObserver for GatedObserver {
    fn on_event(&self, _: &CallId, event: &CallEvent) {
        self.events.lock().push(event.clone());
    }

    fn ready(&self) -> Option<BoxFuture<'_, ()>> {
        if *self.gate.borrow() {
            return None;
        }
        let mut gate = self.gate.subscribe();
        Some(Box::pin(async move {
            gate.wait_for(|open| *open).await.unwrap();
        }))
    }
}

impl GatedObserver {
    fn streamed_text(&self, wanted: OutputStream) -> String {
        let events = self.events.lock();
        let texts = events.iter().filter_map(|event| match event {
            CallEvent::Notice(ToolNotice::Output { stream, text }) if *stream == wanted => {
                Some(text.as_str())
            }
            _ => None,
        });
        texts.collect()
    }
}

struct StreamingHarness {
    runtime: Runtime,
    router: ToolRouter,
    watcher: Arc<GatedObserver>,
    commands: Arc<CommandRunner>,
    workspace: TestWorkspace,
}

impl StreamingHarness {
    fn new() -> Self {
        let workspace = TestWorkspace::new();
        let commands = CommandToolsSetup::default().command_runner(&workspace);
        let watcher = Arc::new(GatedObserver { events: Mutex::default(), gate: watch::Sender::new(true) });
        let router = observed_router(&workspace, &commands, &watcher);
        Self { runtime: runtime(), router, watcher, commands, workspace }
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolOutput {
        let call = ToolCall::function("1", tool, arguments.to_string());
        self.runtime.block_on(self.router.dispatch(call, Default::default()))
    }

    fn sh(&self, script: &str) -> ToolOutput {
        self.call("shell", &json!({"command": ["bash", "-c", script], "timeout_ms": 60_000}))
    }
}

pub(crate) fn observer_sees_all_output() {
    let stage = StreamingHarness::new();
    stage.sh("seq 200000; seq 1000 >&2; echo end");
    let seq = |last: usize| (1..=last).map(|n| format!("{n}\n")).collect::<String>();
    assert!(stage.watcher.streamed_text(OutputStream::Stdout) == seq(200_000) + "end\n");
    assert!(stage.watcher.streamed_text(OutputStream::Stderr) == seq(1000));
    let events = stage.watcher.events.lock();
    let [
        CallEvent::Queued { tool },
        CallEvent::Started,
        between @ ..,
        CallEvent::Finished { success: true, usage, .. },
    ] = &events[..]
    else {
        panic!("{} events, the last of them {:?}", events.len(), events.last())
    };
    assert_eq!(tool, "shell");
    assert!(between.iter().all(|event| matches!(
        event,
        CallEvent::Notice(ToolNotice::Output { .. }) | CallEvent::Judged { .. } | CallEvent::Attempted { .. }
    )));
    assert_eq!(usage.unwrap().stderr, 3893);
}

pub(crate) fn observer_sees_output_while_it_is_written() {
    let stage = StreamingHarness::new();
    let mark = stage.workspace.path().join("seen");
    let script = format!("echo before; until [ -e {} ]; do sleep 0.02; done; echo after", mark.display());
    std::thread::scope(|scope| {
        let call = scope.spawn(|| stage.sh(&script));
        eventually("the first line", || stage.watcher.streamed_text(OutputStream::Stdout) == "before\n");
        fs::write(&mark, "").unwrap();
        assert_eq!(output_text(&call.join().unwrap()), "before\nafter\n");
    });
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "before\nafter\n");
}

pub(crate) fn characters_are_streamed_whole() {
    let stage = StreamingHarness::new();
    stage.sh(r"printf '\xe2'; sleep 0.1; printf '\x82'; sleep 0.1; printf '\xac\n'; printf 'a\xffb\n' >&2");
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "€\n");
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stderr), "a\u{fffd}b\n");
    let stage = StreamingHarness::new();
    stage.call("exec_command", &json!({"cmd": "echo drawn", "login": false, "tty": true}));
    assert_eq!(stage.watcher.streamed_text(OutputStream::Terminal), "drawn\r\n");
}

pub(crate) fn incomplete_character_at_the_end_is_streamed() {
    let stage = StreamingHarness::new();
    stage.sh(r"printf 'end \xe2\x82'");
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "end \u{fffd}");
}

pub(crate) fn output_after_sigterm_is_streamed() {
    let stage = StreamingHarness::new();
    let script = "trap 'echo last words; exit' TERM; echo before; sleep 60 & wait";
    let answer = stage.call("shell", &json!({"command": ["bash", "-c", script], "timeout_ms": 500}));
    assert_eq!(output_text(&answer), "before\nlast words\n");
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "before\nlast words\n");
}

pub(crate) fn output_between_two_calls_is_streamed() {
    let stage = StreamingHarness::new();
    let script = "echo before; sleep 0.6; echo between; read x; echo after";
    let started = stage
        .call("exec_command", &json!({"cmd": script, "login": false, "stdin": true, "yield_time_ms": 250}));
    let id = session_id(&started).unwrap();
    eventually("a line between", || stage.commands.sessions.find(id).unwrap().pending_output() > 0);
    let ended = stage.call("write_stdin", &json!({"session_id": id, "chars": "\n", "yield_time_ms": 30_000}));
    assert_eq!(output_text(&started) + &output_text(&ended), "before\nbetween\nafter\n");
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "before\nbetween\nafter\n");
}

pub(crate) fn concurrent_polls_split_the_output() {
    let stage = StreamingHarness::new();
    // Twice as long as the first poll, so that a busy machine does not start it after the end.
    let script = "for i in 1 2 3 4 5; do sleep 2; echo $i; done";
    let started = stage.call("exec_command", &json!({"cmd": script, "login": false, "yield_time_ms": 250}));
    let id = session_id(&started).unwrap();
    // Polls run concurrently; input would have to wait for them.
    let (short, long) = (json!({"session_id": id}), json!({"session_id": id, "yield_time_ms": 60_000}));
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| stage.call("write_stdin", &long));
        (stage.call("write_stdin", &short), second.join().unwrap())
    });
    // The first poll ends after five seconds, the second with the command. Together they have all of the output, and so
    // has the observer.
    // On a busy machine, a poll may begin after the other one has reported the end.
    let text = |polled: &ToolOutput| match polled.joined_text().contains("an ended one is forgotten") {
        true => String::new(),
        false => output_text(polled),
    };
    assert_eq!(
        output_text(&started) + &text(&first) + &text(&second),
        "1\n2\n3\n4\n5\n",
        "what was answered"
    );
    assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "1\n2\n3\n4\n5\n", "what was told");
}

/// Creates a program that writes 64 KiB at a time and records the number of pieces written.
fn writer(stage: &StreamingHarness, pieces: usize) -> Vec<String> {
    let script = format!(
        "import os\nline = (b'x' * 1023 + b'\\n') * 64\nfor i in range({pieces}):\n n = 0\n while n < len(line): n += os.write(1, line[n:])\n open('written', 'w').write(str(i + 1))\n"
    );
    stage.workspace.write_file("writer.py", script);
    vec![python_path().to_owned(), "writer.py".to_owned()]
}

fn written(stage: &StreamingHarness) -> usize {
    fs::read_to_string(stage.workspace.path().join("written"))
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

pub(crate) fn slow_observer_slows_the_process_and_loses_nothing() {
    let stage = StreamingHarness::new();
    const PIECES: usize = 400;
    let command = writer(&stage, PIECES);
    stage.watcher.gate.send_replace(false);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| stage.call("shell", &json!({"command": command, "timeout_ms": 120_000})));
        // The program runs until the pipe and the observer's queue are full, and then blocks.
        let mut before = 0;
        let mut still = Instant::now();
        eventually("stillness", || {
            let now = written(&stage);
            if now != before || now == 0 {
                (before, still) = (now, Instant::now());
            }
            still.elapsed() > Duration::from_millis(500)
        });
        assert!(before < PIECES / 4, "{before} pieces were written, but no observer took them");
        assert_eq!(stage.watcher.streamed_text(OutputStream::Stdout), "");
        stage.watcher.gate.send_replace(true);
        assert_eq!(call.join().unwrap().facts.exit_code, Some(0));
    });
    let told = stage.watcher.streamed_text(OutputStream::Stdout);
    assert_eq!((written(&stage), told.len()), (PIECES, PIECES << 16));
    assert!(told.lines().all(|line| line.len() == 1023));
}

pub(crate) fn slow_observer_of_a_session_loses_nothing() {
    let stage = StreamingHarness::new();
    let command = writer(&stage, 100).join(" ");
    let script = format!("read x; {command}; read x");
    let started = stage
        .call("exec_command", &json!({"cmd": script, "login": false, "stdin": true, "yield_time_ms": 250}));
    let id = session_id(&started).unwrap();
    stage.watcher.gate.send_replace(false);
    std::thread::scope(|scope| {
        let typed = json!({"session_id": id, "chars": "\n", "yield_time_ms": 30_000});
        let call = scope.spawn(move || typed);
        let typed = call.join().unwrap();
        let stage = &stage;
        let call = scope.spawn(move || stage.call("write_stdin", &typed));
        std::thread::sleep(Duration::from_millis(500));
        assert!(written(stage) < 50);
        stage.watcher.gate.send_replace(true);
        eventually("all of it", || stage.watcher.streamed_text(OutputStream::Stdout).len() == 100 << 16);
        stage.commands.sessions.find(id).unwrap().write_input(b"\n").unwrap();
        assert_eq!(call.join().unwrap().facts.exit_code, Some(0));
    });
}

pub(crate) fn stuck_observer_does_not_delay_the_timeout() {
    let stage = StreamingHarness::new();
    stage.watcher.gate.send_replace(false);
    let began = Instant::now();
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| stage.call("shell", &json!({"command": ["yes"], "timeout_ms": 500})));
        let until = Instant::now() + Duration::from_secs(8);
        while !call.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The test must end in any case.
        stage.watcher.gate.send_replace(true);
        call.join().unwrap()
    });
    assert_eq!(answer.facts.exit_code, Some(124));
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "its time was up after 0.5 s, and it took {:?}",
        began.elapsed()
    );
}

pub(crate) fn stuck_observer_does_not_delay_cancellation() {
    let stage = StreamingHarness::new();
    stage.watcher.gate.send_replace(false);
    let cancel = Default::default();
    let arguments = json!({"command": ["bash", "-c", "echo before; sleep 60"], "timeout_ms": 60_000});
    let call = ToolCall::function("1", "shell", arguments.to_string());
    let answer = stage.router.dispatch(call, Clone::clone(&cancel));
    let began = Instant::now();
    let answer = stage.runtime.block_on(async {
        tokio::pin!(answer);
        tokio::select! {
            _ = &mut answer => panic!("it was not cancelled yet"),
            () = tokio::time::sleep(Duration::from_millis(500)) => cancel.cancel(),
        }
        answer.await
    });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(structured_field(&answer, "stdout"), "before\n");
}
