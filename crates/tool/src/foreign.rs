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
        let parameters = JsonSchema::foreign(&self.input_schema, SCHEMA)?;
        let description = clean(&self.description, DESCRIPTION);
        let spec =
            FunctionSpec { name: self.name, description, parameters: parameters.clone(), strict: Strict::No };
        let run = Arc::new(move |arguments, cx| Box::pin(run(arguments, cx)) as Answering);
        Ok(Arc::new(ForeignTool { spec: ToolSpec::Function(Box::new(spec)), schema: parameters, run }))
    }
}

type Answering = BoxFuture<'static, Result<ToolOutput, ToolError>>;
type Run = Arc<dyn Fn(Value, Cx) -> Answering + Send + Sync>;

struct ForeignTool {
    spec: ToolSpec,
    schema: JsonSchema,
    run: Run,
}

impl AnyTool for ForeignTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Nobody knows what it does, so nothing runs beside it.
    fn lane(&self) -> Lane {
        Lane::Alone
    }

    fn plan(&self, call: &ToolCall, _: &Place) -> Result<Box<dyn Attempt>, ToolError> {
        let arguments = args::checked(&call.payload.arguments(), &self.schema, &[])?;
        Ok(Box::new(ForeignCall { run: Arc::clone(&self.run), arguments, intent: Intent::nothing() }))
    }
}

struct ForeignCall {
    run: Run,
    arguments: Value,
    intent: Intent,
}

impl Attempt for ForeignCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn run<'a>(&'a self, _: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.run)(self.arguments.clone(), cx.clone())
    }
}
