//! Tests of written tool declarations and answers, as snapshots.

use std::fmt::Write;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tool::{
    FreeformSpec, FunctionSpec, JsonSchema, LocalShellCall, OutputImage, OutputItem, StrictMode, TextGrammar,
    ToolCall, ToolOutput, ToolPayload, ToolSpec,
};

use crate::{ApiCompat, Dialect, FreeformDeclaration, IntegerSpelling, mcp_tools};

fn specs() -> [ToolSpec; 5] {
    let schema = |value: Value| JsonSchema::from_foreign(&value, 5_000).unwrap();
    let parameters = schema(json!({
        "type": "object",
        "properties": {
            "limit": {"type": ["integer", "null"], "description": "How many."},
            "type": {"type": "string", "enum": ["integer"]},
        },
        "required": ["limit", "type"],
        "additionalProperties": false,
    }));
    let named = |name: &str, parameters, strict| {
        let (name, description) = (name.to_owned(), format!("Does {name}."));
        ToolSpec::Function(Box::new(FunctionSpec { name, description, parameters, strict }))
    };
    let grammar = TextGrammar { syntax: "lark", definition: "start: \"x\"" };
    let patch = FreeformSpec { name: "patch".into(), description: "Patches.".into(), grammar };
    [
        ToolSpec::WebSearch { external_web_access: Some(false) },
        named("read", parameters, StrictMode::Yes),
        ToolSpec::LocalShell,
        ToolSpec::Freeform(patch),
        named("now", schema(json!({"type": "object"})), StrictMode::No),
    ]
}

fn lines(tools: &Value) -> String {
    tools.as_array().unwrap().iter().fold(String::new(), |mut text, tool| {
        writeln!(text, "{tool}").unwrap();
        text
    })
}

fn tools(dialect: Dialect, style: &ApiCompat) -> String {
    let specs = specs();
    lines(&dialect.tools(&specs.each_ref(), style))
}

