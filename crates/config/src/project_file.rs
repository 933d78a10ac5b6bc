//! A project's configuration: the keys that can only narrow what tools may do. All other keys are refused.

use std::ops::Range;

use toml::Spanned;

use super::config_file::{ConfigTables, WireTable};
use super::tables::{LimitsTable, ProjectCommands, ProjectConfinement, ProjectFiles, ProjectTools};
use super::{ApprovalMode, ChangesMode, ConfinementTier, IntegerStyle, SandboxMode};

/// The values of a project's file. A key that could widen what tools may do has no field here, so no code can apply
/// it.
#[derive(Debug)]
pub(super) struct ProjectTables<'a> {
    pub(super) model: Option<&'a Spanned<String>>,
    pub(super) sandbox: Option<&'a Spanned<SandboxMode>>,
    pub(super) approval: Option<&'a Spanned<ApprovalMode>>,
    pub(super) changes: Option<&'a Spanned<ChangesMode>>,
    pub(super) tools: ProjectTools<'a>,
    pub(super) files: ProjectFiles<'a>,
    pub(super) commands: ProjectCommands<'a>,
    pub(super) confinement: ProjectConfinement<'a>,
    pub(super) limits: &'a LimitsTable,
    pub(super) integers: Option<&'a Spanned<IntegerStyle>>,
}

/// A key that a project may not set, or not to this value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedKey {
    pub(super) span: Range<usize>,
    pub(super) key: &'static str,
}

/// Refuses a key that is given.
pub(super) fn refuse<T>(value: Option<&Spanned<T>>, key: &'static str) -> Result<(), RefusedKey> {
    refuse_if(value, key, |_| true).map(drop)
}

/// Refuses a key whose value widens what tools may do, and returns it otherwise.
pub(super) fn refuse_if<'a, T>(
    value: Option<&'a Spanned<T>>,
    key: &'static str,
    widens: impl Fn(&T) -> bool,
) -> Result<Option<&'a Spanned<T>>, RefusedKey> {
    match value {
        Some(value) if widens(value.get_ref()) => Err(RefusedKey { span: value.span(), key }),
        value => Ok(value),
    }
}

impl<'a> ProjectTables<'a> {
    /// Takes the keys that a project may set; `required` is the sandbox tier that the user requires. The patterns name
    /// every key, so a new key does not compile before it is decided here.
    pub(super) fn from_tables(
        tables: &'a ConfigTables,
        required: ConfinementTier,
    ) -> Result<Self, RefusedKey> {
        let ConfigTables {
            model,
            sandbox,
            approval,
            changes,
            insecure_http,
            tools,
            models,
            files,
            commands,
            confinement,
            limits,
            journal,
            wire: WireTable { integers },
            hook,
            mcp_servers,
            directories,
        } = tables;
        let sandbox = refuse_if(sandbox.as_ref(), "sandbox", |mode| *mode > SandboxMode::ReadOnly)?;
        let tightens = |asks: &ApprovalMode| matches!(asks, ApprovalMode::Untrusted | ApprovalMode::Disabled);
        let approval = refuse_if(approval.as_ref(), "approval", |asks| !tightens(asks))?;
        let changes = refuse_if(changes.as_ref(), "changes", |mode| *mode > ChangesMode::Staged)?;
        refuse(hook.first().map(|hook| &hook.command), "hook")?;
        refuse(mcp_servers.values().next(), "mcp_servers")?;
        refuse(models.values().next(), "models")?;
        refuse(directories.values().next(), "directories")?;
        journal.refuse_project()?;
        refuse_if(insecure_http.as_ref(), "insecure_http", |insecure| *insecure)?;
        Ok(Self {
            model: model.as_ref(),
            sandbox,
            approval,
            changes,
            tools: tools.narrowing()?,
            files: files.narrowing()?,
            commands: commands.narrowing()?,
            confinement: confinement.narrowing(required)?,
            limits,
            integers: integers.as_ref(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<&'static str> {
        let tables: ConfigTables = toml::from_str(text).expect("the text is valid TOML");
        ProjectTables::from_tables(&tables, ConfinementTier::Landlock).err().map(|refused| refused.key)
    }

    #[test]
    fn a_project_sets_only_keys_that_narrow() {
        let rows = [
            ("sandbox = 'read-only'", None),
            ("sandbox = 'workspace-write'", Some("sandbox")),
            ("approval = 'untrusted'", None),
            ("approval = 'on-request'", Some("approval")),
            ("changes = 'staged'", None),
            ("changes = 'direct'", Some("changes")),
            ("model = 'gpt-5'", None),
            ("insecure_http = true", Some("insecure_http")),
            ("insecure_http = false", None),
            ("journal.keep_days = 1", Some("journal.keep_days")),
            ("journal.max_mb = 1", Some("journal.max_mb")),
            ("files.deny_read = ['*.key']", None),
            ("files.deny_read_defaults = true", None),
            ("files.deny_read_defaults = false", Some("files.deny_read_defaults")),
            ("tools.without = ['web_search']", None),
            ("tools.web_search_request = false", None),
            ("tools.web_search_request = true", Some("tools.web_search_request")),
            ("tools.shell_type = 'local'", Some("tools.shell_type")),
            ("commands.inherit = 'none'", None),
            ("commands.inherit = 'all'", Some("commands.inherit")),
            ("commands.shell = '/bin/sh'", Some("commands.shell")),
            ("confinement.require = 'namespaces'", None),
            ("confinement.require = 'seccomp'", Some("confinement.require")),
            ("confinement.network = 'off'", None),
            ("confinement.network = 'on'", Some("confinement.network")),
            ("confinement.memory_mb = 64", None),
            ("confinement.tmp_mb = 64", Some("confinement.tmp_mb")),
            ("limits.parallel = 1", None),
            ("[mcp_servers.x]\ncommand = 'x'", Some("mcp_servers")),
            ("[[hook]]\ncommand = ['x']", Some("hook")),
        ];
        for (text, expected) in rows {
            assert_eq!(refused(text), expected, "{text}");
        }
    }
}
