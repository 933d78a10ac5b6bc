//! Which tools a model gets.

use std::collections::BTreeSet;

use policy::rules::fits_tool;
use tool::{AnyTool, Job, Needs, ShellForm, ToolSpec};

use crate::{Family, ShellType};

/// What a session gives to its model: by the model's family and by configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// What the model can take.
    pub family: Family,
    /// The shell that it is offered.
    pub shell: ShellType,
    /// If given, only these tools.
    pub only: Option<BTreeSet<String>>,
    /// Never these tools. In both lists `*` stands for any letters.
    pub without: BTreeSet<String>,
    /// Tools that can be called though `only` does not name them, since they answer for another that it may name.
    pub callable: BTreeSet<String>,
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
    /// Says whether the model can call `tool`, whether it is offered or not.
    pub fn gives(&self, tool: &dyn AnyTool) -> bool {
        let able = match tool.needs() {
            Needs::Nothing => true,
            Needs::Sight => self.family.sees_images,
        };
        let name = tool.spec().name();
        let admitted = self.callable.contains(name) || self.admits(name, &tool.aliases());
        able && !self.takes_away(name) && self.admits_job(tool) && admitted
    }

    /// Says whether the configuration leaves `name` in.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.admits(name, &[]) && !self.takes_away(name)
    }

    /// Says whether `only` names a tool, by whichever of its names.
    pub(crate) fn admits(&self, name: &str, aliases: &[String]) -> bool {
        let Some(only) = &self.only else { return true };
        let named = |name: &str| only.iter().any(|pattern| fits_tool(pattern, name));
        named(name) || aliases.iter().any(|alias| named(alias))
    }

    /// Says whether `without` names `name`.
    pub(crate) fn takes_away(&self, name: &str) -> bool {
        self.without.iter().any(|pattern| fits_tool(pattern, name))
    }

    fn admits_job(&self, tool: &dyn AnyTool) -> bool {
        match tool.job() {
            Job::Own => true,
            Job::Shell(_) | Job::Session => self.shell != ShellType::Disabled,
        }
    }

    /// The form of shell that the model is to be offered.
    pub(crate) fn shell_form(&self) -> Option<ShellForm> {
        match self.shell {
            ShellType::UnifiedExec => Some(ShellForm::Exec),
            ShellType::ShellCommand => Some(ShellForm::Script),
            ShellType::Default | ShellType::Local => Some(ShellForm::Words),
            ShellType::Disabled => None,
        }
    }
}
