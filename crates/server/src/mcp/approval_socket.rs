//! The Unix socket where `toolgate approve` terminals connect.
//!
//! Only its user can reach it, and no process that a tool started.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use runtime::ApprovalQuestion;
use rustix::fs::Mode;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{AbortHandle, JoinSet};

use super::pending_questions::{PendingQuestion, PendingQuestions};
use crate::approval_protocol::{FromTerminal, MAX_LINE_BYTES, ToTerminal};
use crate::peer_check;
use config::UserDirs;
use config::flags::WorkspaceArgs;
use config::private_dirs;
use session::approval::{PromptScope, ScreenSize, approval_choices, render_question, render_rule};

/// Maximum number of connected terminals.
const MAX_TERMINALS: usize = 16;
/// Maximum number of connections without a greeting. A further connection evicts the oldest.
const MAX_UNGREETED: usize = 16;
/// Maximum time until the greeting.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// The listening approval socket. Dropping it removes the socket file.
pub(super) struct ApprovalSocket {
    listener: UnixListener,
    path: PathBuf,
    description: String,
}

impl ApprovalSocket {
    pub(super) fn open(dirs: &UserDirs, place: &WorkspaceArgs) -> io::Result<Self> {
        let directory = private_dirs::approval_socket_dir(dirs)
            .ok_or_else(|| io::Error::other("there is no directory for its socket"))?;
        private_files::ensure_private_dir(&directory)?;
        let process = std::process::id();
        let path = directory.join(format!("mcp-{process}.sock"));
        // The process that had this process ID before us is gone.
        if private_dirs::is_own_socket(&path) {
            let _gone = rustix::fs::unlink(&path);
        }
        let listener = UnixListener::bind(&path)
            .map_err(|error| io::Error::other(format!("no socket at `{}`: {error}", path.display())))?;
        rustix::fs::chmod(&path, Mode::RUSR | Mode::WUSR)?;
        let cwd = session::compose::working_directory(place)
            .map(|cwd| cwd.display().to_string())
            .unwrap_or_default();
        Ok(Self { listener, path, description: format!("the server {process} in `{cwd}`") })
    }

    /// Accepts terminals and serves them. Never returns.
    pub(super) async fn serve_terminals(self, pending_questions: &Arc<PendingQuestions>) {
        // Dropping the sets aborts their tasks.
        let (mut terminals, mut ungreeted) = (JoinSet::new(), UngreetedTerminals::default());
        // ends: with the server
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => match peer_check::admit_peer(&stream) {
                        Ok(()) => ungreeted.await_greeting(stream),
                        Err(peer_check::PeerRejection::Gone) => {}
                        Err(why) => tracing::warn!(%why, "a connection to the approval socket was rejected"),
                    },
                    Err(error) => {
                        tracing::warn!(%error, "a terminal could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                heard = ungreeted.next() => match heard {
                    Some(terminal) if terminals.len() < MAX_TERMINALS => {
                        let (pending_questions, about) = (Arc::clone(pending_questions), self.description.clone());
                        terminals.spawn(async move { terminal.serve(&pending_questions, about).await });
                    }
                    Some(_) => tracing::warn!("more terminals came to answer than are served at a time"),
                    None => {}
                },
                Some(_) = terminals.join_next(), if !terminals.is_empty() => {}
            }
        }
    }
}

impl Drop for ApprovalSocket {
    fn drop(&mut self) {
        if private_dirs::is_own_socket(&self.path) {
            let _gone = rustix::fs::unlink(&self.path);
        }
    }
}

/// Connections that have not sent a greeting with their terminal size. They never block a terminal that does.
#[derive(Default)]
struct UngreetedTerminals {
    greetings: JoinSet<Option<ApprovalTerminal>>,
    abort_handles: VecDeque<AbortHandle>,
}

impl UngreetedTerminals {
    fn await_greeting(&mut self, stream: UnixStream) {
        self.abort_handles.retain(|stranger| !stranger.is_finished());
        if self.abort_handles.len() >= MAX_UNGREETED
            && let Some(oldest) = self.abort_handles.pop_front()
        {
            oldest.abort();
        }
        let greeted = async {
            tokio::time::timeout(GREETING_TIMEOUT, ApprovalTerminal::read_greeting(stream))
                .await
                .ok()
                .flatten()
        };
        self.abort_handles.push_back(self.greetings.spawn(greeted));
    }

