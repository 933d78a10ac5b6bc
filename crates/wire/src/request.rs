//! The body of a request, put together from pieces that were serialised before.
//!
//! What never changes in a session comes first and the conversation last, so that the bytes of one request are, up to
//! its end, the bytes of the next: providers find the longest prefix that they know. Anthropic is told where to look by
//! marks, which move; they are no part of what it compares.

use std::fmt::Write;

use serde_json::Value;

use crate::Dialect;
use crate::entry::{Entry, Part};

/// How long an answer may get where the API demands a number and nobody gave one. Every Claude 4 model takes it.
const MAX_TOKENS: u64 = 32_000;

/// Tells Anthropic that the prompt up to here will come again.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// So many of the last user messages are marked. The API looks back over 20 blocks only; a turn of many calls is
/// longer than that, and its own start is then found by the second mark.
const MARKED_MESSAGES: usize = 2;

/// Room for all that is not text of the caller's.
const ROOM: usize = 1024;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Which model, e.g. `gpt-5`.
    pub model: &'a str,
    /// What the model is told before anything else; may be empty.
    pub instructions: &'a str,
    /// The conversation so far.
    pub items: &'a [Entry],
    /// What [`Dialect::tools`] wrote, as text; may be empty.
    pub tools: &'a str,
    /// How long the answer may get.
    pub max_output_tokens: Option<u64>,
    /// Keeps the requests of a session on machines that have it in their cache (Responses).
    pub cache_key: Option<&'a str>,
    /// What becomes of thoughts.
    pub reasoning: Reasoning,
}

/// What becomes of a model's thoughts between two requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// They come back encrypted and go into the history (Responses; Anthropic always signs them).
    Keep,
    /// They are not asked for.
    #[default]
    None,
}

impl Dialect {
    /// Writes the body of a request for a stream. The same request gives the same bytes.
    pub fn request(self, request: &Request<'_>) -> String {
        let items: usize = request.items.iter().map(|entry| entry.size() + MARK.len()).sum();
        let given = request.instructions.len() + request.instructions.len() / 8 + request.tools.len();
        let mut body = String::with_capacity(items + given + ROOM);
        body.push_str(r#"{"model":"#);
        push_text(&mut body, request.model);
        match self {
            Self::Responses => responses(&mut body, request),
            Self::Chat => chat(&mut body, request),
            Self::Anthropic => anthropic(&mut body, request),
        }
        body.push_str("]}");
        body
    }
}

fn responses(body: &mut String, request: &Request<'_>) {
    body.push_str(r#","store":false,"stream":true"#);
    match request.reasoning {
        Reasoning::Keep => body.push_str(r#","include":["reasoning.encrypted_content"]"#),
        Reasoning::None => {}
    }
    push_number(body, "max_output_tokens", request.max_output_tokens);
    if let Some(key) = request.cache_key {
        body.push_str(r#","prompt_cache_key":"#);
        push_text(body, key);
    }
    if let Some(tools) = tools_of(request) {
        body.push_str(r#","tool_choice":"auto","parallel_tool_calls":true,"tools":"#);
        body.push_str(tools);
    }
    if !request.instructions.is_empty() {
        body.push_str(r#","instructions":"#);
        push_text(body, request.instructions);
    }
    body.push_str(r#","input":["#);
    push_wholes(body, request.items);
}

fn chat(body: &mut String, request: &Request<'_>) {
    body.push_str(r#","stream":true,"stream_options":{"include_usage":true}"#);
    // OpenAI's newer models refuse `max_tokens`; servers that do not know the newer name pass over it.
    push_number(body, "max_completion_tokens", request.max_output_tokens);
    if let Some(tools) = tools_of(request) {
        body.push_str(r#","tools":"#);
        body.push_str(tools);
    }
    body.push_str(r#","messages":["#);
    if !request.instructions.is_empty() {
        body.push_str(r#"{"role":"system","content":"#);
        push_text(body, request.instructions);
        body.push_str(if request.items.is_empty() { "}" } else { "}," });
    }
    push_wholes(body, request.items);
}

fn anthropic(body: &mut String, request: &Request<'_>) {
    body.push_str(r#","stream":true"#);
    push_number(body, "max_tokens", Some(request.max_output_tokens.unwrap_or(MAX_TOKENS)));
    if let Some(tools) = tools_of(request) {
        body.push_str(r#","tools":"#);
        match tools.strip_suffix("}]") {
            Some(start) => body.extend([start, MARK, "}]"]),
            None => body.push_str(tools),
        }
    }
    if !request.instructions.trim().is_empty() {
        body.push_str(r#","system":[{"type":"text","text":"#);
        push_text(body, request.instructions);
        body.extend([MARK, "}]"]);
    }
    body.push_str(r#","messages":["#);
    push_messages(body, request.items);
}

fn push_wholes(body: &mut String, entries: &[Entry]) {
    for (at, entry) in entries.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        body.push_str(entry.text());
    }
}

/// Entries that make up one user message become one, its results first.
fn push_messages(body: &mut String, entries: &[Entry]) {
    let runs: Vec<&[Entry]> =
        entries.chunk_by(|one, next| one.part() != Part::Whole && next.part() != Part::Whole).collect();
    let is_user = |run: &[Entry]| run.first().is_some_and(|entry| entry.part() != Part::Whole);
    let users = runs.iter().filter(|run| is_user(run)).count();
    let mut user = 0;
    for (at, run) in runs.iter().enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        if !is_user(run) {
            push_wholes(body, run);
            continue;
        }
        user += 1;
        body.push_str(r#"{"role":"user","content":["#);
        push_blocks(body, run);
        if users - user < MARKED_MESSAGES && body.ends_with('}') {
            body.pop();
            body.extend([MARK, "}"]);
        }
        body.push_str("]}");
    }
}

fn push_blocks(body: &mut String, run: &[Entry]) {
    let of = |part: Part| run.iter().filter(move |entry| entry.part() == part);
    for (at, entry) in of(Part::Result).chain(of(Part::Blocks)).enumerate() {
        body.push_str(if at == 0 { "" } else { "," });
        body.push_str(entry.text());
    }
}

/// APIs refuse an empty list.
fn tools_of<'a>(request: &Request<'a>) -> Option<&'a str> {
    let tools = request.tools.trim();
    (!matches!(tools, "" | "[]")).then_some(tools)
}

fn push_text(body: &mut String, text: &str) {
    // A writer of our own would save the copy; instructions are small.
    body.push_str(&Value::from(text).to_string());
}

fn push_number(body: &mut String, name: &str, number: Option<u64>) {
    if let Some(number) = number {
        write!(body, r#","{name}":{number}"#).expect("a string takes all that is written to it");
    }
}

#[cfg(test)]
mod tests;