#[test]
fn responses_has_a_form_for_every_tool() {
    assert_snapshot!(tools(Dialect::Responses, &ApiCompat::default()), @r#"
    {"type":"local_shell"}
    {"description":"Does now.","name":"now","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"}
    {"description":"Patches.","format":{"definition":"start: \"x\"","syntax":"lark","type":"grammar"},"name":"patch","type":"custom"}
    {"description":"Does read.","name":"read","parameters":{"additionalProperties":false,"properties":{"limit":{"description":"How many.","type":["integer","null"]},"type":{"enum":["integer"],"type":"string"}},"required":["limit","type"],"type":"object"},"strict":true,"type":"function"}
    {"external_web_access":false,"type":"web_search"}
    "#);
}

#[test]
fn servers_that_know_less_get_functions_and_numbers() {
    let style = ApiCompat { integers: IntegerSpelling::AsNumber, freeform: FreeformDeclaration::Function };
    assert_snapshot!(tools(Dialect::Responses, &style), @r#"
    {"type":"local_shell"}
    {"description":"Does now.","name":"now","parameters":{"properties":{},"type":"object"},"strict":false,"type":"function"}
    {"description":"Patches.","name":"patch","parameters":{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"},"strict":false,"type":"function"}
    {"description":"Does read.","name":"read","parameters":{"additionalProperties":false,"properties":{"limit":{"description":"How many.","type":["number","null"]},"type":{"enum":["integer"],"type":"string"}},"required":["limit","type"],"type":"object"},"strict":true,"type":"function"}
    {"external_web_access":false,"type":"web_search"}
    "#);
}

#[test]
fn chat_has_functions_only() {
    assert_snapshot!(tools(Dialect::Chat, &ApiCompat::default()), @r#"
    {"function":{"description":"Does now.","name":"now","parameters":{"properties":{},"type":"object"}},"type":"function"}
    {"function":{"description":"Patches.","name":"patch","parameters":{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"}},"type":"function"}
    {"function":{"description":"Does read.","name":"read","parameters":{"additionalProperties":false,"properties":{"limit":{"description":"How many.","type":["integer","null"]},"type":{"enum":["integer"],"type":"string"}},"required":["limit","type"],"type":"object"},"strict":true},"type":"function"}
    "#);
}

#[test]
fn anthropic_has_functions_only() {
    assert_snapshot!(tools(Dialect::Anthropic, &ApiCompat::default()), @r#"
    {"description":"Does now.","input_schema":{"properties":{},"type":"object"},"name":"now"}
    {"description":"Patches.","input_schema":{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"},"name":"patch"}
    {"description":"Does read.","input_schema":{"additionalProperties":false,"properties":{"limit":{"description":"How many.","type":["integer","null"]},"type":{"enum":["integer"],"type":"string"}},"required":["limit","type"],"type":"object"},"name":"read"}
    "#);
}

#[test]
fn mcp_clients_get_functions_only() {
    assert_snapshot!(lines(&mcp_tools(&specs().each_ref())), @r#"
    {"description":"Does now.","inputSchema":{"properties":{},"type":"object"},"name":"now"}
    {"description":"Patches.","inputSchema":{"additionalProperties":false,"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"},"name":"patch"}
    {"description":"Does read.","inputSchema":{"additionalProperties":false,"properties":{"limit":{"description":"How many.","type":["integer","null"]},"type":{"enum":["integer"],"type":"string"}},"required":["limit","type"],"type":"object"},"name":"read"}
    "#);
}

#[test]
fn the_order_of_the_specs_does_not_matter() {
    let specs = specs();
    let mut turned = specs.each_ref();
    turned.reverse();
    for dialect in Dialect::ALL {
        let style = ApiCompat::default();
        assert_eq!(
            dialect.tools(&turned, &style).to_string(),
            dialect.tools(&specs.each_ref(), &style).to_string()
        );
    }
}

fn outputs() -> [ToolOutput; 6] {
    let image = OutputItem::Image(OutputImage { mime: "image/png", bytes: vec![0, 1, 254] });
    let of = |items: Vec<OutputItem>| ToolOutput { items, ..ToolOutput::text("") };
    let text = |text: &str| OutputItem::Text(text.to_owned());
    [
        ToolOutput::text("done"),
        of(vec![text("one"), text("two")]),
        ToolOutput::text(" \n"),
        of(vec![text("see"), image.clone(), text("")]),
        of(vec![image.clone()]),
        ToolOutput { success: false, ..of(vec![text("no"), image]) },
    ]
}

fn answers(dialect: Dialect, payload: ToolPayload) -> String {
    let call = ToolCall { id: "c1".into(), name: "t".into(), payload };
    let items = outputs().iter().flat_map(|output| dialect.answer(&call, output)).collect();
    lines(&Value::Array(items))
}

#[test]
fn answers_of_every_shape_in_every_dialect() {
    let function = || ToolPayload::Function { arguments: "{}".into() };
    assert_snapshot!(answers(Dialect::Responses, function()), @r#"
    {"call_id":"c1","output":"done","type":"function_call_output"}
    {"call_id":"c1","output":"one\ntwo","type":"function_call_output"}
    {"call_id":"c1","output":"(no output)","type":"function_call_output"}
    {"call_id":"c1","output":[{"text":"see","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AAH+","type":"input_image"}],"type":"function_call_output"}
    {"call_id":"c1","output":[{"detail":"auto","image_url":"data:image/png;base64,AAH+","type":"input_image"}],"type":"function_call_output"}
    {"call_id":"c1","output":[{"text":"no","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,AAH+","type":"input_image"}],"type":"function_call_output"}
    "#);
    assert_snapshot!(answers(Dialect::Chat, function()), @r#"
    {"content":"done","role":"tool","tool_call_id":"c1"}
    {"content":"one\ntwo","role":"tool","tool_call_id":"c1"}
    {"content":"(no output)","role":"tool","tool_call_id":"c1"}
    {"content":"see\n(pictures in a user message below: 1)","role":"tool","tool_call_id":"c1"}
    {"content":[{"text":"Pictures from the tool call c1:","type":"text"},{"image_url":{"url":"data:image/png;base64,AAH+"},"type":"image_url"}],"role":"user"}
    {"content":"(pictures in a user message below: 1)","role":"tool","tool_call_id":"c1"}
    {"content":[{"text":"Pictures from the tool call c1:","type":"text"},{"image_url":{"url":"data:image/png;base64,AAH+"},"type":"image_url"}],"role":"user"}
    {"content":"no\n(pictures in a user message below: 1)","role":"tool","tool_call_id":"c1"}
    {"content":[{"text":"Pictures from the tool call c1:","type":"text"},{"image_url":{"url":"data:image/png;base64,AAH+"},"type":"image_url"}],"role":"user"}
    "#);
    assert_snapshot!(answers(Dialect::Anthropic, function()), @r#"
    {"content":"done","tool_use_id":"c1","type":"tool_result"}
    {"content":"one\ntwo","tool_use_id":"c1","type":"tool_result"}
    {"content":"(no output)","tool_use_id":"c1","type":"tool_result"}
    {"content":[{"text":"see","type":"text"},{"source":{"data":"AAH+","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"c1","type":"tool_result"}
    {"content":[{"source":{"data":"AAH+","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"c1","type":"tool_result"}
    {"content":"no\n(a picture was left out)","is_error":true,"tool_use_id":"c1","type":"tool_result"}
    "#);
}

#[test]
fn the_payload_decides_the_item_type() {
    let kind = |payload| {
        let call = ToolCall { id: "c1".into(), name: "t".into(), payload };
        Dialect::Responses.answer(&call, &ToolOutput::text("x"))[0]["type"].clone()
    };
    assert_eq!(kind(ToolPayload::Custom { input: String::new() }), "custom_tool_call_output");
    assert_eq!(kind(ToolPayload::LocalShell(LocalShellCall::default())), "function_call_output");
    let (server, tool, arguments) = (String::new(), String::new(), String::new());
    assert_eq!(kind(ToolPayload::Mcp { server, tool, arguments }), "function_call_output");
}
