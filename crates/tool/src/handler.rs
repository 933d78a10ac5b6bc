//! The trait that a tool implements, and its erased form that the engine works with.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use policy::{Intent, Permit};

use crate::args::fault_as_sent;
use crate::{
    Args, Cx, JsonSchema, Lengths, Place, Strict, StrictFault, ToolCall, ToolError, ToolOutput, ToolPayload,
    ToolSpec, Type,
};

/// A tool: one type, one file.
///
/// `intent` touches nothing; `run` touches only what its permit reaches. A tool sees no session, no configuration
/// and no other tool.
pub trait ToolHandler: Send + Sync + 'static {
    /// Its arguments. Doc comments on the fields are what the model reads.
    type Args: Args;
    /// Its name, `^[A-Za-z0-9_-]{1,128}$`.
    const NAME: &'static str;
    /// What it does, for the model.
    const ABOUT: &'static str;
    /// Other names that reach it, never sent to a model.
    const ALIASES: &'static [&'static str] = &[];
    /// Other spellings of arguments, never sent to a model: `("file_path", "path")`, `("steps[].step", "description")`.
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Arguments that it takes and that a model is not told of: `"env"`, `"questions[].header"`.
    const UNTOLD: &'static [&'static str] = &[];
    /// Arguments that may be of several types, each with the one type that a model is told of.
    const TOLD_AS: &'static [(&'static str, Type)] = &[];
    /// Its job, if other tools do the same one.
    const JOB: Job = Job::Own;
    /// Whether its calls may run beside each other.
    const LANE: Lane = Lane::Alone;
    /// Whether the model is held to the schema by its provider.
    const STRICT: Strict = Strict::No;
    /// What a model must be able to do to make use of it.
    const NEEDS: Needs = Needs::Nothing;

    /// States what the call would touch. A tool that does not say touches nothing.
    fn intent(&self, _args: &Self::Args, _place: &Place) -> Result<Intent, ToolError> {
        Ok(Intent::nothing())
    }

    /// Does the work, with the key to what it stated.
    ///
    /// Its first step, up to the first `.await` that has to wait, may run on the thread that starts the calls of a
    /// turn, so keep it short: what takes long or blocks goes into [`Cx::blocking`].
    ///
    /// A call that has to end is dropped where it waits. A tool with something to clean up or to tell waits for
    /// [`Cx::halted`] beside its work.
    fn run(
        &self,
        args: &Self::Args,
        permit: &Permit,
        cx: &Cx,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// Which calls a call may run beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Beside other shared calls.
    Shared,
    /// Beside nothing, in the model's order.
    Alone,
}

/// What a tool is wasted on a model without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Any model can use it.
    Nothing,
    /// The model must see pictures.
    Sight,
}

/// The job of a tool. Several tools may do one job; a model is offered one of them and can call all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// A job that no other tool does.
    Own,
    /// Runs commands.
    Shell(ShellForm),
    /// Serves the sessions that [`ShellForm::Exec`] leaves running.
    Session,
}

/// The form in which a shell tool takes a command. The first that is there is offered unless the model wants another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellForm {
    /// A script that may run on as a session: `exec_command`.
    Exec,
    /// A script that runs to its end: `shell_command`.
    Script,
    /// A program and its arguments, run to their end: `shell`.
    Words,
}

/// A tool of any kind, as the engine sees it.
pub trait AnyTool: Send + Sync {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;

    /// Which calls its calls may run beside.
    fn lane(&self) -> Lane;

    /// What a model must be able to do to make use of it.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// Its job, if other tools do the same one.
    fn job(&self) -> Job {
        Job::Own
    }

    /// Other names that reach it. A tool that has one of them for its own name keeps it.
    fn aliases(&self) -> Vec<String> {
        Vec::new()
    }

    /// Reads the arguments and states the intent; touches nothing.
    fn plan(&self, call: &ToolCall, place: &Place) -> Result<Box<dyn Attempt>, ToolError>;
}

/// Tools that come and go while others use them.
pub trait ToolSource: Send + Sync {
    /// Those that a model is told of now.
    fn offered(&self) -> Vec<Arc<dyn AnyTool>>;

    /// The tool of that name, whether a model was told of it or not.
    fn find(&self, name: &str) -> Option<Arc<dyn AnyTool>>;

    /// Returns the call that `call` stands for, if its name is another way to call a tool; an error if it names none.
    /// Whatever judges, runs or records the call sees the one that comes back.
    fn rewritten(&self, _call: &ToolCall) -> Option<Result<ToolCall, ToolError>> {
        None
    }

    /// Whether its tools are ours: then they may have a name that a model API gives a meaning of its own.
    fn is_ours(&self) -> bool {
        false
    }

