//! Reads and validates one TOML configuration file; errors carry line and column.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use runtime::{EnvironmentPolicy, HostPattern, HostPatternFault};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use toml::Spanned;

use super::hook::HookTable;
use super::mcp_server::ServerTable;
use super::tool_forms::{ModelTable, PatchForm, ShellName};
use super::web_search::{WebSearchKey, WebSearchTable};
use super::{
    ApprovalMode, ConfinementTier, EnvInheritance, IntegerStyle, NetworkMode, SandboxMode, SettingSource,
    SourcedValue,
};
use crate::operation_fault::OperationFault;

/// Bytes of a configuration file at most.
const MAX_BYTES: u64 = 1 << 20;
const MAX_PATTERNS: usize = 500;
const OUTPUT_TOKENS_RANGE: RangeInclusive<u64> = 100..=1_000_000;
const CALL_TIMEOUT_MS_RANGE: RangeInclusive<u64> = 100..=86_400_000;
const PARALLEL_RANGE: RangeInclusive<u64> = 1..=1024;
const SESSIONS_RANGE: RangeInclusive<u64> = 1..=1024;

/// A configuration file that was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    text: String,
    pub(super) content: ConfigTables,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfigTables {
    pub(super) model: Option<Spanned<String>>,
    #[serde(alias = "sandbox_policy", alias = "sandbox_mode")]
    pub(super) sandbox: Option<Spanned<SandboxMode>>,
    #[serde(alias = "approval_policy", alias = "approval_mode")]
    pub(super) approval: Option<Spanned<ApprovalMode>>,
    pub(super) tools: ToolsTable,
    pub(super) models: BTreeMap<String, Spanned<ModelTable>>,
    pub(super) files: FilesTable,
    pub(super) commands: CommandsTable,
    pub(super) confinement: ConfinementTable,
    pub(super) limits: LimitsTable,
    pub(super) wire: WireTable,
    pub(super) hook: Vec<HookTable>,
    pub(super) mcp_servers: BTreeMap<String, Spanned<ServerTable>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolsTable {
    pub(super) only: Option<Spanned<Vec<String>>>,
    pub(super) without: Vec<Spanned<String>>,
    pub(super) web_search: Option<Spanned<WebSearchKey>>,
    #[serde(alias = "tools_web_search_request")]
    pub(super) web_search_request: Option<Spanned<bool>>,
    pub(super) include_plan_tool: Option<Spanned<bool>>,
    pub(super) include_apply_patch_tool: Option<Spanned<bool>>,
    pub(super) include_view_image_tool: Option<Spanned<bool>>,
    pub(super) shell_type: Option<Spanned<ShellName>>,
    pub(super) apply_patch_tool_type: Option<Spanned<PatchForm>>,
    pub(super) use_experimental_streamable_shell_tool: Option<Spanned<bool>>,
}

impl ToolsTable {
    /// Returns the tools that their own switch disables.
    pub(super) fn disabled_tools(&self) -> impl Iterator<Item = (&'static str, &Spanned<bool>)> {
        let switches = [
            ("update_plan", &self.include_plan_tool),
            ("apply_patch", &self.include_apply_patch_tool),
            ("view_image", &self.include_view_image_tool),
        ];
        let given = switches.into_iter().filter_map(|(tool, switch)| Some((tool, switch.as_ref()?)));
        given.filter(|(_, on)| !on.get_ref())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FilesTable {
    pub(super) read_roots: Vec<Spanned<String>>,
    pub(super) deny_read: Vec<Spanned<String>>,
    pub(super) deny_read_defaults: Option<Spanned<bool>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CommandsTable {
    pub(super) inherit: Option<Spanned<EnvInheritance>>,
    pub(super) pass: Vec<Spanned<String>>,
    pub(super) set: BTreeMap<String, Spanned<String>>,
    pub(super) sessions: Option<Spanned<u64>>,
    pub(super) shell: Option<Spanned<PathBuf>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfinementTable {
    pub(super) writable: Vec<Spanned<String>>,
    pub(super) read_only: Vec<Spanned<String>>,
    pub(super) network: Option<Spanned<NetworkMode>>,
    pub(super) hosts: Vec<Spanned<String>>,
    pub(super) unix_sockets: Vec<Spanned<String>>,
    pub(super) tier: Option<Spanned<ConfinementTier>>,
    pub(super) require: Option<Spanned<ConfinementTier>>,
    pub(super) processes: Option<Spanned<u64>>,
    pub(super) memory_mb: Option<Spanned<u64>>,
    pub(super) file_size_mb: Option<Spanned<u64>>,
    pub(super) open_files: Option<Spanned<u64>>,
    pub(super) tmp_mb: Option<Spanned<u64>>,
    pub(super) shm_mb: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    pub(super) output_tokens: Option<Spanned<u64>>,
    pub(super) call_timeout_ms: Option<Spanned<u64>>,
    pub(super) parallel: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WireTable {
    pub(super) integers: Option<Spanned<IntegerStyle>>,
}

/// Replaces Rust terms in a parser message with words for users.
fn humanize_parse_error(message: &str) -> String {
    const REPLACEMENTS: &[(&str, &str)] = &[
        ("struct ToolsTable", "a table `[tools]`"),
        ("struct ModelTable", "a table `[models.NAME]`"),
        ("struct FilesTable", "a table `[files]`"),
        ("struct CommandsTable", "a table `[commands]`"),
        ("struct ConfinementTable", "a table `[confinement]`"),
        ("struct LimitsTable", "a table `[limits]`"),
        ("struct WireTable", "a table `[wire]`"),
        ("struct HookTable", "a table `[[hook]]`"),
        ("struct ServerTable", "a table `[mcp_servers.NAME]`"),
        ("struct OauthTable", "a table, e.g. `{ client_id = \"x\" }`"),
        ("struct ToolTable", "a table, e.g. `{ approval = \"allow\" }`"),
        ("u64", "a whole number"),
        ("a sequence", "a list, e.g. `[\"a\"]`"),
        ("a map", "a table, e.g. `{ NAME = \"value\" }`"),
        ("a boolean", "true or false"),
    ];
    REPLACEMENTS.iter().fold(message.to_owned(), |text, (rust, plain)| {
        text.replace(&format!("expected {rust}"), &format!("expected {plain}"))
    })
}

/// Decides whether the file may be a symlink: a user's file may be one, but a project's could point anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigSymlinks {
    Follow,
    Refuse,
}

/// Opens without blocking: a FIFO in a project must not hang the program.
fn open_nonblocking(path: &Path, links: ConfigSymlinks) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = match links {
        ConfigSymlinks::Follow => flags,
        ConfigSymlinks::Refuse => flags | OFlags::NOFOLLOW,
    };
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

impl ConfigFile {
    /// Reads the file at `path`; `None` if it does not exist.
    pub(super) fn read(path: &Path, links: ConfigSymlinks) -> Result<Option<Self>, OperationFault> {
        let broken = |why: &str| OperationFault::usage(format!("{}: {why}", path.display()));
        let file = match open_nonblocking(path, links) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(Errno::LOOP) => return Err(broken("it is a link; a project's configuration must be a file")),
            Err(Errno::ACCESS | Errno::PERM) => {
                let why = "it may not be read, and it may say what tools must not do, so nothing is done without it";
                let hint = "if it is not meant for you, set TOOLGATE_HOME or HOME to a directory of your own, or use --cwd";
                return Err(broken(why).with_hint(hint));
            }
            Err(error) => return Err(broken(&std::io::Error::from(error).to_string())),
        };
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(broken("it is not a file"));
        }
        let mut text = String::new();
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => broken("it is not UTF-8"),
            _ => broken(&error.to_string()),
        })?;
        if text.len() as u64 > MAX_BYTES {
            return Err(broken(&format!("longer than {MAX_BYTES} bytes")));
        }
        let content = ConfigTables::default();
        let mut file = Self { path: path.to_owned(), text, content };
        file.content = match toml::from_str(&file.text) {
            Ok(content) => content,
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                return Err(file.fault_at(&span, &humanize_parse_error(error.message())));
            }
        };
        file.check()?;
        Ok(Some(file))
    }

    fn check(&self) -> Result<(), OperationFault> {
        let limits = &self.content.limits;
        self.check_range("output_tokens", limits.output_tokens.as_ref(), OUTPUT_TOKENS_RANGE)?;
        self.check_range("call_timeout_ms", limits.call_timeout_ms.as_ref(), CALL_TIMEOUT_MS_RANGE)?;
        self.check_range("parallel", limits.parallel.as_ref(), PARALLEL_RANGE)?;
        if let Some(one_more) = self.content.files.deny_read.get(MAX_PATTERNS) {
            return Err(
                self.fault_at(&one_more.span(), &format!("more than {MAX_PATTERNS} patterns are too many"))
            );
        }
        for pattern in &self.content.files.deny_read {
            // Any home directory serves to validate a pattern.
            runtime::DenyRead::new([pattern.get_ref()], Some(Path::new("/home")))
                .map_err(|fault| self.fault_at(&pattern.span(), &fault.to_string()))?;
        }
        self.check_confinement()?;
        HookTable::check_all(self)?;
        ServerTable::check_all(self)?;
        WebSearchTable::check(self)?;
        self.check_commands()
    }

    fn check_confinement(&self) -> Result<(), OperationFault> {
        let ConfinementTable {
            processes,
            memory_mb,
            file_size_mb,
            open_files,
            tmp_mb,
            shm_mb,
            hosts,
            unix_sockets,
            ..
        } = &self.content.confinement;
        self.check_range("processes", processes.as_ref(), 1..=4_000_000)?;
        self.check_range("memory_mb", memory_mb.as_ref(), 16..=1 << 30)?;
        self.check_range("file_size_mb", file_size_mb.as_ref(), 1..=1 << 30)?;
        self.check_range("open_files", open_files.as_ref(), 16..=1 << 20)?;
        self.check_range("tmp_mb", tmp_mb.as_ref(), 1..=1 << 30)?;
        self.check_range("shm_mb", shm_mb.as_ref(), 1..=1 << 30)?;
        for host in hosts {
            self.parse_host(host)?;
        }
        match unix_sockets.iter().find(|name| !super::is_socket_name(name.get_ref())) {
            Some(name) => Err(self.fault_at(&name.span(), super::INVALID_SOCKET)),
            None => Ok(()),
        }
    }

    /// Parses a value of this file as a host.
    pub(super) fn parse_host(&self, text: &Spanned<String>) -> Result<HostPattern, OperationFault> {
        text.get_ref()
            .parse()
            .map_err(|fault: HostPatternFault| self.fault_at(&text.span(), &fault.to_string()))
    }

    fn check_commands(&self) -> Result<(), OperationFault> {
        let CommandsTable { pass, set, sessions, shell, .. } = &self.content.commands;
        self.check_range("sessions", sessions.as_ref(), SESSIONS_RANGE)?;
        let one_more = pass.get(MAX_PATTERNS).or(set.values().nth(MAX_PATTERNS));
        if let Some(one_more) = one_more {
            let why = format!("more than {MAX_PATTERNS} variables are too many");
            return Err(self.fault_at(&one_more.span(), &why));
        }
        let passed = pass.iter().map(|name| {
            let pass = vec![name.get_ref().clone()];
            (name.span(), EnvironmentPolicy { pass, ..EnvironmentPolicy::default() })
        });
        let set = set.iter().map(|(name, value)| {
            let set = vec![(name.clone(), value.get_ref().clone())];
            (value.span(), EnvironmentPolicy { set, ..EnvironmentPolicy::default() })
        });
        for (span, environment) in passed.chain(set) {
            environment.check().map_err(|fault| self.fault_at(&span, &fault.to_string()))?;
        }
        match shell {
            Some(shell) if !shell.get_ref().is_absolute() => {
                let why = "`shell` must be a whole path, e.g. `/bin/bash`";
                Err(self.fault_at(&shell.span(), why))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn check_range(
        &self,
        name: &str,
        value: Option<&Spanned<u64>>,
        range: RangeInclusive<u64>,
    ) -> Result<(), OperationFault> {
        match value {
            Some(value) if !range.contains(value.get_ref()) => {
                let why = format!("`{name}` must be from {} to {}", range.start(), range.end());
                Err(self.fault_at(&value.span(), &why))
            }
            _ => Ok(()),
        }
    }

    /// Builds an error at a position in the file.
    pub(super) fn fault_at(&self, span: &Range<usize>, why: &str) -> OperationFault {
        let (line, column) = self.position(span);
        OperationFault::usage(format!("{}:{line}:{column}: {why}", self.path.display()))
            .with_hint("`toolgate config --help` says what can be set")
    }

    /// Converts a value of this file to a setting with its source.
    pub(super) fn setting<T, U>(&self, value: &Spanned<T>, convert: impl FnOnce(&T) -> U) -> SourcedValue<U> {
        let (line, _) = self.position(&value.span());
        let source = SettingSource::File { path: self.path.clone(), line };
        SourcedValue { value: convert(value.get_ref()), source }
    }

    /// Returns the directory that relative paths in the file start from.
    pub(super) fn base_directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn position(&self, span: &Range<usize>) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(span.start)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}
