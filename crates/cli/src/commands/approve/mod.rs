//! `toolgate approve`: a terminal that answers what running servers have to ask.

mod servers;
pub(crate) mod wire;

use std::collections::VecDeque;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::servers::{Heard, Servers};
use self::wire::{FromTerminal, ToTerminal};
use crate::approve::{Dialogue, Scope, TerminalApprover};
use crate::args::Approve;
use crate::config::Dirs;
use crate::fault::{Fault, INTERRUPTED};
use crate::{private, screen};

pub(crate) fn run(_: &Approve) -> Result<ExitCode, Fault> {
    let terminal = TerminalApprover::here()
        .ok_or_else(|| Fault::usage("there is no terminal to ask at; run `toolgate approve` in one"))?;
    let directory = private::counters(&Dirs::from_env()?)
        .ok_or_else(|| Fault::usage("there is no directory where servers could be").hint("set HOME"))?;
    private::directory(&directory)?;
    screen::to_stderr("waits for what `toolgate mcp` servers have to ask; Ctrl-C ends");
    super::block_on(async {
        let size = TerminalApprover::size()?;
        let (sender, heard) = mpsc::channel(16);
        let servers = Servers::new(directory, size, sender);
        tokio::select! {
            never = servers.watch() => never,
            done = Asking { terminal, questions: VecDeque::new() }.answer(heard) => done?,
        }
        Ok(ExitCode::from(INTERRUPTED))
    })
}

/// A question of one server.
struct Standing {
    server: servers::Server,
    id: u64,
    digest: String,
    text: String,
    dialogue: Dialogue,
}

/// The questions that stand, and where they are asked.
struct Asking {
    terminal: Arc<TerminalApprover>,
    questions: VecDeque<Standing>,
}

impl Asking {
    /// Asks one after the other, until somebody ends it.
    async fn answer(mut self, mut heard: mpsc::Receiver<Heard>) -> io::Result<()> {
        // ends: with Ctrl-C while no question stands
        loop {
            let Some(standing) = self.questions.pop_front() else {
                tokio::select! {
                    Some(heard) = heard.recv() => self.hear(heard)?,
                    _ = tokio::signal::ctrl_c() => return Ok(()),
                }
                continue;
            };
            let Standing { server, id, digest, text, dialogue } = standing;
            let terminal = Arc::clone(&self.terminal);
            let mut said = std::pin::pin!(terminal.converse(text, dialogue));
            // ends: when it is answered, here or elsewhere
            loop {
                tokio::select! {
                    said = &mut said => {
                        server.tell(&FromTerminal::Answer { id, digest, said: said? }).await;
                        break;
                    }
                    Some(heard) = heard.recv() => {
                        if heard.settles(&server, id) {
                            screen::hint("that was answered elsewhere, or given up");
                            break;
                        }
                        self.hear(heard)?;
                    }
                }
            }
        }
    }

    fn hear(&mut self, heard: Heard) -> io::Result<()> {
        let Heard { server, told } = heard;
        match told {
            Some(ToTerminal::Hello { server: about }) => screen::hint(&format!("{about} is there")),
            Some(ToTerminal::Question { id, digest, text, rule, choices }) => {
                let width = TerminalApprover::size()?.width;
                let dialogue = Dialogue::with(choices, Scope::Server, rule, width);
                self.questions.push_back(Standing { server, id, digest, text, dialogue });
            }
            Some(ToTerminal::Settled { id }) => {
                self.questions.retain(|standing| standing.id != id || standing.server != server);
            }
            None => self.questions.retain(|standing| standing.server != server),
        }
        Ok(())
    }
}
