//! Slash commands of `toolgate run`: input between turns that is not for the model.

use std::io::Read;
use std::path::Path;

use agent::{AgentSession, JournalRecorder};
use journal::{JournalEntry, SessionSettings};
use runtime::{Toolgate, json};

use super::background_processes::{kill_processes, list_processes};
use super::long_text::{show_diff, show_output};
use super::staged_commands::{self, STAGED_COMMANDS};
use super::{PrintedOutput, SessionView, allow_command};
use config::flags::WorkspaceArgs;
use config::{NetworkMode, OperationFault, UserDirs};
use report::replay::{describe_undoing, reverse_diff, split_undoable};
use report::session_list::describe_session;
use session::UnfinishedTurn;
use session::choose_model::reasoning_mode;
use session::compose::compose_in_dirs;
use session::turn_diff_store;

/// The commands and their help.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("allow", "gives this session one more permission; alone: which ones"),
    ("apply", "applies staged changes to your files; `/apply PATH` some"),
    ("changes", "the staged changes; `/changes --diff` as a diff"),
    ("clear", "clears the screen"),
    ("diff", "what the last turn changed"),
    ("discard", "gives staged changes up; `/discard PATH` some"),
    ("help", "this"),
    ("kill", "ends a process in the background; `/kill all` ends all"),
    ("model", "the model; `/model NAME` changes it"),
    ("new", "begins a new session"),
    ("output", "all that the last command printed"),
    ("policy", "what commands may do, and when you are asked"),
    ("ps", "the processes that run in the background"),
    ("quit", "the end; so is Ctrl-D"),
    ("redo", "repeats a staged step that was taken back"),
    ("sessions", "your newest sessions"),
    ("status", "this session: model, directory, rights, journal"),
    ("tools", "the tools that the model has"),
    ("undo", "takes back what the last turn changed; staged: `/undo N` steps"),
];

/// The help about keys.
const KEYS: &str = "\
Alt-Enter or \\ at the end begins a new line; Up, Down and Ctrl-R find earlier prompts; Tab completes.
Type while it works to add to what you asked. Esc or Ctrl-C stops the turn; Ctrl-C twice ends the program.";

/// Bytes of a command's output that are printed.
const MAX_PRINTED_BYTES: u64 = 4 << 20;
/// Calls of an unfinished turn that are listed.
const MAX_LISTED_CALLS: usize = 10;
/// Number of sessions that are listed.
const MAX_LISTED_SESSIONS: usize = 10;

/// The session that slash commands act on.
pub(super) struct SlashCommands<'a> {
    pub(super) toolgate: &'a Toolgate,
    pub(super) dirs: &'a UserDirs,
    /// The directory and the permissions, as flags give them.
    pub(super) place: &'a WorkspaceArgs,
    pub(super) session: &'a mut AgentSession,
    pub(super) view: &'a dyn SessionView,
    pub(super) recorder: &'a JournalRecorder,
    /// The settings in the journal.
    pub(super) settings: &'a mut SessionSettings,
    /// The last turn, if an earlier program ended during it.
    pub(super) unfinished_turn: Option<&'a UnfinishedTurn>,
}

/// The way a session continues after a command.
#[derive(Debug)]
pub(super) enum AfterCommand {
    Continue,
    /// This session ends, and goes on with these permissions.
    Widen(Box<WorkspaceArgs>),
    /// This session ends, and a new one begins.
    NewSession,
}

