//! Builds request bodies from items that are serialised once, as `SerializedItem`.
//!
//! The constant parts of a session come first and the conversation last. Each request therefore begins with the bytes
//! of the previous one, and providers cache the longest known prefix. Anthropic needs cache marks, which move; they are
//! not part of the compared prefix.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use crate::Dialect;

/// Default output limit for the API that requires one. Every Claude 4 model accepts it.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// The cache mark of Anthropic: the prompt up to here will be sent again.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Number of trailing user messages with a cache mark. The API looks back over only 20 blocks. A turn of many calls is
/// longer, and the second mark then covers its start.
const MARKED_MESSAGES: usize = 2;

/// Capacity for everything except the caller's text.
const BODY_OVERHEAD_BYTES: usize = 1024;

/// The parameters of a model request.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model name, e.g. `gpt-5`.
    pub model: &'a str,
    /// The system prompt; may be empty.
    pub instructions: &'a str,
    /// The conversation so far.
    pub items: &'a [SerializedItem],
    /// The output of [`Dialect::tools`] as text; may be empty.
    pub tools: &'a str,
    /// The maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// Routes the requests of a session to machines with a warm prompt cache (Responses).
    pub cache_key: Option<&'a str>,
    /// The handling of reasoning items.
    pub reasoning: ReasoningMode,
}

impl<'a> ModelRequest<'a> {
    /// Creates a request with nothing but the conversation `items`, for the model of this name.
    pub fn new(model: &'a str, items: &'a [SerializedItem]) -> Self {
        let (instructions, tools, reasoning) = ("", "", ReasoningMode::None);
        Self { model, instructions, items, tools, max_output_tokens: None, cache_key: None, reasoning }
    }
}

/// The handling of a model's reasoning between two requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReasoningMode {
    /// Reasoning is returned encrypted and kept in the history (Responses; Anthropic always signs it).
    Keep,
    /// Reasoning is not requested.
    #[default]
    None,
}

/// One serialised item of a conversation, a part of request bodies. Cloning shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerializedItem {
    text: Arc<str>,
    fragment: ItemFragment,
}

/// The role of an entry's text in the request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemFragment {
    /// A complete item or message.
    Whole,
    /// A `tool_result` block, which must come first in its user message.
    Result,
    /// Content blocks of a user message, separated by commas.
    Blocks,
}

impl SerializedItem {
    /// Returns the bytes that this entry adds to a request body, without separators and enclosing messages.
    pub fn size(&self) -> usize {
        self.text.len()
    }
}

impl Dialect {
    /// Serialises an item that [`user_message`](Self::user_message), [`assistant_turn`](Self::assistant_turn),
    /// [`answers`](Self::answers) or [`turn_replies`](Self::turn_replies) wrote.
    pub fn serialize_item(self, item: &Value) -> SerializedItem {
        let whole = || SerializedItem { text: item.to_string().into(), fragment: ItemFragment::Whole };
        match self {
            Self::Responses | Self::Chat => whole(),
            Self::Anthropic if item["type"] == "tool_result" => {
                SerializedItem { fragment: ItemFragment::Result, ..whole() }
            }
            Self::Anthropic => match (item["role"].as_str(), item["content"].as_array()) {
                (Some("user"), Some(blocks)) if !blocks.is_empty() => {
                    let blocks: Vec<String> = blocks.iter().map(Value::to_string).collect();
                    SerializedItem { text: blocks.join(",").into(), fragment: ItemFragment::Blocks }
                }
                (Some(_) | None, _) => whole(),
            },
        }
    }

