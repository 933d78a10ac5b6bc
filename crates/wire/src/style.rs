//! How to write tools for servers that know less than the API they imitate.

/// What to spell differently from the dialect's best form. The default changes nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// How schemas name whole numbers.
    pub integers: Integers,
    /// What the Responses API is told a freeform tool is; the others have only functions.
    pub freeform: FreeformAs,
}

/// How schemas name whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Integers {
    /// `integer`, as JSON Schema has it.
    #[default]
    Keep,
    /// `number`, for servers that refuse `integer`. Arguments are still checked to be whole.
    AsNumber,
}

/// What a freeform tool is declared as where the API has a form for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FreeformAs {
    /// A `custom` tool with its grammar.
    #[default]
    Custom,
    /// A function with one string, `input`, for servers that know functions only.
    Function,
}