impl SlashCommands<'_> {
    /// Executes a command with its argument, which may be empty.
    pub(super) async fn execute(
        mut self,
        command: &str,
        argument: &str,
    ) -> Result<AfterCommand, OperationFault> {
        match command {
            "apply" | "changes" | "diff" | "discard" | "redo" | "undo"
                if self.toolgate.staged().is_some() =>
            {
                self.change_stage(command, argument)?;
            }
            staged if STAGED_COMMANDS.contains(&staged) => terminal::print_wrapped(
                "changes go to your files directly in this session; `--changes staged` keeps them aside",
            )?,
            "undo" if !argument.is_empty() => {
                terminal::print_hint("without `--changes staged`, /undo takes back the last turn only");
            }
            "allow" if argument.is_empty() => terminal::print_wrapped(allow_command::USAGE)?,
            "allow" => return self.allow(argument).map(|place| AfterCommand::Widen(Box::new(place))),
            "help" => terminal::print_wrapped(&help())?,
            "clear" => terminal::print_styled("\x1b[H\x1b[2J\x1b[3J")?,
            "new" => return Ok(AfterCommand::NewSession),
            "model" => self.choose_model(argument)?,
            "output" => match self.view.last_output() {
                Some(printed) => print_output(&printed).await?,
                None => terminal::print_wrapped("no command has printed anything yet")?,
            },
            "ps" => terminal::print_wrapped(&list_processes(self.toolgate).await)?,
            "kill" => self.kill(argument).await?,
            "status" => terminal::print_wrapped(&self.describe_status())?,
            "tools" => {
                terminal::print_wrapped(&self.toolgate.router().registry().offered_names().join("\n"))?;
            }
            "policy" => terminal::print_wrapped(&self.describe_policy()?)?,
            // The stored diff belongs to a turn before it.
            "diff" | "undo" if self.unfinished_turn.is_some() => {
                terminal::print_wrapped(&self.unfinished_turn.map(describe_unfinished).unwrap_or_default())?;
            }
            "diff" => match self.last_diff()? {
                Some(diff) => show_diff(&diff).await?,
                None => terminal::print_wrapped("nothing was changed")?,
            },
            "undo" => self.undo_last_turn().await?,
            "sessions" => self.list_sessions()?,
            // `TypedInput` knows the same commands.
            other => terminal::print_hint(&format!("there is no /{other}")),
        }
        Ok(AfterCommand::Continue)
    }

    /// Returns the permissions with one more, after a check that they can be given.
    fn allow(&self, argument: &str) -> Result<WorkspaceArgs, OperationFault> {
        let mut place = self.place.clone();
        let flag = allow_command::add_permission(&mut place, argument)?;
        drop(compose_in_dirs(&place, self.dirs.clone(), |_| {})?.build()?);
        terminal::print_wrapped(&format!("allowed: {flag}"))?;
        self.session.handle().steer(format!("(I have allowed {flag}.)")).map_err(session::journal_fault)?;
        Ok(place)
    }

    /// Executes a command about staged changes, and tells the model.
    fn change_stage(&mut self, command: &str, argument: &str) -> Result<(), OperationFault> {
        let Some(done) = staged_commands::execute(self.toolgate, command, argument) else { return Ok(()) };
        let Some(note) = done? else { return Ok(()) };
        self.session.forget_file_changes();
        self.session.handle().steer(note).map_err(session::journal_fault)
    }

    /// Ends processes in the background, and tells the model.
    async fn kill(&mut self, argument: &str) -> Result<(), OperationFault> {
        let ended = kill_processes(self.toolgate, argument).await?;
        if ended.is_empty() {
            return Ok(terminal::print_wrapped("nothing runs in the background")?);
        }
        terminal::print_wrapped(&ended.join("\n"))?;
        let note = format!("(I have {}.)", ended.join("; "));
        self.session.handle().steer(note).map_err(session::journal_fault)
    }

    /// Shows the model's name, or sets it for the next requests.
    fn choose_model(&mut self, name: &str) -> Result<(), OperationFault> {
        if name.is_empty() {
            return Ok(terminal::print_wrapped(self.session.model_name())?);
        }
        (self.settings.model, self.settings.resumed) = (name.to_owned(), true);
        let entry = JournalEntry::Session(self.settings.clone());
        self.recorder.write(&entry).map_err(session::journal_fault)?;
        self.session.set_model(name.to_owned(), reasoning_mode(name));
        Ok(terminal::print_wrapped(&format!("from now on: {name}"))?)
    }

    fn describe_status(&self) -> String {
        let journal = self.recorder.path();
        let id = session_id(self.recorder);
        format!(
            "session    {id}\nmodel      {}\n{}\njournal    {}",
            self.session.model_name(),
            self.describe_rights(),
            journal.display()
        )
    }

    fn describe_rights(&self) -> String {
        let gate = self.toolgate.router().gate();
        let cwd = self.toolgate.router().working_dir().cwd.display().to_string();
        format!(
            "directory  {cwd}\nsandbox    {}\napproval   {}",
            gate.sandbox().as_str(),
            gate.approval().as_str()
        )
    }

    fn describe_policy(&self) -> Result<String, OperationFault> {
        let cwd = &self.toolgate.router().working_dir().cwd;
        let network = match config::load(cwd, self.dirs, self.place)?.confinement.network.value {
            NetworkMode::Off => "off",
            NetworkMode::Loopback => "loopback: commands reach each other, and the hosts that are allowed",
            NetworkMode::On => "on: every host",
        };
        let allowed = match allow_command::given_permissions(self.place).as_slice() {
            [] => String::new(),
            given => format!("\nallowed    {}", given.join("\n           ")),
        };
        let more = "`toolgate config` says where that comes from, `toolgate policy explain -- CMD` what would be decided";
        Ok(format!("{}\nnetwork    {network}{allowed}\n{more}", self.describe_rights()))
    }

    /// Returns the diff of the last turn, if it changed anything.
    fn last_diff(&self) -> Result<Option<String>, OperationFault> {
        let Some(state) = self.dirs.state.as_deref() else { return Ok(None) };
        let last = turn_diff_store::last_diff(state, &self.toolgate.router().working_dir().cwd)?;
        Ok(last.filter(|diff| !diff.is_empty()))
    }

    /// Undoes the last turn, as a whole or not at all, and tells the model.
    async fn undo_last_turn(&mut self) -> Result<(), OperationFault> {
        let Some(diff) = self.last_diff()? else {
            return Ok(terminal::print_wrapped("nothing was changed")?);
        };
        let (undoable, left) = split_undoable(&diff);
        let left = left.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if undoable.is_empty() {
            let text =
                format!("nothing was undone: {left} are not text files; remove or restore them yourself");
            return Ok(terminal::print_wrapped(&text)?);
        }
        let output = self.toolgate.call("apply_patch", json!({ "input": reverse_diff(&undoable) })).await;
        let done = match output.success {
            true => describe_undoing(&undoable).join("\n"),
            false => format!("nothing was undone: {}", output.joined_text()),
        };
        terminal::print_wrapped(&done)?;
        if !left.is_empty() {
            terminal::print_hint(&format!("not undone, since they are not text files: {left}"));
        }
        if output.success {
            self.session.forget_file_changes();
            if let Some(state) = &self.dirs.state {
                turn_diff_store::save_diff(state, &self.toolgate.router().working_dir().cwd, "");
            }
            let note = match left.is_empty() {
                true => "(I have undone all file changes of your last turn.)".to_owned(),
                false => format!("(I have undone the file changes of your last turn, except for {left}.)"),
            };
            self.session.handle().steer(note).map_err(session::journal_fault)?;
        }
        Ok(())
    }

    fn list_sessions(&self) -> Result<(), OperationFault> {
        let sessions = self.dirs.sessions.as_deref();
        let listed = sessions.map(|sessions| journal::list_sessions(sessions, MAX_LISTED_SESSIONS));
        let listed = listed
            .transpose()
            .map_err(|fault| OperationFault::failed(fault.to_string()))?
            .unwrap_or_default();
        for session in listed {
            let about: String = describe_session(&session).chars().take(60).collect();
            terminal::print_wrapped(&format!("{}  {} calls  {about}", session.id, session.calls))?;
        }
        terminal::print_hint("`toolgate run --resume ID` goes on with one");
        Ok(())
    }
}