    /// Writes the body of a streaming request. Equal requests give equal bytes.
    pub fn request_body(self, request: &ModelRequest<'_>) -> String {
        let items: usize = request.items.iter().map(|entry| entry.size() + CACHE_MARK.len()).sum();
        let given = request.instructions.len() + request.instructions.len() / 8 + request.tools.len();
        let mut body = String::with_capacity(items + given + BODY_OVERHEAD_BYTES);
        body.push_str(r#"{"model":"#);
        push_text(&mut body, request.model);
        match self {
            Self::Responses => push_responses_body(&mut body, request),
            Self::Chat => push_chat_body(&mut body, request),
            Self::Anthropic => push_anthropic_body(&mut body, request),
        }
        body.push_str("]}");
        body
    }
}

fn push_responses_body(body: &mut String, request: &ModelRequest<'_>) {
    body.push_str(r#","store":false,"stream":true"#);
    match request.reasoning {
        ReasoningMode::Keep => body.push_str(r#","include":["reasoning.encrypted_content"]"#),
        ReasoningMode::None => {}
    }
    push_number(body, "max_output_tokens", request.max_output_tokens);
    if let Some(key) = request.cache_key {
        body.push_str(r#","prompt_cache_key":"#);
        push_text(body, key);
    }
    if let Some(tools) = non_empty_tools(request) {
        body.push_str(r#","tool_choice":"auto","parallel_tool_calls":true,"tools":"#);
        body.push_str(tools);
    }
    if !request.instructions.is_empty() {
        body.push_str(r#","instructions":"#);
        push_text(body, request.instructions);
    }
    body.push_str(r#","input":["#);
    push_items(body, request.items);
}

fn push_chat_body(body: &mut String, request: &ModelRequest<'_>) {
    body.push_str(r#","stream":true,"stream_options":{"include_usage":true}"#);
    // OpenAI's newer models reject `max_tokens`; servers that do not know the newer name ignore it.
    push_number(body, "max_completion_tokens", request.max_output_tokens);
    if let Some(tools) = non_empty_tools(request) {
        body.push_str(r#","tools":"#);
        body.push_str(tools);
    }
    body.push_str(r#","messages":["#);
    if !request.instructions.is_empty() {
        body.push_str(r#"{"role":"system","content":"#);
        push_text(body, request.instructions);
        body.push_str(if request.items.is_empty() { "}" } else { "}," });
    }
    push_items(body, request.items);
}

fn push_anthropic_body(body: &mut String, request: &ModelRequest<'_>) {
    body.push_str(r#","stream":true"#);
    push_number(body, "max_tokens", Some(request.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS)));
    if let Some(tools) = non_empty_tools(request) {
        body.push_str(r#","tools":"#);
        match tools.strip_suffix("}]") {
            Some(start) => body.extend([start, CACHE_MARK, "}]"]),
            None => body.push_str(tools),
        }
    }
    if !request.instructions.trim().is_empty() {
        body.push_str(r#","system":[{"type":"text","text":"#);
        push_text(body, request.instructions);
        body.extend([CACHE_MARK, "}]"]);
    }
    body.push_str(r#","messages":["#);
    push_messages(body, request.items);
}

fn push_items(body: &mut String, entries: &[SerializedItem]) {
    for (at, entry) in entries.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        body.push_str(&entry.text);
    }
}

/// Merges the entries of one user message into one message, results first.
fn push_messages(body: &mut String, entries: &[SerializedItem]) {
    let runs: Vec<&[SerializedItem]> = entries
        .chunk_by(|one, next| one.fragment != ItemFragment::Whole && next.fragment != ItemFragment::Whole)
        .collect();
    let is_user =
        |run: &[SerializedItem]| run.first().is_some_and(|entry| entry.fragment != ItemFragment::Whole);
    let users = runs.iter().filter(|run| is_user(run)).count();
    let mut user = 0;
    for (at, run) in runs.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        if !is_user(run) {
            push_items(body, run);
            continue;
        }
        user += 1;
        body.push_str(r#"{"role":"user","content":["#);
        push_blocks(body, run);
        if users - user < MARKED_MESSAGES && body.ends_with('}') {
            body.pop();
            body.extend([CACHE_MARK, "}"]);
        }
        body.push_str("]}");
    }
}

fn push_blocks(body: &mut String, run: &[SerializedItem]) {
    let of = |part: ItemFragment| run.iter().filter(move |entry| entry.fragment == part);
    for (at, entry) in of(ItemFragment::Result).chain(of(ItemFragment::Blocks)).enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        body.push_str(&entry.text);
    }
}

/// Returns the tools unless the list is empty, which APIs reject.
fn non_empty_tools<'a>(request: &ModelRequest<'a>) -> Option<&'a str> {
    let tools = request.tools.trim();
    (!matches!(tools, "" | "[]")).then_some(tools)
}

fn push_text(body: &mut String, text: &str) {
    // A writer of our own would save the copy, but instructions are small.
    body.push_str(&Value::from(text).to_string());
}

fn push_number(body: &mut String, name: &str, number: Option<u64>) {
    if let Some(number) = number {
        write!(body, r#","{name}":{number}"#).expect("a string takes all that is written to it");
    }
}

#[cfg(test)]
mod tests;
