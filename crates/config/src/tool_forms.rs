//! Tool forms that the configuration chooses for a model: for all models in `[tools]`, for some in `[models.NAME]`.

use runtime::{ApplyPatchToolType, ShellType};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::config_file::ConfigFile;
use super::{Config, SourcedValue};

/// The shell tool that a model is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellName {
    /// `exec_command` and the tools for its sessions.
    #[serde(alias = "streamable", alias = "exec_command")]
    UnifiedExec,
    /// `shell_command`.
    ShellCommand,
    /// `shell`.
    #[serde(alias = "shell")]
    Default,
    /// The Responses API's own `local_shell`.
    #[serde(alias = "local_shell")]
    Local,
    /// No shell.
    Disabled,
}

/// The form of `apply_patch` that a model is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchForm {
    /// A custom tool with a grammar.
    #[serde(alias = "custom")]
    Freeform,
    /// A function with one string argument.
    #[serde(alias = "json")]
    Function,
}

/// `[models.NAME]`: settings for models whose names begin with NAME.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ModelTable {
    shell_type: Option<ShellName>,
    apply_patch_tool_type: Option<PatchForm>,
    use_experimental_streamable_shell_tool: Option<bool>,
    include_view_image_tool: Option<bool>,
}

/// One such table with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSetting {
    name: String,
    #[serde(flatten)]
    settings: FormSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_view_image_tool: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct FormSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_type: Option<ShellName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    apply_patch_tool_type: Option<PatchForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_experimental_streamable_shell_tool: Option<bool>,
}

/// The forms that the configuration chooses for one model; the model's family decides the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolForms {
    /// The shell tool.
    pub shell: Option<ShellType>,
    /// The form of `apply_patch`.
    pub apply_patch: Option<ApplyPatchToolType>,
    /// The ability of the model to view images.
    pub sees_images: Option<bool>,
}

impl ModelTable {
    pub(super) fn settings(file: &ConfigFile) -> impl Iterator<Item = SourcedValue<ModelSetting>> {
        let setting = |(name, table): (&String, &Spanned<Self>)| {
            file.setting(table, |table| ModelSetting {
                name: name.clone(),
                settings: FormSettings {
                    shell_type: table.shell_type,
                    apply_patch_tool_type: table.apply_patch_tool_type,
                    use_experimental_streamable_shell_tool: table.use_experimental_streamable_shell_tool,
                },
                include_view_image_tool: table.include_view_image_tool,
            })
        };
        file.content.models.iter().map(setting)
    }
}

impl FormSettings {
    fn shell(self) -> Option<ShellType> {
        let named = self.shell_type.map(|name| match name {
            ShellName::UnifiedExec => ShellType::UnifiedExec,
            ShellName::ShellCommand => ShellType::ShellCommand,
            ShellName::Default => ShellType::Default,
            ShellName::Local => ShellType::Local,
            ShellName::Disabled => ShellType::Disabled,
        });
        named.or(self.use_experimental_streamable_shell_tool.map(|streamable| match streamable {
            true => ShellType::UnifiedExec,
            false => ShellType::ShellCommand,
        }))
    }

    fn apply_patch(self) -> Option<ApplyPatchToolType> {
        self.apply_patch_tool_type.map(|form| match form {
            PatchForm::Freeform => ApplyPatchToolType::Freeform,
            PatchForm::Function => ApplyPatchToolType::Function,
        })
    }
}

impl Config {
    /// Returns the forms for `model`: from the table with the longest matching name, else from `[tools]`.
    pub fn tool_forms(&self, model: &str) -> ToolForms {
        let own = self.models.iter().map(|table| &table.value).filter(|table| model.starts_with(&table.name));
        let own = own.max_by_key(|table| table.name.len());
        let settings = own.map(|table| table.settings).unwrap_or_default();
        let all = FormSettings {
            shell_type: self.tools.shell_type.value,
            apply_patch_tool_type: self.tools.apply_patch_tool_type.value,
            use_experimental_streamable_shell_tool: self.tools.use_experimental_streamable_shell_tool.value,
        };
        ToolForms {
            shell: settings.shell().or(all.shell()),
            apply_patch: settings.apply_patch().or(all.apply_patch()),
            sees_images: own.and_then(|table| table.include_view_image_tool),
        }
    }
}
