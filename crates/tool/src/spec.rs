//! What a model is told about a tool.

use crate::JsonSchema;

/// A tool as a model sees it: the four forms that model APIs know.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolSpec {
    /// Called with JSON arguments.
    Function(Box<FunctionSpec>),
    /// The Responses API's own shell; it has no schema of ours.
    LocalShell,
    /// A search that the provider runs itself.
    WebSearch {
        /// Whether the search may leave the provider's own index.
        external_web_access: Option<bool>,
    },
    /// Called with free text that follows a grammar.
    Freeform(FreeformSpec),
}

/// A tool that takes JSON arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSpec {
    /// `^[A-Za-z0-9_-]{1,128}$`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What its arguments look like.
    pub parameters: JsonSchema,
    /// Whether the model is held to the schema.
    pub strict: Strict,
}

/// Whether a model must produce arguments that fit the schema exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strict {
    /// Every property is required and no other is allowed; the provider enforces it.
    Yes,
    /// The schema is a description; we check what comes.
    No,
}

/// A tool that takes text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeformSpec {
    /// `^[A-Za-z0-9_-]{1,128}$`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What the text must look like.
    pub grammar: Grammar,
}

/// A grammar that a provider can hold the model to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// `lark` or `regex`.
    pub syntax: &'static str,
    /// The grammar itself.
    pub definition: &'static str,
}

impl ToolSpec {
    /// The name under which the model calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Function(function) => &function.name,
            Self::LocalShell => "local_shell",
            Self::WebSearch { .. } => "web_search",
            Self::Freeform(freeform) => &freeform.name,
        }
    }
}
