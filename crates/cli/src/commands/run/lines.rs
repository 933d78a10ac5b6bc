//! What somebody types, line by line, also while the model works.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use crate::approve::terminal_owner;
use crate::fault::Fault;

/// How long is waited for a key before it is asked again whether somebody else reads them.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The lines of standard input.
pub(super) struct Lines(mpsc::UnboundedReceiver<Option<String>>);

impl Lines {
    /// Reads what is typed; not while a question stands, whose keys are its own.
    pub(super) fn typed() -> Result<Self, Fault> {
        let (send, lines) = mpsc::unbounded_channel();
        let owner = terminal_owner();
        let read = move || {
            let stdin = io::stdin();
            let ready = |wait: &Timespec| {
                matches!(poll(&mut [PollFd::new(&stdin.as_fd(), PollFlags::IN)], Some(wait)), Ok(1..))
            };
            let mut line = Vec::new();
            // ends: with the input, or when nobody wants more
            while !send.is_closed() {
                if !ready(&WAIT) {
                    continue;
                }
                // Whoever asks has the terminal. What was there before may be theirs and gone by now, so it is looked again.
                let Ok(_ours) = owner.try_lock() else {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                };
                if !ready(&NOW) {
                    continue;
                }
                let mut bytes = [0; 4096];
                match rustix::io::read(stdin.as_fd(), &mut bytes) {
                    // At a terminal more may be typed after Ctrl-D.
                    Ok(0) if send.send(None).is_ok() && stdin.is_terminal() => {}
                    Ok(0) => return,
                    Ok(count) => line.extend_from_slice(&bytes[..count]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Err(_) => return,
                }
                while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                    let whole: Vec<u8> = line.drain(..=end).collect();
                    let _nobody_waits = send.send(Some(String::from_utf8_lossy(&whole).into_owned()));
                }
            }
        };
        std::thread::Builder::new().name("typed".to_owned()).spawn(read)?;
        Ok(Self(lines))
    }

    /// Waits for the next; `None` if somebody typed Ctrl-D, or nothing more will come.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.recv().await.flatten()
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
