//! Which tools a model gets.

use std::collections::BTreeSet;

use tool::{AnyTool, Needs, ToolSpec};

/// What a family of models can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The family's name, e.g. `claude`.
    pub name: &'static str,
    /// Whether its models see pictures.
    pub sees_images: bool,
    /// The longest side, in pixels, that its provider does not scale down itself.
    pub image_side: u32,
}

/// Prefix of a model's name → its family. The first that fits counts.
const FAMILIES: &[(&str, Family)] = &[
    ("gpt-oss", Family { name: "gpt-oss", sees_images: false, image_side: 2048 }),
    ("gpt-3", Family { name: "gpt-3", sees_images: false, image_side: 2048 }),
    ("gpt-", Family { name: "gpt", sees_images: true, image_side: 2048 }),
    ("codex", Family { name: "gpt", sees_images: true, image_side: 2048 }),
    ("o1-mini", Family { name: "o", sees_images: false, image_side: 2048 }),
    ("o3-mini", Family { name: "o", sees_images: false, image_side: 2048 }),
    ("o1", Family { name: "o", sees_images: true, image_side: 2048 }),
    ("o3", Family { name: "o", sees_images: true, image_side: 2048 }),
    ("o4", Family { name: "o", sees_images: true, image_side: 2048 }),
    ("claude", Family { name: "claude", sees_images: true, image_side: 1568 }),
    ("gemini", Family { name: "gemini", sees_images: true, image_side: 3072 }),
    ("deepseek", Family { name: "deepseek", sees_images: false, image_side: 2048 }),
    ("qwen3-coder", Family { name: "qwen", sees_images: false, image_side: 2048 }),
    ("devstral", Family { name: "mistral", sees_images: false, image_side: 2048 }),
];

/// A model that we know nothing about: it gets everything, at sizes that every provider takes.
const UNKNOWN: Family = Family { name: "unknown", sees_images: true, image_side: 1568 };

impl Family {
    /// The family of `model`, which may carry a provider's prefix such as `anthropic/claude-…`.
    pub fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        FAMILIES.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(UNKNOWN, |(_, family)| *family)
    }
}

impl Default for Family {
    fn default() -> Self {
        UNKNOWN
    }
}

/// What a session gives to its model: by the model's family and by configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// What the model can take.
    pub family: Family,
    /// If given, only these tools.
    pub only: Option<BTreeSet<String>>,
    /// Never these tools.
    pub without: BTreeSet<String>,
    /// Whether the model's provider may search the web for it.
    pub web_search: WebSearch,
}

/// A search that the model's provider runs itself; only the Responses API knows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebSearch {
    /// Not offered.
    #[default]
    Off,
    /// In what the provider has stored.
    Cached,
    /// In the live web.
    Live,
}

impl WebSearch {
    /// What the model is told, if anything.
    pub(crate) fn spec(self) -> Option<ToolSpec> {
        match self {
            Self::Off => None,
            Self::Cached => Some(ToolSpec::WebSearch { external_web_access: Some(false) }),
            Self::Live => Some(ToolSpec::WebSearch { external_web_access: Some(true) }),
        }
    }
}

impl ToolsConfig {
    /// Says whether the model gets `tool`. What it does not get, it cannot call either.
    pub fn gives(&self, tool: &dyn AnyTool) -> bool {
        let able = match tool.needs() {
            Needs::Nothing => true,
            Needs::Sight => self.family.sees_images,
        };
        able && self.names(tool.spec().name())
    }

    /// Says whether the configuration leaves `name` in.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name)) && !self.without.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_their_families() {
        for (model, name, sees) in [
            ("gpt-5", "gpt", true),
            ("gpt-oss-120b", "gpt-oss", false),
            ("openai/gpt-5-codex", "gpt", true),
            ("anthropic/claude-opus-4", "claude", true),
            ("DeepSeek-V3", "deepseek", false),
            ("my-own-model", "unknown", true),
            ("", "unknown", true),
        ] {
            let family = Family::of(model);
            assert_eq!((family.name, family.sees_images), (name, sees), "{model}");
        }
    }
}
