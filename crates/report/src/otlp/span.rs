//! A trace span of a session, with its name and attributes by the GenAI conventions.

use journal::{RecordedVerdict, RequestUsage};

/// The line number of the session's own span: journal lines begin with one.
pub(crate) const SESSION_LINE: u64 = 0;
/// The agent's name.
const AGENT_NAME: &str = "toolgate";

/// A span of a session.
#[derive(Debug)]
pub(crate) struct TraceSpan {
    /// The journal line that identifies it, and that of its parent.
    pub line: u64,
    pub parent: Option<u64>,
    /// Milliseconds since 1970.
    pub from: u64,
    pub to: u64,
    /// The kind of error, if it failed.
    pub error: Option<String>,
    pub work: SpanWork,
}

/// The work that a span covers.
#[derive(Debug)]
pub(crate) enum SpanWork {
    Session(TraceSettings),
    Request { model: TraceModel, usage: RequestUsage },
    Call(TraceCall),
    Question { tool: String, decision: Option<String> },
}

/// The last settings of a session.
#[derive(Debug, Default)]
pub(crate) struct TraceSettings {
    pub model: TraceModel,
    pub version: String,
    pub sandbox: String,
    pub approval: String,
}

/// The model and its provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TraceModel {
    pub name: String,
    pub provider: &'static str,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct TraceCall {
    pub id: String,
    pub tool: String,
    /// The server, if it is one of a server's tools.
    pub server: Option<String>,
    pub verdict: Option<RecordedVerdict>,
    pub enforcement: Option<String>,
    /// The call's own milliseconds, as `toolgate stats` counts them: without the time for questions.
    pub run_ms: u64,
    /// Bytes of the answer's text.
    pub answer_bytes: Option<u64>,
}

/// An attribute of a span.
pub(crate) type SpanAttribute = (&'static str, AttributeValue);

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttributeValue {
    Text(String),
    Count(u64),
}

impl TraceSpan {
    /// Returns the span's name.
    pub(super) fn name(&self) -> String {
        match &self.work {
            SpanWork::Session(_) => format!("invoke_agent {AGENT_NAME}"),
            SpanWork::Request { model, .. } => format!("chat {}", model.name),
            SpanWork::Call(call) => format!("execute_tool {}", call.tool),
            SpanWork::Question { tool, .. } => format!("ask {tool}"),
        }
    }

    /// Reports whether another program did the work.
    pub(crate) fn is_client(&self) -> bool {
        match &self.work {
            SpanWork::Request { .. } => true,
            SpanWork::Session(_) | SpanWork::Call(_) | SpanWork::Question { .. } => false,
        }
    }

    /// Returns the attributes; `session` is the session's name.
    pub(super) fn attributes(&self, session: &str) -> Vec<SpanAttribute> {
        let mut known = match &self.work {
            SpanWork::Session(setting) => setting.attributes(),
            SpanWork::Request { model, usage } => request_attributes(model, usage),
            SpanWork::Call(call) => call.attributes(),
            SpanWork::Question { tool, decision } => {
                let decision = decision.as_deref().map(|word| ("toolgate.decision", word.into()));
                [("gen_ai.tool.name", tool.as_str().into())].into_iter().chain(decision).collect()
            }
        };
        known.push(("gen_ai.conversation.id", session.into()));
        known.extend(self.error_attribute());
        known
    }

    /// Returns the error attribute, if it failed.
    pub(crate) fn error_attribute(&self) -> Option<SpanAttribute> {
        Some(("error.type", self.error.as_deref()?.into()))
    }
}

impl TraceSettings {
    fn attributes(&self) -> Vec<SpanAttribute> {
        let mut known = vec![operation_attribute("invoke_agent"), ("gen_ai.agent.name", AGENT_NAME.into())];
        known.extend(self.model.attributes());
        known.push(("gen_ai.agent.version", self.version.as_str().into()));
        known.push(("toolgate.sandbox", self.sandbox.as_str().into()));
        known.push(("toolgate.approval", self.approval.as_str().into()));
        known
    }
}

impl TraceModel {
    pub(super) fn attributes(&self) -> [SpanAttribute; 2] {
        [("gen_ai.provider.name", self.provider.into()), ("gen_ai.request.model", self.name.as_str().into())]
    }
}

impl TraceCall {
    fn attributes(&self) -> Vec<SpanAttribute> {
        let mut known = self.tool_attributes();
        known.push(("gen_ai.tool.call.id", self.id.as_str().into()));
        known.extend(self.server.as_deref().map(|server| ("toolgate.server", server.into())));
        known.extend(self.verdict.map(|ruling| ("toolgate.verdict", verdict_word(ruling).into())));
        known.extend(self.enforcement.as_deref().map(|how| ("toolgate.enforcement", how.into())));
        known.extend(self.answer_bytes.map(|bytes| ("toolgate.answer.bytes", AttributeValue::Count(bytes))));
        known
    }

    /// Returns the attributes that identify the tool; they are equal for all of its calls.
    pub(crate) fn tool_attributes(&self) -> Vec<SpanAttribute> {
        // A tool of a server comes from outside the agent.
        let kind = if self.server.is_some() { "extension" } else { "function" };
        vec![
            operation_attribute("execute_tool"),
            ("gen_ai.tool.name", self.tool.as_str().into()),
            ("gen_ai.tool.type", kind.into()),
        ]
    }
}

/// Returns the attribute that names one of the conventions' operations.
pub(crate) fn operation_attribute(name: &str) -> SpanAttribute {
    ("gen_ai.operation.name", name.into())
}

fn request_attributes(model: &TraceModel, usage: &RequestUsage) -> Vec<SpanAttribute> {
    let mut known = vec![operation_attribute("chat")];
    known.extend(model.attributes());
    let counts = [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("toolgate.request.bytes", usage.request_bytes),
    ];
    // Zero means that the provider reports no count.
    known.extend(
        counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name, AttributeValue::Count(count))),
    );
    known
}

fn verdict_word(verdict: RecordedVerdict) -> &'static str {
    match verdict {
        RecordedVerdict::Allow => "allow",
        RecordedVerdict::Ask => "ask",
        RecordedVerdict::Forbid => "forbid",
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
