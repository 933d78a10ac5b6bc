//! The table of model families: the tool forms and image sizes that each family supports.

/// A family of models and the tool forms that it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFamily {
    /// The family's name, e.g. `claude`.
    pub name: &'static str,
    /// True if its models accept images.
    pub sees_images: bool,
    /// The longest image side, in pixels, that its provider accepts without scaling it down.
    pub image_side: u32,
    /// The form in which `apply_patch` is described to it.
    pub apply_patch: ApplyPatchToolType,
    /// The shell tool that it is offered.
    pub shell: ShellType,
}

/// The form in which `apply_patch` is described to a model. A call in the other form is accepted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyPatchToolType {
    /// A custom tool with a grammar; the Responses API supports it since GPT-5.
    Freeform,
    /// A function with one string argument.
    Function,
}

/// The shell tool that a model is offered. The other shells stay callable, except with [`ShellType::Disabled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShellType {
    /// `exec_command` and the tools for its sessions.
    #[default]
    UnifiedExec,
    /// `shell_command`.
    ShellCommand,
    /// `shell`.
    Default,
    /// The Responses API's own `local_shell`, which `shell` implements.
    Local,
    /// No shell is offered, and none is callable.
    Disabled,
}

use ApplyPatchToolType::{Freeform, Function};
use ShellType::{Local, UnifiedExec};

/// Model name prefix, family, accepts images, longest image side, `apply_patch` form, shell. The first matching prefix
/// wins.
///
/// Custom tools came with GPT-5; the API rejects them for every earlier model.
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

/// The family of an unlisted model: every tool, in the forms and image sizes that every provider accepts.
const UNKNOWN_FAMILY: ModelFamily = ModelFamily {
    name: "unknown",
    sees_images: true,
    image_side: 1568,
    apply_patch: Function,
    shell: UnifiedExec,
};

impl ModelFamily {
    /// Returns the family of `model`. The name may carry a provider prefix such as `anthropic/claude-…` or
    /// `ft:gpt-4.1:…`.
    pub fn for_model(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        let row = FAMILIES.iter().find(|(prefix, ..)| name.starts_with(prefix));
        row.map_or(UNKNOWN_FAMILY, |&(_, name, sees_images, image_side, apply_patch, shell)| Self {
            name,
            sees_images,
            image_side,
            apply_patch,
            shell,
        })
    }
}

impl Default for ModelFamily {
    fn default() -> Self {
        UNKNOWN_FAMILY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_selects_its_family() {
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
            let family = ModelFamily::for_model(model);
            assert_eq!(
                (family.name, family.sees_images, family.apply_patch, family.shell),
                (name, sees, patch, shell),
                "{model}"
            );
        }
    }
}
