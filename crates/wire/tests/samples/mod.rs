//! Sample tools, calls and outputs of every form, for tests against real clients.

use serde_json::json;
use tool::{
    FreeformSpec, FunctionSpec, JsonSchema, LocalShellCall, OutputImage, OutputItem, StrictMode, TextGrammar,
    ToolCall, ToolOutput, ToolPayload, ToolSpec,
};

/// Returns one tool of every form.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let parameters = JsonSchema::from_foreign(
        &json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "A path."}, "limit": {"type": ["integer", "null"]}},
            "required": ["path", "limit"],
            "additionalProperties": false,
        }),
        5_000,
    )
    .expect("the root is an object");
    let function = |name: &str, strict| {
        let (name, description, parameters) = (name.to_owned(), "Reads.".to_owned(), parameters.clone());
        ToolSpec::Function(Box::new(FunctionSpec { name, description, parameters, strict }))
    };
    let grammar = TextGrammar { syntax: "lark", definition: "start: /.+/" };
    vec![
        function("read", StrictMode::No),
        function("read_strictly", StrictMode::Yes),
        ToolSpec::Freeform(FreeformSpec {
            name: "patch".to_owned(),
            description: "Patches.".to_owned(),
            grammar,
        }),
        ToolSpec::LocalShell,
        ToolSpec::WebSearch { external_web_access: Some(true) },
        ToolSpec::WebSearch { external_web_access: None },
    ]
}

/// Returns one call of every form.
pub(crate) fn calls() -> Vec<ToolCall> {
    let custom = ToolPayload::Custom { input: "x".to_owned() };
    let shell = ToolPayload::LocalShell(LocalShellCall::default());
    vec![
        ToolCall::function("call_1", "read", "{}"),
        ToolCall { id: "call_2".into(), name: "patch".to_owned(), payload: custom },
        ToolCall { id: "call_3".into(), name: "local_shell".to_owned(), payload: shell },
    ]
}

/// Returns one output of every form.
pub(crate) fn outputs() -> Vec<ToolOutput> {
    let image = OutputImage { mime: "image/png", bytes: b"\x89PNG".to_vec() };
    let mut failed = ToolOutput::image("no", image.clone());
    failed.success = false;
    let mut only = ToolOutput::text("");
    only.items = vec![OutputItem::Image(image.clone())];
    vec![
        ToolOutput::text("done"),
        ToolOutput::text(""),
        ToolOutput::failure("no"),
        ToolOutput::image("see", image),
        only,
        failed,
    ]
}
