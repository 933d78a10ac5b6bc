//! Tests of sessions with scripted models: requests fit the context window, and an interrupt ends a retry pause.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::path::Path;
use std::sync::Arc;

use engine::{ToolRegistry, ToolRouter};
use parking_lot::Mutex;
use policy::{DenyRead, Gate, Permit, ReadRoot, ReadScope, SandboxPolicy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{BoxFuture, Cx, ToolError, ToolHandler, ToolOutput, WorkingDir};
use toolgate_agent::{
    AgentSession, AgentSessionSetup, ModelBackend, ModelEventStream, ScriptedBackend, ScriptedTurn,
    SessionEvent, SessionObserver, TurnEnd, TurnLimits,
};
use wire::{ApiCompat, Dialect, ModelError, ReasoningMode};

/// A tool with long output.
struct LongOutputTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}

impl ToolHandler for LongOutputTool {
    type Args = Args;
    const NAME: &'static str = "long";
    const ABOUT: &'static str = "Says a lot.";

    async fn run(&self, _: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("x".repeat(2_000)))
    }
}

/// A scripted model with a limited context that records its requests.
struct NarrowContextModel {
    script: ScriptedBackend,
    most: usize,
    asked: Mutex<Vec<Value>>,
}

impl ModelBackend for NarrowContextModel {
    fn dialect(&self) -> Dialect {
        self.script.dialect()
    }

    fn respond(&self, body: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>> {
        if body.len() > self.most {
            let refused = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
            return Box::pin(std::future::ready(Err(self.dialect().http_error(
                400,
                None,
                &refused.to_string(),
            ))));
        }
        self.asked.lock().push(serde_json::from_str(&body).unwrap());
        self.script.respond(body)
    }
}

#[derive(Default)]
struct NoticeLog(Mutex<Vec<String>>);

impl SessionObserver for NoticeLog {
    fn on_session_event(&self, seen: SessionEvent<'_>) {
        if matches!(
            seen,
            SessionEvent::Compacted { .. } | SessionEvent::Retried { .. } | SessionEvent::Notice(_)
        ) {
            self.0.lock().push(format!("{seen:?}"));
        }
    }
}

fn router(directory: &Path) -> ToolRouter {
    let reach = ReadScope::new(vec![ReadRoot::new(directory)], DenyRead::new(&[] as &[&str], None).unwrap());
    let gate = Gate::new(reach, SandboxPolicy::ReadOnly);
    let registry = ToolRegistry::builder().tool(LongOutputTool).build().unwrap();
    ToolRouter::new(registry, gate, WorkingDir { cwd: directory.to_owned() })
}

fn setup(
    router: ToolRouter,
    model: Arc<dyn ModelBackend>,
    watch: Arc<dyn SessionObserver>,
    limits: TurnLimits,
) -> AgentSessionSetup {
    AgentSessionSetup {
        agents: None,
        router,
        model,
        model_name: "m".to_owned(),
        instructions: "Be brief.".to_owned(),
        api_compat: ApiCompat::default(),
        reasoning: ReasoningMode::None,
        recorder: None,
        observer: watch,
        limits,
        turn_changes: None,
        baseline_ready: None,
        precondition: None,
        context_meter: Arc::default(),
        cache_key: None,
    }
}

async fn play(most: usize, context: u64, turns: &str) -> (TurnEnd, Vec<Value>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let router = router(directory.path());
    let script = ScriptedBackend::new(Dialect::Responses, ScriptedTurn::parse_script(turns).unwrap());
    let model = Arc::new(NarrowContextModel { script, most, asked: Mutex::default() });
    let told = Arc::<NoticeLog>::default();
    let limits = TurnLimits { context, ..TurnLimits::default() };
    let setup = setup(router, Arc::clone(&model) as _, Arc::clone(&told) as _, limits);
    let mut session = AgentSession::new(setup, None).unwrap();
    let ended = session.prompt("what the user asked for", Vec::new()).await.unwrap();
    let asked = model.asked.lock().clone();
    let told = told.0.lock().clone();
    (ended, asked, told)
}

/// Returns whether each call has an answer and each answer a call.
fn paired(request: &Value) -> bool {
    let ids = |kind: &str| -> Vec<&str> {
        let items = request["input"].as_array().unwrap().iter();
        items.filter(|item| item["type"] == kind).map(|item| item["call_id"].as_str().unwrap()).collect()
    };
    ids("function_call") == ids("function_call_output")
}

fn script(rounds: usize) -> String {
    let turn = json!({"items": [{"type": "function_call", "name": "long", "arguments": {}}]});
    format!("{turn}\n").repeat(rounds)
}

/// A model that rejects every request as too long, and counts the requests.
#[derive(Default)]
struct ZeroContextModel(Mutex<usize>);

impl ModelBackend for ZeroContextModel {
    fn dialect(&self) -> Dialect {
        Dialect::Responses
    }

    fn respond(&self, _: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>> {
        *self.0.lock() += 1;
        let refused = r#"{"error": {"code": "context_length_exceeded", "message": "too long"}}"#;
        Box::pin(std::future::ready(Err(self.dialect().http_error(400, None, refused))))
    }
}

#[tokio::test]
async fn a_request_that_cannot_shrink_is_not_retried() {
    let directory = tempfile::tempdir().unwrap();
    let (model, told) = (Arc::<ZeroContextModel>::default(), Arc::<NoticeLog>::default());
    let setup = setup(
        router(directory.path()),
        Arc::clone(&model) as _,
        Arc::clone(&told) as _,
        TurnLimits::default(),
    );
    let mut session = AgentSession::new(setup, None).unwrap();
    let fault = session.prompt("what the user asked for", Vec::new()).await.unwrap_err().to_string();
    assert!(fault.contains("too long"), "{fault}");
    assert_eq!(*model.0.lock(), 1);
    assert_eq!(*told.0.lock(), Vec::<String>::new());
}

#[tokio::test]
async fn a_conversation_stays_within_what_the_model_can_read() {
    let (ended, asked, told) = play(usize::MAX, 5_000, &script(60)).await;
    assert_eq!(ended, TurnEnd::Done);
    assert!(told.iter().any(|told| told.contains("Compacted")), "{told:?}");
    for request in &asked {
        assert!(paired(request), "{request}");
        assert!(request.to_string().len() < 5_000 * 4 * 13 / 10, "{}", request.to_string().len());
    }
    let last = asked.last().unwrap().to_string();
    assert_eq!(last.matches("what the user asked for").count(), 1, "{last}");
}

#[tokio::test]
async fn a_model_that_reads_less_than_we_thought_is_given_less() {
    let (ended, asked, _) = play(14_000, 200_000, &script(40)).await;
    assert_eq!(ended, TurnEnd::Done);
    assert!(asked.len() >= 40 && asked.iter().all(paired));
}

#[tokio::test]
async fn an_interrupt_ends_a_pause_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let router = router(directory.path());
    let turns = ScriptedTurn::parse_script(r#"{"status": 429, "retry_after": "200"}"#).unwrap();
    let model = Arc::new(ScriptedBackend::new(Dialect::Chat, turns));
    let setup = setup(router, model, Arc::new(()), TurnLimits::default());
    let mut session = AgentSession::new(setup, None).unwrap();
    let handle = session.handle();
    let stops = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        handle.interrupt();
    };
    let (ended, ()) = tokio::join!(session.prompt("go", Vec::new()), stops);
    assert_eq!(ended.unwrap(), TurnEnd::Interrupted);
}
