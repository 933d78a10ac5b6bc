//! The declaration of a tool to a model: a function, freeform text with a grammar, local shell, or web search.

use crate::JsonSchema;

/// A tool spec in one of the four forms that model APIs support.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolSpec {
    /// A function called with JSON arguments.
    Function(Box<FunctionSpec>),
    /// The Responses API's own shell; it has no schema of ours.
    LocalShell,
    /// A web search that the provider runs itself.
    WebSearch {
        /// True if the search may leave the provider's own index.
        external_web_access: Option<bool>,
    },
    /// A tool called with free text that follows a grammar.
    Freeform(FreeformSpec),
}

/// A tool with JSON arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSpec {
    /// `^[A-Za-z0-9_-]{1,128}$`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: JsonSchema,
    /// Strict mode of the schema.
    pub strict: StrictMode,
}

/// Strict mode: the model must produce arguments that match the schema exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictMode {
    /// Every property is required and no other is allowed; the provider enforces it.
    Yes,
    /// The schema is a description; arguments are validated on arrival.
    No,
}

/// A tool with text input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeformSpec {
    /// `^[A-Za-z0-9_-]{1,128}$`.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The grammar of the text.
    pub grammar: TextGrammar,
}

/// A grammar that a provider can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextGrammar {
    /// `lark` or `regex`.
    pub syntax: &'static str,
    /// The grammar itself.
    pub definition: &'static str,
}

impl ToolSpec {
    /// Returns the name under which the model calls the tool.
    pub fn name(&self) -> &str {
        match self {
            Self::Function(function) => &function.name,
            Self::LocalShell => "local_shell",
            Self::WebSearch { .. } => "web_search",
            Self::Freeform(freeform) => &freeform.name,
        }
    }
}
