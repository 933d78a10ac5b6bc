//! Misbehaving servers: the client survives each, and calls to other servers are answered.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "../support/call.rs"]
mod call;
mod hostile_server;
mod hostile_web_server;
#[path = "../support/program.rs"]
mod program;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tool::{BoxFuture, ToolSource};
use toolgate_mcp::{
    Elicitation, ElicitationAnswer, Elicitor, McpClientDeps, ServerEvent, ServerHealth, ServerObserver,
};

use call::{call, call_tool, read};
use hostile_server::{call_echo, start_mode};

const ENOUGH: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(3);

/// Forwards the reason why a server failed.
struct FailureForwarder(mpsc::UnboundedSender<String>);

impl ServerObserver for FailureForwarder {
    fn on_server_event(&self, _: &str, event: &ServerEvent) {
        if let ServerEvent::Failed { why, .. } = event {
            self.0.send(why.clone()).unwrap_or_default();
        }
    }
}

/// Forwards tool changes.
struct ChangeForwarder(mpsc::UnboundedSender<usize>);

impl ServerObserver for ChangeForwarder {
    fn on_server_event(&self, _: &str, event: &ServerEvent) {
        if let ServerEvent::ToolsChanged { tools } = event {
            self.0.send(*tools).unwrap_or_default();
        }
    }
}

