//! Model families as data: the forms of tools that each of them takes.

/// A family of models, and the forms of tools that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// The family's name, e.g. `claude`.
    pub name: &'static str,
    /// Whether its models see pictures.
    pub sees_images: bool,
    /// The longest side, in pixels, that its provider does not scale down itself.
    pub image_side: u32,
    /// The form in which it takes `apply_patch`.
    pub apply_patch: ApplyPatchToolType,
    /// The shell that it is offered.
    pub shell: ShellType,
}

/// The form in which a model is told of `apply_patch`. A call in the other form is answered all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyPatchToolType {
    /// A custom tool with a grammar; the Responses API knows it since GPT-5.
    Freeform,
    /// A function with one string.
    Function,
}

/// The shell that a model is offered. All others stay callable, but for [`ShellType::Disabled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShellType {
    /// `exec_command`, with the tools for its sessions.
    #[default]
    UnifiedExec,
    /// `shell_command`.
    ShellCommand,
    /// `shell`.
    Default,
    /// The Responses API's own `local_shell`, which `shell` answers.
    Local,
    /// None, and none can be called.
    Disabled,
}

use ApplyPatchToolType::{Freeform, Function};
use ShellType::{Local, UnifiedExec};

/// Prefix of a model's name, family, sees pictures, longest side of one, `apply_patch`, shell. The first that fits counts.
///
/// Custom tools came with GPT-5; the API refuses them for every model before it.
const FAMILIES: &[(&str, &str, bool, u32, ApplyPatchToolType, ShellType)] = &[
    ("gpt-oss", "gpt-oss", false, 2048, Function, UnifiedExec),
    ("gpt-3", "gpt-3", false, 2048, Function, UnifiedExec),
    ("gpt-4", "gpt-4", true, 2048, Function, UnifiedExec),
    ("gpt-", "gpt", true, 2048, Freeform, UnifiedExec),
    ("chatgpt", "gpt-4", true, 2048, Function, UnifiedExec),
    ("codex-mini", "codex-mini", true, 2048, Function, Local),
    ("codex", "gpt", true, 2048, Freeform, UnifiedExec),
    ("o1-mini", "o", false, 2048, Function, UnifiedExec),
    ("o3-mini", "o", false, 2048, Function, UnifiedExec),
    ("o1", "o", true, 2048, Function, UnifiedExec),
    ("o3", "o", true, 2048, Function, UnifiedExec),
    ("o4", "o", true, 2048, Function, UnifiedExec),
    ("claude", "claude", true, 1568, Function, UnifiedExec),
    ("gemini", "gemini", true, 3072, Function, UnifiedExec),
    ("deepseek", "deepseek", false, 2048, Function, UnifiedExec),
    ("qwen3-coder", "qwen", false, 2048, Function, UnifiedExec),
    ("devstral", "mistral", false, 2048, Function, UnifiedExec),
];

/// A model that we know nothing about: it gets everything, in forms and at sizes that every provider takes.
const UNKNOWN: Family = Family {
    name: "unknown",
    sees_images: true,
    image_side: 1568,
    apply_patch: Function,
    shell: UnifiedExec,
};

impl Family {
    /// The family of `model`, which may carry a provider's prefix such as `anthropic/claude-…` or `ft:gpt-4.1:…`.
    pub fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        let row = FAMILIES.iter().find(|(prefix, ..)| name.starts_with(prefix));
        row.map_or(UNKNOWN, |&(_, name, sees_images, image_side, apply_patch, shell)| Self {
            name,
            sees_images,
            image_side,
            apply_patch,
            shell,
        })
    }
}

impl Default for Family {
    fn default() -> Self {
        UNKNOWN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_their_families() {
        for (model, name, sees, patch, shell) in [
            ("gpt-5", "gpt", true, Freeform, UnifiedExec),
            ("gpt-5.1-codex-max", "gpt", true, Freeform, UnifiedExec),
            ("openai/gpt-5-codex", "gpt", true, Freeform, UnifiedExec),
            ("codex-mini-latest", "codex-mini", true, Function, Local),
            ("gpt-4.1", "gpt-4", true, Function, UnifiedExec),
            ("ft:gpt-4o-2024-08-06:org", "gpt-4", true, Function, UnifiedExec),
            ("o4-mini", "o", true, Function, UnifiedExec),
            ("gpt-oss-120b", "gpt-oss", false, Function, UnifiedExec),
            ("anthropic/claude-opus-4", "claude", true, Function, UnifiedExec),
            ("DeepSeek-V3", "deepseek", false, Function, UnifiedExec),
            ("my-own-model", "unknown", true, Function, UnifiedExec),
            ("", "unknown", true, Function, UnifiedExec),
        ] {
            let family = Family::of(model);
            assert_eq!(
                (family.name, family.sees_images, family.apply_patch, family.shell),
                (name, sees, patch, shell),
                "{model}"
            );
        }
    }
}