    /// Returns the next terminal that sends a greeting, or `None` if a connection ends without one. Pending
    /// while there is no connection.
    async fn next(&mut self) -> Option<ApprovalTerminal> {
        match self.greetings.join_next().await {
            Some(heard) => heard.ok().flatten(),
            None => std::future::pending().await,
        }
    }
}

/// A greeted terminal, which can answer questions.
struct ApprovalTerminal {
    lines: TerminalMessages,
    write: OwnedWriteHalf,
    size: ScreenSize,
}

impl ApprovalTerminal {
    async fn read_greeting(stream: UnixStream) -> Option<Self> {
        let (read, write) = stream.into_split();
        let mut lines = TerminalMessages { read: BufReader::new(read), partial_line: Vec::new() };
        match lines.next().await {
            Ok(Some(FromTerminal::Hello { width, height })) => {
                Some(Self { lines, write, size: ScreenSize { width, height } })
            }
            Ok(Some(FromTerminal::Answer { .. }) | None) | Err(_) => None,
        }
    }

    /// Serves the terminal until it disconnects.
    async fn serve(self, pending_questions: &PendingQuestions, about: String) -> io::Result<()> {
        let Self { mut lines, mut write, size } = self;
        let mut watching = pending_questions.watch();
        send(&mut write, &ToTerminal::Hello { server: about }).await?;
        let mut shown: Vec<(u64, String)> = Vec::new();
        // The questions whose forms would stay open at the client.
        let mut kept_forms: BTreeSet<u64> = BTreeSet::new();
        // ends: when the terminal leaves
        loop {
            let questions = pending_questions.questions();
            let gone: Vec<u64> = shown
                .iter()
                .map(|(id, _)| *id)
                .filter(|id| !questions.iter().any(|(at, _)| at == id))
                .collect();
            for id in gone {
                shown.retain(|(at, _)| *at != id);
                kept_forms.remove(&id);
                send(&mut write, &ToTerminal::Settled { id }).await?;
            }
            for (id, question) in questions {
                if question.form_keeper.is_some() {
                    kept_forms.insert(id);
                } else if kept_forms.remove(&id) {
                    send(&mut write, &ToTerminal::FormClosed { id }).await?;
                }
                if !shown.iter().any(|(at, _)| *at == id) {
                    let message = question_message(id, &question, size);
                    let ToTerminal::Question { digest, .. } = &message else { continue };
                    shown.push((id, digest.clone()));
                    send(&mut write, &message).await?;
                }
            }
            tokio::select! {
                () = watching.changed() => {}
                line = lines.next() => match line? {
                    Some(FromTerminal::Answer { id, digest, said }) => {
                        // An answer counts only for the text that was shown.
                        let seen = shown.iter().any(|shown| *shown == (id, digest.clone()));
                        let question = pending_questions.questions().into_iter().find(|(at, _)| *at == id && seen);
                        if let Some((_, PendingQuestion { question, .. })) = question {
                            let rule = question.proposal.as_ref().map(|proposal| &proposal.rule);
                            pending_questions.answer(id, said.into_decision(rule));
                        }
                    }
                    Some(FromTerminal::Hello { .. }) => {}
                    None => return Ok(()),
                },
            }
        }
    }
}

fn question_message(id: u64, pending: &PendingQuestion, size: ScreenSize) -> ToTerminal {
    let question: &ApprovalQuestion = &pending.question;
    let text = render_question(question, size, PromptScope::Server);
    let rule = question.proposal.as_ref().map(|proposal| render_rule(proposal, size));
    let digest = Sha256::digest(format!("{id}\n{text}\n{rule:?}").as_bytes());
    let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let (choices, form_keeper) = (approval_choices(question), pending.form_keeper.clone());
    ToTerminal::Question { id, digest, text, rule, choices, form_keeper }
}

async fn send(write: &mut OwnedWriteHalf, message: &ToTerminal) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    write.write_all(&line).await
}

/// Reads the messages of a terminal, line by line and with a length limit.
struct TerminalMessages {
    read: BufReader<OwnedReadHalf>,
    /// The bytes of an incomplete line.
    partial_line: Vec<u8>,
}

impl TerminalMessages {
    /// Returns the next message, or `None` after a disconnect or an invalid line. Cancel-safe.
    async fn next(&mut self) -> io::Result<Option<FromTerminal>> {
        let room = MAX_LINE_BYTES.saturating_sub(self.partial_line.len() as u64);
        (&mut self.read).take(room).read_until(b'\n', &mut self.partial_line).await?;
        let line = std::mem::take(&mut self.partial_line);
        Ok(serde_json::from_slice(&line).ok())
    }
}
