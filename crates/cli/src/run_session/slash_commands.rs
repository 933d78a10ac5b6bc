//! Slash commands of `toolgate run`: input between turns that is not for the model.

use std::path::Path;

use agent::SessionHandle;
use runtime::{Toolgate, json};

use config::OperationFault;
use report::replay::{reverse_diff, split_undoable};
use session::turn_diff_store;

/// The help text.
const HELP: &str = "\
/tools     the tools that the model has
/policy    what commands may do, and when you are asked
/diff      what the last turn changed
/undo      takes back what the last turn changed
/sessions  your newest sessions; `toolgate run --resume ID` goes on with one
/help      this
/quit      the end; so is Ctrl-D
Type while it works to add to what you asked. Ctrl-C stops the turn; twice ends the program.";

/// Number of sessions that are listed.
const MAX_LISTED_SESSIONS: usize = 10;

/// The session that slash commands act on.
pub(super) struct SlashCommands<'a> {
    pub(super) toolgate: &'a Toolgate,
    pub(super) state: Option<&'a Path>,
    pub(super) sessions: Option<&'a Path>,
    pub(super) handle: &'a SessionHandle,
}

impl SlashCommands<'_> {
    /// Executes a command.
    pub(super) async fn execute(&self, command: &str) -> Result<(), OperationFault> {
        match command {
            "help" => terminal::print_text(HELP)?,
            "tools" => {
                terminal::print_text(&self.toolgate.router().registry().offered_names().join("\n"))?;
            }
            "policy" => terminal::print_text(&self.describe_policy())?,
            "diff" => {
                terminal::print_text(self.last_diff()?.as_deref().unwrap_or("nothing was changed"))?;
            }
            "undo" => self.undo_last_turn().await?,
            "sessions" => self.list_sessions()?,
            other => terminal::print_hint(&format!("there is no /{other}; /help shows what there is")),
        }
        Ok(())
    }

    fn describe_policy(&self) -> String {
        let gate = self.toolgate.router().gate();
        let cwd = self.toolgate.router().working_dir().cwd.display().to_string();
        format!(
            "directory  {cwd}\nsandbox    {}\napproval   {}\n`toolgate config` says where that comes from, `toolgate policy explain -- CMD` what would be decided",
            gate.sandbox().as_str(),
            gate.approval().as_str()
        )
    }

    /// Returns the diff of the last turn, if it changed anything.
    fn last_diff(&self) -> Result<Option<String>, OperationFault> {
        let Some(state) = self.state else { return Ok(None) };
        let last = turn_diff_store::last_diff(state, &self.toolgate.router().working_dir().cwd)?;
        Ok(last.filter(|diff| !diff.is_empty()))
    }

    /// Undoes the last turn, as a whole or not at all, and tells the model.
    async fn undo_last_turn(&self) -> Result<(), OperationFault> {
        let Some(diff) = self.last_diff()? else {
            return Ok(terminal::print_text("nothing was changed")?);
        };
        let (undoable, left) = split_undoable(&diff);
        let left = left.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if undoable.is_empty() {
            let text =
                format!("nothing was undone: {left} are not text files; remove or restore them yourself");
            return Ok(terminal::print_text(&text)?);
        }
        let output = self.toolgate.call("apply_patch", json!({ "input": reverse_diff(&undoable) })).await;
        terminal::print_text(&output.joined_text())?;
        if !left.is_empty() {
            terminal::print_hint(&format!("not undone, since they are not text files: {left}"));
        }
        if output.success {
            if let Some(state) = self.state {
                turn_diff_store::save_diff(state, &self.toolgate.router().working_dir().cwd, "");
            }
            let note = match left.is_empty() {
                true => "(I have undone all file changes of your last turn.)".to_owned(),
                false => format!("(I have undone the file changes of your last turn, except for {left}.)"),
            };
            self.handle.steer(note).map_err(session::journal_fault)?;
        }
        Ok(())
    }

    fn list_sessions(&self) -> Result<(), OperationFault> {
        let listed = self.sessions.map(|sessions| journal::list_sessions(sessions, MAX_LISTED_SESSIONS));
        let listed = listed
            .transpose()
            .map_err(|fault| OperationFault::failed(fault.to_string()))?
            .unwrap_or_default();
        for session in listed {
            let about: String = session.first_prompt.chars().take(60).collect();
            terminal::print_text(&format!("{}  {} calls  {about}", session.id, session.calls))?;
        }
        Ok(())
    }
}
