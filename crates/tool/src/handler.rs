//! Defines the traits of a tool (`ToolHandler`), its type-erased form (`AnyTool`) and its source (`ToolSource`).

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use policy::{Intent, Permit};

use crate::args::fault_as_sent;
use crate::{
    Args, Cx, JsonSchema, JsonType, LengthBounds, StrictFault, StrictMode, ToolCall, ToolError, ToolOutput,
    ToolPayload, ToolSpec, WorkingDir,
};

/// A tool: one type, one file.
///
/// `intent` touches nothing; `run` touches only what its permit allows. A tool sees no session, no configuration and no
/// other tool.
pub trait ToolHandler: Send + Sync + 'static {
    /// Its arguments. The model reads the doc comments of the fields.
    type Args: Args;
    /// Its name, `^[A-Za-z0-9_-]{1,128}$`.
    const NAME: &'static str;
    /// Its description for the model.
    const ABOUT: &'static str;
    /// Aliases of the tool, never sent to a model.
    const ALIASES: &'static [&'static str] = &[];
    /// Aliases of arguments, never sent to a model: `("file_path", "path")`, `("steps[].step", "description")`.
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Accepted arguments that are left out of the model's schema: `"env"`, `"questions[].header"`.
    const HIDDEN_ARGS: &'static [&'static str] = &[];
    /// Arguments that accept several types, each with the one type in the model's schema.
    const ADVERTISED_TYPES: &'static [(&'static str, JsonType)] = &[];
    /// Its job, if other tools do the same one.
    const JOB: ToolJob = ToolJob::Unique;
    /// The lane of its calls: shared or alone.
    const LANE: Lane = Lane::Exclusive;
    /// Strict mode makes the model's provider enforce the schema.
    const STRICT: StrictMode = StrictMode::No;
    /// The model capability that the tool requires.
    const NEEDS: RequiredCapability = RequiredCapability::Nothing;

    /// States the effects of the call. The default states none.
    fn intent(&self, _args: &Self::Args, _working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::nothing())
    }

    /// Returns the call of this tool that has the same effect as another tool's call with `intent`, if there is one.
    /// The router runs it instead.
    fn takes_over(&self, _intent: &Intent) -> Option<TakenOverCall> {
        None
    }

    /// Returns the pending changes as a diff for the user's approval. `preview_permit` permits reading those files and
    /// nothing else.
    fn preview(
        &self,
        _args: &Self::Args,
        _preview_permit: &Permit,
        _cx: &Cx,
    ) -> impl Future<Output = Option<String>> + Send {
        std::future::ready(None)
    }

    /// Does the work, with a permit for the stated effects.
    ///
    /// The code up to the first pending `.await` may run on the thread that starts the calls of a turn, so it must be
    /// short. Long or blocking work goes into [`Cx::run_blocking`].
    ///
    /// A call that must end is dropped while it waits. A tool that has to clean up or report waits for [`Cx::wait_for_halt`]
    /// beside its work.
    fn run(
        &self,
        args: &Self::Args,
        permit: &Permit,
        cx: &Cx,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A call that a tool takes over from another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOverCall {
    /// The arguments of the call.
    pub payload: ToolPayload,
    /// The directory that the call is made in.
    pub working_dir: WorkingDir,
}

/// Decides which calls may run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Runs concurrently with other shared calls.
    Shared,
    /// Runs alone, in the model's order.
    Exclusive,
}

/// The model capability that a tool requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredCapability {
    /// No special capability.
    Nothing,
    /// The model must accept images.
    ImageInput,
}

/// The job of a tool. Several tools may do one job; a model is offered one of them and can call all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolJob {
    /// A job that no other tool does.
    Unique,
    /// Runs commands.
    Shell(ShellForm),
    /// Manages the sessions that [`ShellForm::Exec`] leaves running.
    Session,
}

/// The form in which a shell tool takes a command. The first available form is offered unless the model prefers
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellForm {
    /// A script that may continue as a session: `exec_command`.
    Exec,
    /// A script that runs to its end: `shell_command`.
    Script,
    /// A program and its arguments, run to the end: `shell`.
    Argv,
}

/// A tool in the type-erased form that the engine uses.
pub trait AnyTool: Send + Sync {
    /// Returns the spec for the model.
    fn spec(&self) -> &ToolSpec;

    /// Returns the lane of its calls.
    fn lane(&self) -> Lane;

    /// Returns the model capability that the tool requires.
    fn required_capability(&self) -> RequiredCapability {
        RequiredCapability::Nothing
    }

    /// Returns its job.
    fn job(&self) -> ToolJob {
        ToolJob::Unique
    }

    /// Returns its aliases. Another tool with that name of its own takes precedence.
    fn aliases(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the call that the tool takes over from another tool's call with `intent`.
    fn takes_over(&self, _intent: &Intent) -> Option<TakenOverCall> {
        None
    }

    /// Parses the arguments and states the intent; touches nothing.
    fn plan(&self, call: &ToolCall, place: &WorkingDir) -> Result<Box<dyn CallAttempt>, ToolError>;
}

/// A source of tools that may come and go during a session.
pub trait ToolSource: Send + Sync {
    /// Returns the tools that a model is offered now.
    fn offered_tools(&self) -> Vec<Arc<dyn AnyTool>>;

    /// Finds a tool by name, offered or not.
    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>>;

    /// Returns the call that `call` stands for, if its name is another way to call a tool; an error if it names none.
    /// Policy, execution and journal see the returned call.
    fn rewrite_call(&self, _call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        None
    }

