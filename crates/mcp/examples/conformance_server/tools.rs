//! The tools that the suite calls.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tool::BoxFuture;
use toolgate_mcp::serve::{Ask, Call, Hints, Offer, Piece, Reply, Request, Running, Step, Tell};

/// A red point.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound at all.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const NAMES: &[&str] = &[
    "json_schema_2020_12_tool",
    "test_audio_content",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_sampling",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
];

pub(crate) fn offers() -> Vec<Offer> {
    let hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    let offer = |name: &&str| Offer {
        name: (*name).to_owned(),
        title: None,
        description: "A tool of the conformance suite.".to_owned(),
        input: schema(name),
        output: None,
        hints: Some(hints),
    };
    NAMES.iter().map(offer).collect()
}

fn schema(name: &str) -> Map<String, Value> {
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let schema = match name {
        "test_sampling" => text("prompt"),
        "test_elicitation" => text("message"),
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": { "address": {
                "$anchor": "addressDef", "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            } },
            "properties": {
                "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
                "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                "phone": { "type": "string" }, "email": { "type": "string" },
            },
            "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
            "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
            "then": { "required": ["phone"] },
            "else": { "required": ["email"] },
            "additionalProperties": false,
        }),
        _ => json!({ "type": "object" }),
    };
    let Value::Object(schema) = schema else { return Map::new() };
    schema
}

/// A call as a task that takes its steps through a channel.
struct Course {
    steps: mpsc::Receiver<Step>,
    task: JoinHandle<()>,
}

impl Running for Course {
    fn next(&mut self) -> BoxFuture<'_, Step> {
        Box::pin(async {
            match self.steps.recv().await {
                Some(step) => step,
                None => std::future::pending().await,
            }
        })
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The other end of it.
struct Client(mpsc::Sender<Step>);

impl Client {
    async fn tell(&self, tell: Tell) {
        let _gone = self.0.send(Step::Tell(tell)).await;
    }

    async fn ask(&self, requests: impl IntoIterator<Item = (&str, Request)>) -> BTreeMap<String, Value> {
        let requests = requests.into_iter().map(|(name, request)| (name.to_owned(), request)).collect();
        let (answer, answered) = oneshot::channel();
        let _gone = self.0.send(Step::Ask(Ask { requests, answer })).await;
        answered.await.unwrap_or_default()
    }

    async fn ask_one(&self, name: &str, request: Request) -> Value {
        self.ask([(name, request)]).await.remove(name).unwrap_or_default()
    }
}

pub(crate) fn start(call: Call) -> Box<dyn Running> {
    let (sender, steps) = mpsc::channel(1);
    #[expect(clippy::disallowed_methods, reason = "an example, in which calls are tasks")]
    let task = tokio::spawn(async move {
        let client = Client(sender);
        let last = answer(&call, &client).await;
        let _gone = client.0.send(last).await;
    });
    Box::new(Course { steps, task })
}

fn done(text: impl Into<String>) -> Step {
    pieces([Piece::Text(text.into())])
}

fn pieces(pieces: impl IntoIterator<Item = Piece>) -> Step {
    Step::Done(Reply { pieces: pieces.into_iter().collect(), structured: None, failed: false })
}

fn failed(text: &str) -> Step {
    Step::Done(Reply { pieces: vec![Piece::Text(text.to_owned())], structured: None, failed: true })
}

fn picture() -> Piece {
    Piece::Other(json!({ "type": "image", "data": PNG, "mimeType": "image/png" }))
}

fn resource(uri: &str, mime: &str, text: &str) -> Piece {
    Piece::Other(json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } }))
}

fn form(message: &str, properties: &Value, required: &[&str]) -> Request {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Request::Form { message: message.to_owned(), schema }
}

fn sample(text: &str) -> Request {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    Request::Sample(json!({ "messages": [message], "maxTokens": 100 }))
}

