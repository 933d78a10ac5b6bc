//! The trait that a tool implements, and its erased form that the engine works with.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use policy::{Intent, Permit};

use crate::{Args, Cx, JsonSchema, Place, Strict, StrictFault, ToolCall, ToolError, ToolOutput, ToolSpec};

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
    /// Arguments that it takes and that a model is not told of.
    const UNTOLD: &'static [&'static str] = &[];
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

    /// Other names that reach it.
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

    /// Whether the configuration says which of them a model gets; those that somebody gives to one session it gets all.
    fn is_limited(&self) -> bool {
        true
    }

    /// Resolves when it is known whether there is a tool of that name; `None` if it is known now.
    fn awaited(&self, _name: &str) -> Option<BoxFuture<'static, ()>> {
        None
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
    if let ToolSpec::Function(function) = &mut spec
        && let Some(object) = &mut function.parameters.object
    {
        object.properties.retain(|name, _| !H::UNTOLD.contains(&name.as_str()));
    }
    let schema = H::Args::schema();
    if let (Strict::Yes, ToolSpec::Function(function)) = (H::STRICT, &spec) {
        function.parameters.check_strict()?;
    }
    Ok(Arc::new(Typed { handler: Arc::new(handler), spec, schema }))
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

    fn aliases(&self) -> Vec<String> {
        H::ALIASES.iter().map(|&name| name.to_owned()).collect()
    }

    fn plan(&self, call: &ToolCall, place: &Place) -> Result<Box<dyn Attempt>, ToolError> {
        let args = H::Args::read(&call.payload, &self.schema, H::ARG_ALIASES)?;
        let intent = self.handler.intent(&args, place)?;
        Ok(Box::new(Planned { handler: Arc::clone(&self.handler), args, intent }))
    }
}

struct Planned<H: ToolHandler> {
    handler: Arc<H>,
    args: H::Args,
    intent: Intent,
}

impl<H: ToolHandler> Attempt for Planned<H> {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn run<'a>(&'a self, permit: &'a Permit, cx: &'a Cx) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.handler.run(&self.args, permit, cx))
    }
}
