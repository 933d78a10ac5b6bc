//! `toolgate approve`: asks the user the questions of running `toolgate mcp` servers and sends the answers.

mod sanitize_ansi;
mod server_discovery;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::server_discovery::{ServerDiscovery, ServerMessage};
use crate::args::ApproveArgs;
use crate::terminal_approver::TerminalApprover;
use config::OperationFault;
use config::UserDirs;
use config::private_dirs;
use server::approval_protocol::{FromTerminal, ToTerminal};
use server::wait_for_signal;
use session::approval::{ApprovalDialogue, PromptScope};

pub(crate) fn run(_: &ApproveArgs) -> Result<ExitCode, OperationFault> {
    let terminal = TerminalApprover::detect(PromptScope::Server).ok_or_else(|| {
        OperationFault::usage("there is no terminal to ask at; run `toolgate approve` in one")
    })?;
    let directories = private_dirs::approval_socket_dirs(&UserDirs::from_env()?);
    terminal::print_stderr(&waiting_message(&directories));
    super::block_on(async {
        let signalled = wait_for_signal()?;
        let size = TerminalApprover::size()?;
        let (sender, messages) = mpsc::channel(16);
        let servers = ServerDiscovery::new(directories, size, sender);
        // On every exit path the open question is dropped, which restores the terminal.
        let end = tokio::select! {
            never = servers.watch() => match never {},
            failed = QuestionQueue { terminal, questions: VecDeque::new() }.answer(messages) => match failed? {},
            exit = signalled => exit,
        };
        Ok(crate::exit_status::of_server(end))
    })
}

/// Lists the directories where servers are searched for. A directory that other users can access is listed as
/// skipped.
fn waiting_message(directories: &[PathBuf]) -> String {
    let listed = directories.iter().map(|directory| {
        let shown = terminal::to_one_line(&directory.display().to_string());
        match private_files::is_private_dir(directory) {
            Ok(true) => format!("  {shown}"),
            Ok(false) => format!("  {shown} (not looked at: it is not yours alone; `chmod 700` it)"),
            Err(_) => format!("  {shown} (not there yet)"),
        }
    });
    let listed: Vec<String> = listed.collect();
    format!(
        "waits for what `toolgate mcp` servers have to ask; Ctrl-C ends. They are looked for in\n{}",
        listed.join("\n")
    )
}

/// A question of one server.
struct ServerQuestion {
    server: server_discovery::ServerConnection,
    id: u64,
    digest: String,
    text: String,
    dialogue: ApprovalDialogue,
    /// The client that keeps its form open after the answer here.
    form_keeper: Option<String>,
}

/// The open questions, and the terminal that asks them.
struct QuestionQueue {
    terminal: Arc<TerminalApprover>,
    questions: VecDeque<ServerQuestion>,
}

impl QuestionQueue {
    /// Asks one question after the other.
    async fn answer(mut self, mut messages: mpsc::Receiver<ServerMessage>) -> io::Result<Infallible> {
        // ends: when it is dropped
        loop {
            let Some(question) = self.questions.pop_front() else {
                match messages.recv().await {
                    Some(message) => self.handle_message(message)?,
                    None => std::future::pending::<()>().await,
                }
                continue;
            };
            let ServerQuestion { server, id, digest, text, dialogue, mut form_keeper } = question;
            let terminal = Arc::clone(&self.terminal);
            let mut said = std::pin::pin!(terminal.hold_dialogue(text, dialogue));
            // ends: when the question is answered, here or elsewhere
            loop {
                tokio::select! {
                    said = &mut said => {
                        server.send(&FromTerminal::Answer { id, digest, said: said? }).await;
                        if let Some(client) = form_keeper {
                            terminal::print_hint(&open_form_hint(&client));
                        }
                        break;
                    }
                    Some(message) = messages.recv() => {
                        if message.closes_form(&server, id) {
                            form_keeper = None;
                            continue;
                        }
                        if message.settles(&server, id) {
                            terminal::print_hint("that was answered elsewhere, or cancelled");
                            break;
                        }
                        self.handle_message(message)?;
                    }
                }
            }
        }
    }

    fn handle_message(&mut self, received: ServerMessage) -> io::Result<()> {
        let ServerMessage { server, message } = received;
        match message {
            Some(ToTerminal::Hello { server: about }) => {
                terminal::print_hint(&format!("{about} is there"));
            }
            Some(ToTerminal::Question { id, digest, text, rule, choices, form_keeper }) => {
                // The server's text is sanitized: it cannot move the cursor or hide characters on this
                // terminal.
                let (text, rule) =
                    (sanitize_ansi::sanitize(&text), rule.map(|rule| sanitize_ansi::sanitize(&rule)));
                let dialogue = ApprovalDialogue::new(choices, PromptScope::Server, rule);
                self.questions.push_back(ServerQuestion { server, id, digest, text, dialogue, form_keeper });
            }
            Some(ToTerminal::FormClosed { id }) => {
                let of_form = |question: &&mut ServerQuestion| question.id == id && question.server == server;
                if let Some(question) = self.questions.iter_mut().find(of_form) {
                    question.form_keeper = None;
                }
            }
            Some(ToTerminal::Settled { id }) => {
                self.questions.retain(|standing| standing.id != id || standing.server != server);
            }
            None => self.questions.retain(|standing| standing.server != server),
        }
        Ok(())
    }
}

/// Says that the form at `client` stays: the agent goes on only when it is closed.
fn open_form_hint(client: &str) -> String {
    let client = terminal::to_one_line(client);
    format!(
        "the form in {client} stays open and no longer counts: close it there with Esc, so that the agent goes on"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searched_directories_are_printed() {
        let home = tempfile::tempdir().unwrap();
        private_files::ensure_private_dir(&home.path().join("run")).unwrap();
        let places = [home.path().join("run"), home.path().join("none"), "/".into()];
        let said = waiting_message(&places).replace(&home.path().display().to_string(), "~");
        insta::assert_snapshot!(said, @"
        waits for what `toolgate mcp` servers have to ask; Ctrl-C ends. They are looked for in
          ~/run
          ~/none (not there yet)
          / (not looked at: it is not yours alone; `chmod 700` it)
        ");
    }
}
