//! The table `[tools]`: the tools that a model is offered, their forms and web search; a project may leave tools out.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toml::Spanned;

use crate::SettingSource;
use crate::SourcedValue;
use crate::config_file::ConfigFile;
use crate::listing::{ConfigRow, RowValue, list_value, one_value, optional_value, row, value_and_source};
use crate::project_file::{RefusedKey, refuse, refuse_if};
use crate::tool_forms::{PatchForm, ShellName};
use crate::web_search::{WebSearchKey, WebSearchTable};

/// The tool selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// Each list narrows the one before it.
    pub only: Vec<SourcedValue<Vec<String>>>,
    /// The deny-list of tools; `*` matches any characters.
    pub without: Vec<SourcedValue<String>>,
    /// The mode of the model provider's own web search; off by default.
    pub web_search: SourcedValue<HostedSearchMode>,
    /// The shell tool for all models; by model family if unset.
    pub shell_type: SourcedValue<Option<ShellName>>,
    /// The form of `apply_patch` for all models; by model family if unset.
    pub apply_patch_tool_type: SourcedValue<Option<PatchForm>>,
    /// An older key for the shell tool: true is `unified_exec`, false is `shell_command`.
    pub use_experimental_streamable_shell_tool: SourcedValue<Option<bool>>,
    /// The user's own web search.
    pub search: Option<SourcedValue<WebSearchTable>>,
}

/// The mode of the model provider's own web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostedSearchMode {
    /// No search.
    Off,
    /// A search of the provider's stored pages.
    Cached,
    /// A search of the live web.
    Live,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolsTable {
    only: Option<Spanned<Vec<String>>>,
    without: Vec<Spanned<String>>,
    pub(crate) web_search: Option<Spanned<WebSearchKey>>,
    #[serde(alias = "tools_web_search_request")]
    web_search_request: Option<Spanned<bool>>,
    include_plan_tool: Option<Spanned<bool>>,
    include_apply_patch_tool: Option<Spanned<bool>>,
    include_view_image_tool: Option<Spanned<bool>>,
    shell_type: Option<Spanned<ShellName>>,
    apply_patch_tool_type: Option<Spanned<PatchForm>>,
    use_experimental_streamable_shell_tool: Option<Spanned<bool>>,
}

/// The part of the table that a project may set.
#[derive(Debug)]
pub(crate) struct ProjectTools<'a> {
    only: Option<&'a Spanned<Vec<String>>>,
    without: &'a [Spanned<String>],
    /// The switches of single tools, which can only disable them.
    switches: [(&'static str, &'a Option<Spanned<bool>>); 3],
}

impl ToolsTable {
    /// Returns the keys that only leave tools out.
    fn leaving_out(&self) -> ProjectTools<'_> {
        let switches = [
            ("update_plan", &self.include_plan_tool),
            ("apply_patch", &self.include_apply_patch_tool),
            ("view_image", &self.include_view_image_tool),
        ];
        ProjectTools { only: self.only.as_ref(), without: &self.without, switches }
    }

    pub(crate) fn narrowing(&self) -> Result<ProjectTools<'_>, RefusedKey> {
        let Self {
            only: _,
            without: _,
            web_search,
            web_search_request,
            include_plan_tool: _,
            include_apply_patch_tool: _,
            include_view_image_tool: _,
            shell_type,
            apply_patch_tool_type,
            use_experimental_streamable_shell_tool,
        } = self;
        refuse(web_search.as_ref(), "tools.web_search")?;
        refuse_if(web_search_request.as_ref(), "tools.web_search_request", |on| *on)?;
        refuse(shell_type.as_ref(), "tools.shell_type")?;
        refuse(apply_patch_tool_type.as_ref(), "tools.apply_patch_tool_type")?;
        let streamable = use_experimental_streamable_shell_tool.as_ref();
        refuse(streamable, "tools.use_experimental_streamable_shell_tool")?;
        Ok(self.leaving_out())
    }
}

impl ToolSettings {
    pub(crate) fn built_in() -> Self {
        Self {
            only: Vec::new(),
            without: Vec::new(),
            web_search: SourcedValue::built_in(HostedSearchMode::Off),
            shell_type: SourcedValue::built_in(None),
            apply_patch_tool_type: SourcedValue::built_in(None),
            use_experimental_streamable_shell_tool: SourcedValue::built_in(None),
            search: None,
        }
    }

    pub(crate) fn apply_user(&mut self, file: &ConfigFile, table: &ToolsTable) {
        self.apply_project(file, &table.leaving_out());
        let requested = |on: &bool| if *on { HostedSearchMode::Live } else { HostedSearchMode::Off };
        file.set(&mut self.web_search, table.web_search_request.as_ref(), requested);
        file.set(&mut self.web_search, table.web_search.as_ref(), WebSearchKey::hosted_mode);
        let own = table.web_search.as_ref().and_then(|key| Some((key, key.get_ref().own_search()?)));
        self.search = own.map(|(key, own)| file.setting(key, |_| own.clone()));
        file.set(&mut self.shell_type, table.shell_type.as_ref(), |&form| Some(form));
        file.set(&mut self.apply_patch_tool_type, table.apply_patch_tool_type.as_ref(), |&form| Some(form));
        let streamable = table.use_experimental_streamable_shell_tool.as_ref();
        file.set(&mut self.use_experimental_streamable_shell_tool, streamable, |&streamable| {
            Some(streamable)
        });
    }

    pub(crate) fn apply_project(&mut self, file: &ConfigFile, project: &ProjectTools<'_>) {
        self.only.extend(project.only.map(|only| file.setting(only, Clone::clone)));
        self.without.extend(file.texts(project.without));
        let given = project.switches.iter().filter_map(|(tool, switch)| Some((*tool, switch.as_ref()?)));
        let disabled = given.filter(|(_, on)| !on.get_ref());
        self.without.extend(disabled.map(|(tool, off)| file.setting(off, |_| tool.to_owned())));
    }

    /// Returns the tools that every `only` list names; `None` if there is no such list.
    pub fn allowed_names(&self) -> Option<BTreeSet<String>> {
        let sets = self.only.iter().map(|only| only.value.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|one, other| one.intersection(&other).cloned().collect())
    }

    /// Returns the source of the setting that names the tool `name`.
    pub fn source_naming(&self, name: &str) -> Option<&SettingSource> {
        let only = self.only.iter().find(|only| only.value.iter().any(|one| one == name));
        let without = self.without.iter().find(|one| one.value == name);
        only.map(|only| &only.source).or(without.map(|without| &without.source))
    }

    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        let only_from = self.only.last().map(|last| last.source.clone());
        let only = self.allowed_names().zip(only_from);
        let only = only.map_or(RowValue::Unset, |(names, source)| RowValue::One(json!(names), source));
        let streamable = &self.use_experimental_streamable_shell_tool;
        let mut rows = vec![
            row("tools.only", only),
            row("tools.without", list_value(self.without.iter().map(value_and_source))),
            row("tools.web_search", one_value(&self.web_search)),
            row("tools.shell_type", optional_value(&self.shell_type)),
            row("tools.apply_patch_tool_type", optional_value(&self.apply_patch_tool_type)),
            row("tools.use_experimental_streamable_shell_tool", optional_value(streamable)),
        ];
        rows.extend(self.search.as_ref().map(|search| row("tools.web_search.own", one_value(search))));
        rows
    }
}
