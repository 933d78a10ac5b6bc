//! Compatibility options for tool declarations: integers and freeform tools for servers that support less.

/// Deviations from the dialect's best form of tool declarations. The default deviates in nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApiCompat {
    /// The type name of whole numbers in schemas.
    pub integers: IntegerSpelling,
    /// The declaration of freeform tools in the Responses API; the other APIs only have functions.
    pub freeform: FreeformDeclaration,
}

/// The type name of whole numbers in schemas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IntegerSpelling {
    /// `integer`, as in JSON Schema.
    #[default]
    Keep,
    /// `number`, for servers that reject `integer`. Arguments are still validated to be whole numbers.
    AsNumber,
}

/// The declaration of a freeform tool where the API has a form for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FreeformDeclaration {
    /// A `custom` tool with its grammar.
    #[default]
    Custom,
    /// A function with one string parameter, `input`, for servers that only support functions.
    Function,
}