async fn failed(mode: &'static str, limit: Duration) -> String {
    let (sender, mut failures) = mpsc::unbounded_channel();
    let means =
        McpClientDeps { observer: Some(Arc::new(FailureForwarder(sender))), ..McpClientDeps::default() };
    let _servers = start_mode(mode, limit, &means);
    failures.recv().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_does_not_keep_an_answer_away() {
    for mode in ["honest", "garbage", "unknown", "wrong-ids", "floods-stderr", "many-steps", "bad-version"] {
        let servers = start_mode(mode, ENOUGH, &McpClientDeps::default());
        let output = call_echo(&servers).await;
        assert_eq!((read(&output).as_str(), output.success), ("hi", true), "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_start_reports_its_cause_in_time() {
    let rows = [
        ("mute", "has not started within 3 s"),
        ("mute-list", "has not started within 3 s"),
        ("deep-schema", "levels deep"),
        ("wrong-id-start", "conflict initialized response id"),
        ("dies-at-start", "these are my last words"),
        ("dies-in-list", "these are my last words"),
        ("same-cursor", "repeats a cursor"),
        ("endless-cursor", "more than 200 pages"),
    ];
    for (mode, words) in rows {
        let began = Instant::now();
        let why = failed(mode, SHORT).await;
        assert!(why.contains(words), "{mode}: {why}");
        assert!(began.elapsed() < SHORT + Duration::from_secs(2), "{mode} took {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_descriptions_have_a_total_limit() {
    let why = failed("long-words", ENOUGH).await;
    assert!(why.contains("described with more than 24 MiB"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_not_answered_ends() {
    let rows = [
        ("mute-call", "timed out"),
        ("long-line", "timed out"),
        ("dies-in-call", "it is unknown whether it did what was asked"),
        ("long-line-answer", ""),
    ];
    for (mode, words) in rows {
        let servers = start_mode(mode, SHORT, &McpClientDeps::default());
        let output = call_echo(&servers).await;
        let said = read(&output);
        assert!(said.len() < 1 << 20 && said.contains(words), "{mode}: {}", &said[..said.len().min(500)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_answer_is_reported_at_once() {
    let rows = [
        ("big-answer", "more than 16 MiB"),
        ("many-values", "more than 250000 values"),
        ("deep", "levels deep"),
        ("not-utf8", "not UTF-8"),
        ("half", "lone surrogate"),
        ("batch", "several messages at once"),
        ("never-reads", "read"),
    ];
    for (mode, words) in rows {
        let servers = start_mode(mode, ENOUGH * 4, &McpClientDeps::default());
        servers.wait_until_settled(None).await;
        let began = Instant::now();
        let said = read(&call_echo(&servers).await);
        assert!(said.contains(words), "{mode}: {said}");
        assert!(began.elapsed() < ENOUGH, "{mode} took {:?}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bad_tool_takes_no_other_down() {
    for mode in ["big-schema", "cyclic-schema", "odd-names", "same-names", "hidden", "bad-shapes"] {
        let servers = start_mode(mode, ENOUGH, &McpClientDeps::default());
        let output = call_echo(&servers).await;
        assert_eq!(read(&output), "hi", "{mode}: {:?}", servers.health());
        for tool in servers.offered_tools() {
            let spec = format!("{:?}", tool.spec());
            let unseen = spec.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{e0049}']);
            assert!(!unseen && spec.len() < 200_000, "{mode}: {}", tool.spec().name());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_tools_only_found_ones_are_offered() {
    let servers = start_mode("many-tools", ENOUGH, &McpClientDeps::default());
    let found = call(&servers, "tool_search", &json!({"query": "tool 4711"})).await;
    assert!(read(&found).contains("mcp__h__tool_4711"), "{}", read(&found));
    let told: Vec<String> =
        servers.offered_tools().iter().map(|tool| tool.spec().name().to_owned()).collect();
    assert!(told.len() < 20 && told.contains(&"mcp__h__tool_4711".to_owned()), "{told:?}");
    assert_eq!(read(&call_echo(&servers).await), "hi");
    let [(_, ServerHealth::Ready { tools, left_out, .. })] = &servers.health()[..] else {
        panic!("it is not ready")
    };
    assert_eq!((tools.len(), left_out.len()), (10_000, 1), "{left_out:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_many_pieces_is_cut() {
    let servers = start_mode("many-blocks", ENOUGH, &McpClientDeps::default());
    let output = call_echo(&servers).await;
    assert!(output.items.len() < 1000, "{}", output.items.len());
    assert!(read(&output).contains("left out"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_of_an_unknown_kind_takes_no_other_down() {
    let output = call_echo(&start_mode("odd-block", ENOUGH, &McpClientDeps::default())).await;
    assert_eq!(read(&output), "hi\n[content of kind `hologram`, which cannot be shown here]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approval_of_an_old_definition_does_not_cover_a_new_one() {
    let (sender, mut changes) = mpsc::unbounded_channel();
    let means =
        McpClientDeps { observer: Some(Arc::new(ChangeForwarder(sender))), ..McpClientDeps::default() };
    let servers = start_mode("changes", ENOUGH, &means);
    servers.wait_until_settled(None).await;
    let before = servers.find("mcp__h__echo").unwrap();
    assert_eq!(read(&call_echo(&servers).await), "hi");
    changes.recv().await.unwrap();
    // ends: the event precedes the change by a moment
    while Arc::ptr_eq(&before, &servers.find("mcp__h__echo").unwrap()) {
        tokio::task::yield_now().await;
    }
    let said = read(&call_tool(before, &json!({"text": "hi"})).await);
    assert!(said.contains("describes this tool differently by now"), "{said}");
    assert_eq!(read(&call_echo(&servers).await), "hi");
}

/// Accepts every question.
#[derive(Default)]
struct AlwaysAccept(Mutex<Vec<String>>);

impl Elicitor for AlwaysAccept {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer> {
        self.0.lock().push(elicitation.message.clone());
        Box::pin(std::future::ready(ElicitationAnswer::Accepted(Some(
            json!({"name": "Ada", "password": "1234"}),
        ))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_that_ask_for_a_password_are_declined() {
    let yes = Arc::new(AlwaysAccept::default());
    let means =
        McpClientDeps { elicitor: Some(Arc::clone(&yes) as Arc<dyn Elicitor>), ..McpClientDeps::default() };
    let asked = call_echo(&start_mode("asks-password", ENOUGH, &means)).await;
    assert_eq!(read(&asked), r#"{"action": "decline"}"#);
    let asked = call_echo(&start_mode("asks-name", ENOUGH, &means)).await;
    assert!(read(&asked).contains("Ada"), "{}", read(&asked));
    assert_eq!(*yes.0.lock(), ["Your name?"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_per_call_are_limited() {
    let yes = Arc::new(AlwaysAccept::default());
    let means =
        McpClientDeps { elicitor: Some(Arc::clone(&yes) as Arc<dyn Elicitor>), ..McpClientDeps::default() };
    let servers = start_mode("asks-often", ENOUGH, &means);
    for calls in 1..=2 {
        let said = read(&call_echo(&servers).await);
        assert_eq!((said.matches("accept").count(), said.matches("decline").count()), (10, 5), "{said}");
        assert_eq!(yes.0.lock().len(), calls * 10);
    }
}