    /// Whether the configuration says which of them a model gets; those that somebody gives to one session it gets all.
    fn is_limited(&self) -> bool {
        true
    }

    /// Resolves when it is known whether there is a tool of that name; `None` if it is known now.
    fn awaited(&self, _name: &str) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// The names of the tools that there are where a tool of that name would be, e.g. those of its server.
    fn siblings(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// The names of tools that may come from it, or that it answers for: a configuration may name them.
    fn known_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why there is no tool of that name now, if there may be one: one sentence.
    fn absent(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A call that was understood, and can be attempted: more than once if a first permit was too narrow.
pub trait Attempt: Send + Sync {
    /// What it would touch.
    fn intent(&self) -> &Intent;

    /// What it would change, as a diff for whoever is asked; `glimpse` opens that for reading, and nothing else.
    fn preview<'a>(&'a self, _glimpse: &'a Permit, _cx: &'a Cx) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Tries it with `permit`.
    fn run<'a>(&'a self, permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// Erases the types of `handler`. A tool marked strict whose schema cannot be made strict is refused.
pub fn erase<H: ToolHandler>(handler: H) -> Result<Arc<dyn AnyTool>, StrictFault> {
    let mut spec = H::Args::spec(H::NAME, H::ABOUT, H::STRICT);
    if let ToolSpec::Function(function) = &mut spec {
        H::UNTOLD.iter().for_each(|path| leave_out(&mut function.parameters, path));
        let told = function.parameters.object.iter_mut().flat_map(|object| &mut object.properties);
        for (name, property) in told {
            if let Some((_, kind)) = H::TOLD_AS.iter().find(|(told, _)| told == name) {
                tell_as(property, *kind);
            }
        }
    }
    let schema = H::Args::schema();
    if let (Strict::Yes, ToolSpec::Function(function)) = (H::STRICT, &spec) {
        function.parameters.check_strict()?;
    }
    Ok(Arc::new(Typed { handler: Arc::new(handler), spec, schema }))
}

/// Takes the property at `path` out of `schema`; `questions[].header` is that of every item of a list.
fn leave_out(schema: &mut JsonSchema, path: &str) {
    let Some(object) = &mut schema.object else { return };
    match path.split_once("[].") {
        None => drop(object.properties.remove(path)),
        Some((list, rest)) => {
            let items = object.properties.get_mut(list).and_then(|list| list.items.as_mut());
            if let Some(items) = items {
                leave_out(items, rest);
            }
        }
    }
}

/// Narrows `property` to values of one type.
fn tell_as(property: &mut JsonSchema, kind: Type) {
    property.types = vec![kind];
    if kind != Type::Array {
        property.items = None;
        property.values.lengths = Lengths::default();
    }
}

struct Typed<H> {
    handler: Arc<H>,
    spec: ToolSpec,
    schema: JsonSchema,
}

impl<H: ToolHandler> AnyTool for Typed<H> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn lane(&self) -> Lane {
        H::LANE
    }

    fn needs(&self) -> Needs {
        H::NEEDS
    }

    fn job(&self) -> Job {
        H::JOB
    }

    fn aliases(&self) -> Vec<String> {
        H::ALIASES.iter().map(|&name| name.to_owned()).collect()
    }

    fn plan(&self, call: &ToolCall, place: &Place) -> Result<Box<dyn Attempt>, ToolError> {
        let args = H::Args::read(&call.payload, &self.schema, H::ARG_ALIASES)?;
        let intent = self.handler.intent(&args, place).map_err(|error| spelled::<H>(error, &call.payload))?;
        let sent = Some(&call.payload).filter(|_| !H::ARG_ALIASES.is_empty()).cloned();
        Ok(Box::new(Planned { handler: Arc::clone(&self.handler), args, intent, sent }))
    }
}

struct Planned<H: ToolHandler> {
    handler: Arc<H>,
    args: H::Args,
    intent: Intent,
    /// The call's payload, if its arguments have other spellings: a fault names the one that was sent.
    sent: Option<ToolPayload>,
}

impl<H: ToolHandler> Attempt for Planned<H> {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn run<'a>(&'a self, permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let run = self.handler.run(&self.args, permit, cx);
        Box::pin(async move {
            run.await.map_err(|error| match &self.sent {
                Some(sent) => spelled::<H>(error, sent),
                None => error,
            })
        })
    }
}

/// Names a bad argument as the model spelled it.
fn spelled<H: ToolHandler>(error: ToolError, sent: &ToolPayload) -> ToolError {
    match error {
        ToolError::BadArguments(fault) => fault_as_sent(fault, &sent.arguments(), H::ARG_ALIASES).into(),
        other => other,
    }
}