async fn answer(call: &Call, client: &Client) -> Step {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    match call.tool.as_str() {
        "test_simple_text" => done("This is a simple text response for testing."),
        "test_image_content" => pieces([picture()]),
        "test_audio_content" => {
            pieces([Piece::Other(json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" }))])
        }
        "test_embedded_resource" => pieces([resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => pieces([
            Piece::Text("Multiple content types test:".to_owned()),
            picture(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]),
        "test_error_handling" => failed("This tool intentionally returns an error for testing"),
        "test_tool_with_logging" | "test_logging_tool" => logging(client).await,
        "test_tool_with_progress" => progress(client).await,
        "test_missing_capability" => Step::Needs(sample("What is the capital of France?")),
        "test_sampling" => match client.ask_one("sample", sample(argument("prompt"))).await {
            Value::Null => failed("the client does not sample"),
            said => done(format!("LLM response: {}", said["content"]["text"].as_str().unwrap_or_default())),
        },
        "json_schema_2020_12_tool" => done("It fits."),
        name if name.starts_with("test_input_required_result_") => rounds(name, client).await,
        _ => elicitation(call, client).await,
    }
}

async fn logging(client: &Client) -> Step {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        client.tell(Tell::Log { level: "info".to_owned(), data: json!(text) }).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    done("It was logged.")
}

async fn progress(client: &Client) -> Step {
    for percent in [0.0, 50.0, 100.0] {
        client.tell(Tell::Progress { done: percent, total: Some(100.0), text: None }).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    done("It is done.")
}

async fn elicitation(call: &Call, client: &Client) -> Step {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let options = json!(["option1", "option2", "option3"]);
    let titled = |word: &str| {
        let title = |number: u8, nth: &str| json!({ "const": format!("value{number}"), "title": format!("{nth} {word}") });
        json!([title(1, "First"), title(2, "Second"), title(3, "Third")])
    };
    let message = call.arguments.get("message").and_then(Value::as_str).unwrap_or("Please answer");
    let (said, form) = match call.tool.as_str() {
        "test_elicitation" | "test_streaming_elicitation" => {
            let fields =
                json!({ "username": text("User's response"), "email": text("User's email address") });
            ("User response:", form(message, &fields, &["username", "email"]))
        }
        "test_elicitation_sep1034_defaults" => {
            let fields = json!({
                "name": { "type": "string", "default": "John Doe" },
                "age": { "type": "integer", "default": 30 },
                "score": { "type": "number", "default": 95.5 },
                "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
                "verified": { "type": "boolean", "default": true },
            });
            ("Elicitation completed:", form(message, &fields, &[]))
        }
        "test_elicitation_sep1330_enums" => {
            let names = json!(["Option One", "Option Two", "Option Three"]);
            let fields = json!({
                "untitledSingle": { "type": "string", "enum": options },
                "titledSingle": { "type": "string", "oneOf": titled("Option") },
                "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names },
                "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
                "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
            });
            ("Elicitation completed:", form(message, &fields, &[]))
        }
        other => return failed(&format!("there is no tool `{other}`")),
    };
    match client.ask_one("form", form).await {
        Value::Null => failed("the client does not elicit"),
        answer => {
            let action = answer["action"].as_str().unwrap_or_default();
            done(format!("{said} action={action}, content={}", answer["content"]))
        }
    }
}

/// What needs the client more than once, or in more than one way.
async fn rounds(name: &str, client: &Client) -> Step {
    let name_form = |message: &str| form(message, &json!({ "name": { "type": "string" } }), &["name"]);
    let roots = || ("client_roots", Request::Roots);
    match name.trim_start_matches("test_input_required_result_") {
        "elicitation" => {
            let said = client.ask_one("user_name", name_form("What is your name?")).await;
            done(format!("Hello, {}!", said["content"]["name"].as_str().unwrap_or_default()))
        }
        "sampling" => {
            let said = client.ask_one("capital_question", sample("What is the capital of France?")).await;
            done(said["content"]["text"].as_str().unwrap_or_default())
        }
        "list_roots" => done(client.ask([roots()]).await["client_roots"].to_string()),
        "request_state" | "tampered_state" => {
            let fields = json!({ "ok": { "type": "boolean" } });
            client.ask_one("confirm", form("Please confirm", &fields, &["ok"])).await;
            done("state-ok")
        }
        "multiple_inputs" => {
            let asked = [
                ("user_name", name_form("What is your name?")),
                ("greeting", sample("Generate a greeting")),
                roots(),
            ];
            done(format!("{} answers", client.ask(asked).await.len()))
        }
        "multi_round" => {
            let name = client.ask_one("step1", name_form("Step 1: What is your name?")).await;
            let fields = json!({ "color": { "type": "string" } });
            let colour = client
                .ask_one("step2", form("Step 2: What is your favorite color?", &fields, &["color"]))
                .await;
            done(format!("{} likes {}", name["content"]["name"], colour["content"]["color"]))
        }
        "capabilities" => {
            let asked = [
                ("user_name", name_form("What is your name?")),
                ("greeting", sample("Generate a greeting")),
                roots(),
            ];
            done(format!("{} answers", client.ask(asked).await.len()))
        }
        other => failed(&format!("there is no such fixture: `{other}`")),
    }
}
