//! A tool from elsewhere: described by somebody else's schema, answered by somebody else's code.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use policy::{Intent, Permit};
use serde_json::Value;

use crate::text::clean;
use crate::{
    AnyTool, Attempt, Cx, FunctionSpec, JsonSchema, Lane, Place, SchemaFault, Strict, ToolCall, ToolError,
    ToolOutput, ToolSpec, args,
};

/// What a description from outside may take of the model's context, in characters.
const DESCRIPTION: usize = 2000;
/// What a schema from outside may take of the model's context, in bytes of JSON.
const SCHEMA: usize = 5000;

/// A tool as an MCP server or a client describes it. Every word of it is hostile until it was read here.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// Its name; the registry refuses what no model API would take.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Any JSON Schema, or what somebody takes for one.
    pub input_schema: Value,
}

impl Foreign {
    /// Makes a tool of it, answered by `run`. Its schema is sanitised, and arguments are checked against the result
    /// before `run` sees them. A tool that cannot be called with a JSON object is refused; that takes no other down.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use toolgate_tool::{AnyTool, Cx, Foreign, ToolOutput};
    ///
    /// let echo = Foreign {
    ///     name: "echo".into(),
    ///     description: "Says it back.".into(),
    ///     input_schema: json!({"properties": {"text": {"type": "string"}}, "required": ["text"]}),
    /// };
    /// let tool = echo.answered_by(|arguments: Value, _: Cx| async move {
    ///     Ok(ToolOutput::text(arguments["text"].as_str().unwrap_or_default()))
    /// });
    /// assert_eq!(tool.unwrap().spec().name(), "echo");
    /// ```
    pub fn answered_by<F, R>(self, run: F) -> Result<Arc<dyn AnyTool>, SchemaFault>
    where
        F: Fn(Value, Cx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        self.answered(Arc::new(Answered(run)))
    }

    /// The same, with more known about who answers.
    pub fn answered(self, answers: Arc<dyn Answers>) -> Result<Arc<dyn AnyTool>, SchemaFault> {
        let schema = JsonSchema::foreign(&self.input_schema, SCHEMA)?;
        let description = clean(&self.description, DESCRIPTION);
        let spec =
            FunctionSpec { name: self.name, description, parameters: schema.clone(), strict: Strict::No };
        Ok(Arc::new(ForeignTool { spec: ToolSpec::Function(Box::new(spec)), schema, answers }))
    }
}

/// Answers the calls of a tool from elsewhere.
pub trait Answers: Send + Sync {
    /// Which calls its calls may run beside: if nobody knows what it does, none.
    fn lane(&self) -> Lane {
        Lane::Alone
    }

    /// What a call touches.
    fn intent(&self) -> Intent {
        Intent::nothing()
    }

    /// What whoever is asked about a call with these arguments should see.
    fn preview(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Answers a call with arguments that fit the schema.
    fn answer(&self, arguments: Value, cx: Cx) -> Answering<'_>;
}

/// An answer on its way.
pub type Answering<'a> = BoxFuture<'a, Result<ToolOutput, ToolError>>;

struct Answered<F>(F);

impl<F, R> Answers for Answered<F>
where
    F: Fn(Value, Cx) -> R + Send + Sync,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn answer(&self, arguments: Value, cx: Cx) -> Answering<'_> {
        Box::pin((self.0)(arguments, cx))
    }
}

struct ForeignTool {
    spec: ToolSpec,
    schema: JsonSchema,
    answers: Arc<dyn Answers>,
}

impl AnyTool for ForeignTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn lane(&self) -> Lane {
        self.answers.lane()
    }

    fn plan(&self, call: &ToolCall, _: &Place) -> Result<Box<dyn Attempt>, ToolError> {
        let arguments = args::checked(&call.payload.arguments(), &self.schema, &[])?;
        let (answers, intent) = (Arc::clone(&self.answers), self.answers.intent());
        Ok(Box::new(ForeignCall { answers, arguments, intent }))
    }
}

struct ForeignCall {
    answers: Arc<dyn Answers>,
    arguments: Value,
    intent: Intent,
}

impl Attempt for ForeignCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn preview<'a>(&'a self, _: &'a Permit, _: &'a Cx) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self.answers.preview(&self.arguments)))
    }

    fn run<'a>(&'a self, _: &'a Permit, cx: &'a Cx) -> Answering<'a> {
        self.answers.answer(self.arguments.clone(), cx.clone())
    }
}
