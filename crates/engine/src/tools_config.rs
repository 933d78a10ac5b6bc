//! The configuration that decides which tools a model gets.

use std::collections::BTreeSet;

use policy::rules::fits_tool;
use tool::{AnyTool, RequiredCapability, ShellForm, ToolJob, ToolSpec};

use crate::{ModelFamily, ShellType};

/// Decides which tools a session gives to its model, by model family and by user configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// The capabilities of the model.
    pub family: ModelFamily,
    /// The shell tool to offer.
    pub shell: ShellType,
    /// An allow-list of tools, if set.
    pub only: Option<BTreeSet<String>>,
    /// A deny-list of tools. In both lists `*` matches any characters.
    pub without: BTreeSet<String>,
    /// Tools that stay callable although `only` does not name them, because they implement another tool that `only` may
    /// name.
    pub callable: BTreeSet<String>,
    /// Selects the provider's web search.
    pub web_search: WebSearchMode,
}

/// The web search that the model's provider runs itself; only the Responses API supports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebSearchMode {
    /// No search is offered.
    #[default]
    Off,
    /// The search uses the provider's stored pages.
    Cached,
    /// The search uses the live web.
    Live,
}

impl WebSearchMode {
    /// Returns the tool spec that the model is sent, if any.
    pub(crate) fn tool_spec(self) -> Option<ToolSpec> {
        match self {
            Self::Off => None,
            Self::Cached => Some(ToolSpec::WebSearch { external_web_access: Some(false) }),
            Self::Live => Some(ToolSpec::WebSearch { external_web_access: Some(true) }),
        }
    }
}

impl ToolsConfig {
    /// Returns true if the model can call `tool`, whether it is offered or not.
    pub fn allows_tool(&self, tool: &dyn AnyTool) -> bool {
        let is_capable = match tool.required_capability() {
            RequiredCapability::Nothing => true,
            RequiredCapability::ImageInput => self.family.sees_images,
        };
        let name = tool.spec().name();
        let admitted = self.callable.contains(name) || self.includes(name, &tool.aliases());
        is_capable && !self.excludes(name) && self.admits_job(tool) && admitted
    }

    /// Returns true if both lists allow `name`.
    pub(crate) fn allows_name(&self, name: &str) -> bool {
        self.includes(name, &[]) && !self.excludes(name)
    }

    /// Returns true if `only` contains the tool, by its name or one of its aliases.
    pub(crate) fn includes(&self, name: &str, aliases: &[String]) -> bool {
        let Some(only) = &self.only else { return true };
        let named = |name: &str| only.iter().any(|pattern| fits_tool(pattern, name));
        named(name) || aliases.iter().any(|alias| named(alias))
    }

    /// Returns true if `without` contains `name`.
    pub(crate) fn excludes(&self, name: &str) -> bool {
        self.without.iter().any(|pattern| fits_tool(pattern, name))
    }

    fn admits_job(&self, tool: &dyn AnyTool) -> bool {
        match tool.job() {
            ToolJob::Unique => true,
            ToolJob::Shell(_) | ToolJob::Session => self.shell != ShellType::Disabled,
        }
    }

    /// Returns the shell form to offer.
    pub(crate) fn shell_form(&self) -> Option<ShellForm> {
        match self.shell {
            ShellType::UnifiedExec => Some(ShellForm::Exec),
            ShellType::ShellCommand => Some(ShellForm::Script),
            ShellType::Default | ShellType::Local => Some(ShellForm::Argv),
            ShellType::Disabled => None,
        }
    }
}