    /// Returns true for built-in tools: they may have a name that a model API uses for its own tool.
    fn is_built_in(&self) -> bool {
        false
    }

    /// Returns true if the configuration decides which of its tools a model gets. Tools given to one session are
    /// exempt.
    fn obeys_config(&self) -> bool {
        true
    }

    /// Returns a future that resolves once the existence of tool `_name` is known; `None` if it is known now.
    fn wait_for_tool(&self, _name: &str) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Returns the names of existing tools beside `_name`, e.g. tools of the same server.
    fn sibling_names(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns names of tools that may appear later or that it implements. A configuration may mention them.
    fn possible_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Explains in one sentence why tool `_name` is missing now, if it may exist later.
    fn absence_reason(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A parsed call that can be attempted; more than once, if the first permit was too narrow.
pub trait CallAttempt: Send + Sync {
    /// Returns the effects that it would have.
    fn intent(&self) -> &Intent;

    /// Returns the pending changes as a diff for the user's approval.
    fn preview<'a>(&'a self, _preview_permit: &'a Permit, _cx: &'a Cx) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs the attempt with `permit`.
    fn run<'a>(&'a self, permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// Erases the types of `handler`. A tool marked strict whose schema cannot be made strict is rejected.
pub fn erase<H: ToolHandler>(handler: H) -> Result<Arc<dyn AnyTool>, StrictFault> {
    let mut spec = H::Args::spec(H::NAME, H::ABOUT, H::STRICT);
    if let ToolSpec::Function(function) = &mut spec {
        H::HIDDEN_ARGS.iter().for_each(|path| remove_property(&mut function.parameters, path));
        let properties = function.parameters.object.iter_mut().flat_map(|object| &mut object.properties);
        for (name, property) in properties {
            if let Some((_, kind)) = H::ADVERTISED_TYPES.iter().find(|(told, _)| told == name) {
                narrow_type(property, *kind);
            }
        }
    }
    let schema = H::Args::schema();
    if let (StrictMode::Yes, ToolSpec::Function(function)) = (H::STRICT, &spec) {
        function.parameters.check_strict()?;
    }
    Ok(Arc::new(TypedTool { handler: Arc::new(handler), spec, schema }))
}

/// Removes the property at `path` from `schema`; `questions[].header` means that property of every list item.
fn remove_property(schema: &mut JsonSchema, path: &str) {
    let Some(object) = &mut schema.object else { return };
    match path.split_once("[].") {
        None => drop(object.properties.remove(path)),
        Some((list, rest)) => {
            let items = object.properties.get_mut(list).and_then(|list| list.items.as_mut());
            if let Some(items) = items {
                remove_property(items, rest);
            }
        }
    }
}

/// Narrows `property` to values of one type.
fn narrow_type(property: &mut JsonSchema, kind: JsonType) {
    property.types = vec![kind];
    if kind != JsonType::Array {
        property.items = None;
        property.values.lengths = LengthBounds::default();
    }
}

/// A [`ToolHandler`] in the form that the engine uses.
struct TypedTool<H> {
    handler: Arc<H>,
    spec: ToolSpec,
    schema: JsonSchema,
}

impl<H: ToolHandler> AnyTool for TypedTool<H> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn lane(&self) -> Lane {
        H::LANE
    }

    fn required_capability(&self) -> RequiredCapability {
        H::NEEDS
    }

    fn job(&self) -> ToolJob {
        H::JOB
    }

    fn aliases(&self) -> Vec<String> {
        H::ALIASES.iter().map(|&name| name.to_owned()).collect()
    }

    fn takes_over(&self, intent: &Intent) -> Option<TakenOverCall> {
        self.handler.takes_over(intent)
    }

    fn plan(&self, call: &ToolCall, working_dir: &WorkingDir) -> Result<Box<dyn CallAttempt>, ToolError> {
        let args = H::Args::parse_call(call, &self.schema, H::ARG_ALIASES)?;
        let intent = self
            .handler
            .intent(&args, working_dir)
            .map_err(|error| error_as_sent::<H>(error, &call.payload))?;
        let sent_payload = Some(&call.payload).filter(|_| !H::ARG_ALIASES.is_empty()).cloned();
        Ok(Box::new(TypedAttempt { handler: Arc::clone(&self.handler), args, intent, sent_payload }))
    }
}

/// A parsed call of a [`ToolHandler`].
struct TypedAttempt<H: ToolHandler> {
    handler: Arc<H>,
    args: H::Args,
    intent: Intent,
    /// The call's payload, if arguments have aliases: an error uses the spelling that was sent.
    sent_payload: Option<ToolPayload>,
}

impl<H: ToolHandler> CallAttempt for TypedAttempt<H> {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn preview<'a>(&'a self, preview_permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.handler.preview(&self.args, preview_permit, cx))
    }

    fn run<'a>(&'a self, permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let run = self.handler.run(&self.args, permit, cx);
        Box::pin(async move {
            run.await.map_err(|error| match &self.sent_payload {
                Some(sent) => error_as_sent::<H>(error, sent),
                None => error,
            })
        })
    }
}

/// Renames a bad argument in the error to the spelling that the model used.
fn error_as_sent<H: ToolHandler>(error: ToolError, sent_payload: &ToolPayload) -> ToolError {
    match error {
        ToolError::BadArguments(fault) => {
            fault_as_sent(fault, &sent_payload.arguments(), H::ARG_ALIASES).into()
        }
        other => other,
    }
}
