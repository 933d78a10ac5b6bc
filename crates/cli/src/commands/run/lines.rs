//! What somebody types, line by line, also while the model works.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use crate::approve::TerminalApprover;
use crate::fault::Fault;

/// How long is waited for a key before it is asked again whether somebody else reads them.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The lines of standard input.
pub(super) struct Lines(mpsc::UnboundedReceiver<String>);

impl Lines {
    /// Reads what is typed; not while a question stands, whose keys are its own.
    pub(super) fn typed(person: Option<Arc<TerminalApprover>>) -> Result<Self, Fault> {
        let (send, lines) = mpsc::unbounded_channel();
        let read = move || {
            let asks = || person.as_ref().is_some_and(|person| person.asks());
            let mut line = Vec::new();
            // ends: with the input, or when nobody wants more
            while !send.is_closed() {
                let stdin = io::stdin();
                let ready = poll(&mut [PollFd::new(&stdin.as_fd(), PollFlags::IN)], Some(&WAIT));
                if asks() || !matches!(ready, Ok(1..)) {
                    continue;
                }
                let mut bytes = [0; 4096];
                match rustix::io::read(stdin.as_fd(), &mut bytes) {
                    Ok(0) => return,
                    Ok(count) => line.extend_from_slice(&bytes[..count]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => return,
                }
                while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                    let whole: Vec<u8> = line.drain(..=end).collect();
                    let _nobody_waits = send.send(String::from_utf8_lossy(&whole).into_owned());
                }
            }
        };
        std::thread::Builder::new().name("typed".to_owned()).spawn(read)?;
        Ok(Self(lines))
    }

    /// Waits for the next; `None` if there will be none.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }
}

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed<'a> {
    Nothing,
    Quit,
    Command(&'a str),
    Prompt(&'a str),
}

impl<'a> Typed<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        match line.trim() {
            "" => Self::Nothing,
            "/quit" | "/exit" | "exit" | "quit" => Self::Quit,
            line if line.starts_with('/') && !line.contains(' ') && !line[1..].contains('/') => {
                Self::Command(&line[1..])
            }
            line => Self::Prompt(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_alone_makes_no_command() {
        let rows = [
            (" \n", Typed::Nothing),
            ("/quit\n", Typed::Quit),
            ("/tools\n", Typed::Command("tools")),
            ("/etc/hosts is wrong\n", Typed::Prompt("/etc/hosts is wrong")),
            ("/etc/hosts\n", Typed::Prompt("/etc/hosts")),
            ("fix it\n", Typed::Prompt("fix it")),
        ];
        for (line, expected) in rows {
            assert_eq!(Typed::of(line), expected);
        }
    }
}
