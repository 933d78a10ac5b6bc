//! Reads and validates one TOML configuration file; errors carry line and column.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use runtime::{HostPattern, HostPatternFault};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use toml::Spanned;

use super::hook::HookTable;
use super::load::UserDirs;
use super::mcp_server::ServerTable;
use super::tables::{CommandsTable, ConfinementTable, FilesTable, JournalTable, LimitsTable, ToolsTable};
use super::tool_forms::ModelTable;
use super::web_search::WebSearchTable;
use super::{ApprovalMode, ChangesMode, IntegerStyle, SandboxMode, SettingSource, SourcedValue};
use crate::operation_fault::OperationFault;

/// Bytes of a configuration file at most.
const MAX_BYTES: u64 = 1 << 20;

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
    pub(super) changes: Option<Spanned<ChangesMode>>,
    pub(super) insecure_http: Option<Spanned<bool>>,
    pub(super) tools: ToolsTable,
    pub(super) models: BTreeMap<String, Spanned<ModelTable>>,
    pub(super) files: FilesTable,
    pub(super) commands: CommandsTable,
    pub(super) confinement: ConfinementTable,
    pub(super) limits: LimitsTable,
    pub(super) journal: JournalTable,
    pub(super) wire: WireTable,
    pub(super) hook: Vec<HookTable>,
    pub(super) mcp_servers: BTreeMap<String, Spanned<ServerTable>>,
    pub(super) directories: BTreeMap<PathBuf, Spanned<DirectoryTable>>,
}

/// Settings for one directory and those below it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct DirectoryTable {
    pub(super) sandbox: Option<Spanned<SandboxMode>>,
    pub(super) approval: Option<Spanned<ApprovalMode>>,
    pub(super) changes: Option<Spanned<ChangesMode>>,
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
        ("struct JournalTable", "a table `[journal]`"),
        ("struct WireTable", "a table `[wire]`"),
        ("struct HookTable", "a table `[[hook]]`"),
        ("struct ServerTable", "a table `[mcp_servers.NAME]`"),
        ("struct DirectoryTable", "a table `[directories.\"PATH\"]`"),
        ("struct PriceTable", "a table, e.g. `{ input = 1.25, cached = 0.125, output = 10 }`"),
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
        let ConfigTables { files, commands, confinement, limits, journal, .. } = &self.content;
        limits.check(self)?;
        journal.check(self)?;
        files.check(self)?;
        confinement.check(self)?;
        HookTable::check_all(self)?;
        ServerTable::check_all(self)?;
        ModelTable::check_all(self)?;
        WebSearchTable::check(self)?;
        commands.check(self)
    }

    /// Parses a value of this file as a host.
    pub(super) fn parse_host(&self, text: &Spanned<String>) -> Result<HostPattern, OperationFault> {
        text.get_ref()
            .parse()
            .map_err(|fault: HostPatternFault| self.fault_at(&text.span(), &fault.to_string()))
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

    /// Sets `setting` to a value of this file, if it is given.
    pub(super) fn set<T, U>(
        &self,
        setting: &mut SourcedValue<U>,
        value: Option<&Spanned<T>>,
        convert: impl Fn(&T) -> U,
    ) {
        if let Some(value) = value {
            *setting = self.setting(value, convert);
        }
    }

    /// Sets `setting` to a value of this file, if that is lower.
    pub(super) fn lower<T, U: PartialOrd>(
        &self,
        setting: &mut SourcedValue<U>,
        value: Option<&Spanned<T>>,
        convert: impl Fn(&T) -> U,
    ) {
        if value.is_some_and(|value| convert(value.get_ref()) < setting.value) {
            self.set(setting, value, convert);
        }
    }

    /// Converts a list of texts.
    pub(super) fn texts(&self, list: &[Spanned<String>]) -> impl Iterator<Item = SourcedValue<String>> {
        list.iter().map(|text| self.setting(text, Clone::clone))
    }

    /// Converts a list of paths, which start from the directory of the file.
    pub(super) fn paths(&self, list: &[Spanned<String>]) -> impl Iterator<Item = SourcedValue<PathBuf>> {
        list.iter().map(|path| self.setting(path, |path| self.base_directory().join(path)))
    }

    /// Returns a path in the user's file: `~/` is the home directory.
    pub(super) fn resolve_path(&self, path: &str, dirs: &UserDirs) -> PathBuf {
        match (path.strip_prefix("~/"), &dirs.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => self.base_directory().join(path),
        }
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
