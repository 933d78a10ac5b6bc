//! Tool forms that the configuration chooses for a model: for all models in `[tools]`, for some in `[models.NAME]`.

use runtime::{ApplyPatchToolType, ShellType};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::config_file::ConfigFile;
use super::{Config, SourcedValue};
use crate::operation_fault::OperationFault;

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
    pub(super) price: Option<Spanned<PriceTable>>,
}

/// One such table with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelSetting {
    name: String,
    #[serde(flatten)]
    settings: FormSettings,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_view_image_tool: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<PriceSettings>,
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

/// `price`: dollars for a million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceTable {
    input: f64,
    /// The price of `input` if it is left out.
    cached: Option<f64>,
    output: f64,
}

/// The price of a million tokens, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PriceSettings {
    /// Input tokens.
    #[serde(serialize_with = "as_dollars")]
    pub input: u64,
    /// Input tokens from the provider's cache.
    #[serde(serialize_with = "as_dollars")]
    pub cached: u64,
    /// Output tokens.
    #[serde(serialize_with = "as_dollars")]
    pub output: u64,
}

impl PriceSettings {
    /// Converts the table; `None` if a price is negative or no number.
    pub(super) fn from_table(table: &PriceTable) -> Option<Self> {
        Some(Self {
            input: to_micro_dollars(table.input)?,
            cached: to_micro_dollars(table.cached.unwrap_or(table.input))?,
            output: to_micro_dollars(table.output)?,
        })
    }
}

/// Converts dollars into millionths of a dollar; `None` below 0 and above a million.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
pub fn to_micro_dollars(dollars: f64) -> Option<u64> {
    (0.0..=1e6).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

#[expect(clippy::cast_precision_loss, reason = "at most a million dollars")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn as_dollars<S: serde::Serializer>(amount: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*amount as f64 / 1e6)
}

impl ModelTable {
    pub(super) fn check_all(file: &ConfigFile) -> Result<(), OperationFault> {
        let prices = file.content.models.values().filter_map(|table| table.get_ref().price.as_ref());
        for price in prices {
            if PriceSettings::from_table(price.get_ref()).is_none() {
                return Err(file.fault_at(&price.span(), "a price must be from 0 to 1000000 dollars"));
            }
        }
        Ok(())
    }

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
                price: table.price.as_ref().and_then(|price| PriceSettings::from_table(price.get_ref())),
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
    /// Returns the table with the longest name that `model` begins with.
    fn model_setting(&self, model: &str) -> Option<&ModelSetting> {
        let own = self.models.iter().map(|table| &table.value).filter(|table| model.starts_with(&table.name));
        own.max_by_key(|table| table.name.len())
    }

    /// Returns the prices of `model`, if the configuration has them.
    pub fn prices(&self, model: &str) -> Option<PriceSettings> {
        self.model_setting(model).and_then(|table| table.price)
    }

    /// Returns the forms for `model`: from the table with the longest matching name, else from `[tools]`.
    pub fn tool_forms(&self, model: &str) -> ToolForms {
        let own = self.model_setting(model);
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