/// Shows all that a command printed.
async fn print_output(printed: &PrintedOutput) -> Result<(), OperationFault> {
    let PrintedOutput { title, text, file } = printed;
    let show = async |text: &str| show_output(&format!("{title}\n{text}"), file.as_deref()).await;
    let Some(file) = file else { return show(text).await };
    match read_output_file(file) {
        Ok((whole, rest)) => {
            show(&whole).await?;
            if rest > 0 {
                terminal::print_hint(&format!("{rest} bytes more are in {}", file.display()));
            }
        }
        Err(fault) => {
            show(text).await?;
            terminal::print_hint(&format!("the whole output is not available: {}: {fault}", file.display()));
        }
    }
    Ok(())
}

/// Reads at most [`MAX_PRINTED_BYTES`] of a kept output, and returns how many are left.
#[expect(clippy::disallowed_methods, reason = "Toolgate wrote this file")]
fn read_output_file(file: &Path) -> std::io::Result<(String, u64)> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file)?;
    let size = opened.metadata()?.len();
    opened.take(MAX_PRINTED_BYTES).read_to_end(&mut bytes)?;
    let rest = size.saturating_sub(bytes.len() as u64);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), rest))
}

/// Returns the id of the session, which names its journal.
pub(super) fn session_id(recorder: &JournalRecorder) -> String {
    recorder.path().file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn describe_unfinished(turn: &UnfinishedTurn) -> String {
    let begun = &turn.begun_calls;
    if begun.is_empty() {
        return "the program ended during the last turn, before a call began: nothing was changed".to_owned();
    }
    let shown = begun.iter().take(MAX_LISTED_CALLS).map(|call| format!("\n  {call}"));
    let more = match begun.len().saturating_sub(MAX_LISTED_CALLS) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!(
        "the program ended during the last turn; it may have changed files, and nothing was undone\n\
         these calls had begun:{}{more}",
        shown.collect::<String>()
    )
}

fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, about)| format!("/{name:<9} {about}\n"));
    format!("{}{KEYS}", commands.collect::<String>())
}
