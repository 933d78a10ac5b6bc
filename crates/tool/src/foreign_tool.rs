//! Tools from outside, e.g. MCP servers: foreign schema, foreign implementation, validated here.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use policy::{Intent, Permit};
use serde_json::Value;

use crate::sanitize_text::sanitize_text;
use crate::{
    AnyTool, CallAttempt, Cx, FunctionSpec, JsonSchema, Lane, SchemaFault, StrictMode, ToolCall, ToolError,
    ToolOutput, ToolSpec, WorkingDir, args,
};

/// The longest foreign description, in characters of the model's context.
const MAX_DESCRIPTION_CHARS: usize = 2000;
/// The largest foreign schema, in bytes of JSON in the model's context.
const MAX_SCHEMA_BYTES: usize = 5000;

/// The description of a tool by an MCP server or a client. Every field is hostile input until it is sanitized here.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignToolSpec {
    /// Its name; the registry rejects names that no model API accepts.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// A JSON Schema; any JSON value may arrive here.
    pub input_schema: Value,
}

impl ForeignToolSpec {
    /// Makes a tool that `run` answers. The schema is sanitized, and arguments are validated against the result before
    /// `run` sees them. A tool that cannot be called with a JSON object is rejected; other tools are not affected.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use toolgate_tool::{AnyTool, Cx, ForeignToolSpec, ToolOutput};
    ///
    /// let echo = ForeignToolSpec {
    ///     name: "echo".into(),
    ///     description: "Says it back.".into(),
    ///     input_schema: json!({"properties": {"text": {"type": "string"}}, "required": ["text"]}),
    /// };
    /// let tool = echo.into_tool_with(|arguments: Value, _: Cx| async move {
    ///     Ok(ToolOutput::text(arguments["text"].as_str().unwrap_or_default()))
    /// });
    /// assert_eq!(tool.unwrap().spec().name(), "echo");
    /// ```
    pub fn into_tool_with<F, R>(self, run: F) -> Result<Arc<dyn AnyTool>, SchemaFault>
    where
        F: Fn(Value, Cx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        self.into_tool(Arc::new(ClosureBackend(run)))
    }

    /// Makes a tool that `backend` implements; unlike [`into_tool_with`](Self::into_tool_with), it can declare lane,
    /// intent and preview.
    pub fn into_tool(self, backend: Arc<dyn ForeignBackend>) -> Result<Arc<dyn AnyTool>, SchemaFault> {
        let schema = JsonSchema::from_foreign(&self.input_schema, MAX_SCHEMA_BYTES)?;
        let description = sanitize_text(&self.description, MAX_DESCRIPTION_CHARS);
        let spec =
            FunctionSpec { name: self.name, description, parameters: schema.clone(), strict: StrictMode::No };
        Ok(Arc::new(ForeignTool { spec: ToolSpec::Function(Box::new(spec)), schema, backend }))
    }
}

/// Implements the calls of a foreign tool.
pub trait ForeignBackend: Send + Sync {
    /// Returns the lane of its calls; by default they run alone, since their effects are unknown.
    fn lane(&self) -> Lane {
        Lane::Exclusive
    }

    /// Returns the effects of a call.
    fn intent(&self) -> Intent {
        Intent::nothing()
    }

    /// Returns the text that the user is shown when asked about a call with these arguments.
    fn preview(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Answers a call whose arguments match the schema.
    fn answer(&self, arguments: Value, cx: Cx) -> ToolOutputFuture<'_>;
}

/// A future tool output.
pub type ToolOutputFuture<'a> = BoxFuture<'a, Result<ToolOutput, ToolError>>;

/// A backend that calls a closure.
struct ClosureBackend<F>(F);

impl<F, R> ForeignBackend for ClosureBackend<F>
where
    F: Fn(Value, Cx) -> R + Send + Sync,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn answer(&self, arguments: Value, cx: Cx) -> ToolOutputFuture<'_> {
        Box::pin((self.0)(arguments, cx))
    }
}

/// A foreign tool in the form that the engine uses.
struct ForeignTool {
    spec: ToolSpec,
    schema: JsonSchema,
    backend: Arc<dyn ForeignBackend>,
}

impl AnyTool for ForeignTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn lane(&self) -> Lane {
        self.backend.lane()
    }

    fn plan(&self, call: &ToolCall, _: &WorkingDir) -> Result<Box<dyn CallAttempt>, ToolError> {
        let arguments = args::parse_and_validate(&call.payload.arguments(), &self.schema, &[])?;
        let (backend, intent) = (Arc::clone(&self.backend), self.backend.intent());
        Ok(Box::new(ForeignAttempt { backend, arguments, intent }))
    }
}

/// A parsed call of a foreign tool.
struct ForeignAttempt {
    backend: Arc<dyn ForeignBackend>,
    arguments: Value,
    intent: Intent,
}

impl CallAttempt for ForeignAttempt {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn preview<'a>(&'a self, _: &'a Permit, _: &'a Cx) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self.backend.preview(&self.arguments)))
    }

    fn run<'a>(&'a self, _: &'a Permit, cx: &'a Cx) -> ToolOutputFuture<'a> {
        self.backend.answer(self.arguments.clone(), cx.clone())
    }
}
