//! Asks the user at the terminal to approve or reject a call, in a dialogue of single keys.
//!
//! The terminal is `/dev/tty`, independent of standard input. During a question the terminal delivers single keys,
//! Ctrl-C included. It is restored when the question is answered or cancelled.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prompt::{NoteEditor, NoteLine, NoteOutcome};
use runtime::{ApprovalQuestion, Approver, BoxFuture, CallId, ReviewDecision};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};
use tokio::sync::oneshot;

use prompt::KeyDecoder;
use session::approval::{
    ApprovalAnswer, ApprovalDialogue, DialogueOutcome, PromptScope, ScreenSize, render_question,
};

/// The keyboard must be idle this long before a key counts, so that type-ahead cannot answer a question.
const IDLE_BEFORE_ANSWER: Duration = Duration::from_millis(300);
/// Time limit for the rest of an escape sequence.
const ESCAPE_SEQUENCE_TIMEOUT: Duration = Duration::from_millis(50);
/// Bytes of one key or paste at most.
const MAX_INPUT_BYTES: usize = 256;

/// Returns the lock of the terminal: one question at a time.
pub(crate) fn terminal_lock() -> Arc<tokio::sync::Mutex<()>> {
    static OWNER: LazyLock<Arc<tokio::sync::Mutex<()>>> = LazyLock::new(Arc::default);
    Arc::clone(&OWNER)
}

/// Approver that asks at the terminal.
pub(crate) struct TerminalApprover {
    asking: AtomicBool,
    scope: PromptScope,
}

impl TerminalApprover {
    /// Returns an approver if standard input and stderr are terminals and `/dev/tty` can be opened.
    pub(crate) fn detect(scope: PromptScope) -> Option<Arc<Self>> {
        let has_terminal = io::stdin().is_terminal() && io::stderr().is_terminal() && open_tty().is_ok();
        has_terminal.then(|| Arc::new(Self { asking: AtomicBool::new(false), scope }))
    }

    /// Reports whether a question is on the screen: then nothing else should be written.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Acquire)
    }

    /// Returns the size of the terminal.
    pub(crate) fn size() -> io::Result<ScreenSize> {
        Ok(window_size(&open_tty()?))
    }

    async fn answer(&self, question: &ApprovalQuestion) -> io::Result<ReviewDecision> {
        let size = Self::size()?;
        let answer = self.hold_dialogue(
            render_question(question, size, self.scope),
            ApprovalDialogue::for_question(question, size, self.scope),
        );
        Ok(answer.await?.into_decision(question.proposal.as_ref().map(|proposal| &proposal.rule)))
    }

    /// Shows `text` and waits for the answer. Dropping the future restores the terminal.
    pub(crate) async fn hold_dialogue(
        &self,
        text: String,
        dialogue: ApprovalDialogue,
    ) -> io::Result<ApprovalAnswer> {
        let _owner = terminal_lock().lock_owned().await;
        let _asking = AskingFlag::set(&self.asking);
        let terminal = open_tty()?;
        let mut keys = RawKeyMode::enable(terminal.try_clone()?)?;
        // Dropping the future drops `_cancel_on_drop`, which wakes the thread.
        let (cancel_fd, _cancel_on_drop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (answer_sender, answer_receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name("approval".to_owned());
        thread.spawn(move || {
            let _nobody_waits =
                answer_sender.send(DialogueThread { terminal, cancel_fd }.run_dialogue(&text, dialogue));
        })?;
        let answer = answer_receiver.await.unwrap_or_else(|_| Err(io::Error::other("the question was lost")));
        keys.answered = true;
        answer
    }
}

impl Approver for TerminalApprover {
    fn ask<'a>(&'a self, _: &'a CallId, question: &'a ApprovalQuestion) -> BoxFuture<'a, ReviewDecision> {
        Box::pin(async move {
            self.answer(question).await.unwrap_or_else(|error| {
                let note = format!("the question could not be asked at the terminal: {error}");
                ReviewDecision::Denied { note: Some(note) }
            })
        })
    }
}

/// Asks for one of `keys`, before a session begins. Returns `None` after Ctrl-C or Ctrl-D.
pub(crate) fn ask_key(text: &str, keys: &[u8]) -> io::Result<Option<u8>> {
    let terminal = open_tty()?;
    let mut mode = RawKeyMode::enable(terminal.try_clone()?)?;
    // Nothing cancels this question: the write end stays open.
    let (cancel_fd, _open) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let dialogue = DialogueThread { terminal, cancel_fd };
    let mut out = anstream::AutoStream::auto(dialogue.terminal.try_clone()?);
    write!(out, "{text}")?;
    let names: Vec<String> = keys.iter().map(|key| char::from(*key).to_string()).collect();
    write!(out, "Answer ({}): ", names.join(" "))?;
    out.flush()?;
    // ends: with an answer
    let pressed = loop {
        match dialogue.wait_for_input(None)? {
            TerminalInput::Bytes(bytes) => match bytes.as_slice() {
                [key] if keys.contains(&key.to_ascii_lowercase()) => break Some(key.to_ascii_lowercase()),
                [3 | 4] => break None,
                _ => {}
            },
            TerminalInput::Idle => {}
            TerminalInput::Cancelled => break None,
        }
    };
    writeln!(out, "{}", pressed.map_or(String::new(), |key| char::from(key).to_string()))?;
    mode.answered = true;
    Ok(pressed)
}

fn open_tty() -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open("/dev/tty", flags, Mode::empty())?.into())
}

fn window_size(terminal: &File) -> ScreenSize {
    let known = termios::tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (width, height) = known.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    ScreenSize { width: width.into(), height: height.into() }
}

/// Sets the asking flag until it is dropped.
struct AskingFlag<'a>(&'a AtomicBool);

impl<'a> AskingFlag<'a> {
    fn set(asking: &'a AtomicBool) -> Self {
        asking.store(true, Ordering::Release);
        Self(asking)
    }
}

impl Drop for AskingFlag<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Puts the terminal into single-key mode until it is dropped.
struct RawKeyMode {
    terminal: File,
    before: Termios,
    answered: bool,
}

impl RawKeyMode {
    /// Enables the mode, and discards input that was typed before the question.
    fn enable(terminal: File) -> io::Result<Self> {
        use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex};
        let before = termios::tcgetattr(&terminal)?;
        let mut keys = before.clone();
        // Ctrl-C arrives as a key; output is still processed line by line.
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        keys.input_modes -= InputModes::ICRNL | InputModes::IXON;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(&terminal, OptionalActions::Now, &keys)?;
        let keys = Self { terminal, before, answered: false };
        termios::tcflush(&keys.terminal, QueueSelector::IFlush)?;
        Ok(keys)
    }
}

impl Drop for RawKeyMode {
    fn drop(&mut self) {
        let _gone = termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        if !self.answered {
            let _nobody_reads = self.terminal.write_all(b"\n");
        }
    }
}

/// Shows a question and waits for its answer on a thread of its own, because reading a terminal blocks.
struct DialogueThread {
    terminal: File,
    /// Becomes readable when the caller stops waiting.
    cancel_fd: OwnedFd,
}

/// Input from the terminal.
enum TerminalInput {
    Bytes(Vec<u8>),
    /// No input within the time limit.
    Idle,
    /// The caller has stopped waiting.
    Cancelled,
}

impl DialogueThread {
    fn run_dialogue(self, text: &str, mut dialogue: ApprovalDialogue) -> io::Result<ApprovalAnswer> {
        let mut out = anstream::AutoStream::auto(self.terminal.try_clone()?);
        // Overwrites the progress line.
        self.clear_line()?;
        write!(out, "{text}")?;
        out.flush()?;
        // ends: when the keyboard is idle for a moment, or the caller stops waiting
        loop {
            match self.wait_for_input(Some(IDLE_BEFORE_ANSWER))? {
                TerminalInput::Bytes(bytes) => {
                    // Only Ctrl-C counts.
                    if let DialogueOutcome::Decided(answer @ ApprovalAnswer::Stop, words) =
                        dialogue.handle_input(&keep_ctrl_c(&bytes))
                    {
                        writeln!(out, "{words}")?;
                        return Ok(answer);
                    }
                }
                TerminalInput::Idle => break,
                TerminalInput::Cancelled => return Ok(ApprovalAnswer::Stop),
            }
        }
        write!(out, "{}", dialogue.prompt())?;
        out.flush()?;
        // ends: with an answer, or when the caller stops waiting
        loop {
            let bytes = match self.wait_for_input(None)? {
                TerminalInput::Bytes(bytes) => bytes,
                TerminalInput::Idle => continue,
                TerminalInput::Cancelled => return Ok(ApprovalAnswer::Stop),
            };
            match dialogue.handle_input(&bytes) {
                DialogueOutcome::Nothing => {}
                DialogueOutcome::Show(text) => write!(out, "{text}")?,
                DialogueOutcome::NoteWanted => match self.read_note(&mut out)? {
                    Some(answer) => return Ok(answer),
                    None => write!(out, "\n{}", dialogue.prompt())?,
                },
                DialogueOutcome::Decided(answer, words) => {
                    writeln!(out, "{words}")?;
                    return Ok(answer);
                }
            }
            out.flush()?;
        }
    }

    /// Reads a note to the model. Returns the answer, or `None` if the user goes back to the question.
    fn read_note(&self, out: &mut impl Write) -> io::Result<Option<ApprovalAnswer>> {
        let mut editor = NoteEditor::default();
        writeln!(out)?;
        // ends: when the note is sent or left, or the caller stops waiting
        loop {
            let NoteLine { text, cursor_back } = editor.line(window_size(&self.terminal).width);
            self.clear_line()?;
            write!(out, "{text}")?;
            out.flush()?;
            if cursor_back > 0 {
                (&self.terminal).write_all(format!("\x1b[{cursor_back}D").as_bytes())?;
            }
            let outcome = match self.wait_for_input(None)? {
                TerminalInput::Bytes(bytes) => editor.handle_input(&bytes),
                TerminalInput::Idle => NoteOutcome::Edited,
                TerminalInput::Cancelled => return Ok(Some(ApprovalAnswer::Stop)),
            };
            let (answer, words) = match outcome {
                NoteOutcome::Edited => continue,
                NoteOutcome::Left => return Ok(None),
                NoteOutcome::Sent(note) => (ApprovalAnswer::No { note }, "no"),
                NoteOutcome::Stopped => (ApprovalAnswer::Stop, "stopped"),
            };
            writeln!(out, "\n{words}")?;
            return Ok(Some(answer));
        }
    }

    /// Clears the current line. Written directly: the colour filter would strip this sequence too.
    fn clear_line(&self) -> io::Result<()> {
        (&self.terminal).write_all(b"\r\x1b[K")
    }

    /// Waits for input; for an escape sequence or a paste until it is complete.
    fn wait_for_input(&self, limit: Option<Duration>) -> io::Result<TerminalInput> {
        let mut bytes = match self.read_input(limit)? {
            TerminalInput::Bytes(bytes) => bytes,
            other => return Ok(other),
        };
        // ends: with the sequence, or when the buffer is full
        while ends_within_key(&bytes) && bytes.len() < MAX_INPUT_BYTES {
            match self.read_input(Some(ESCAPE_SEQUENCE_TIMEOUT))? {
                TerminalInput::Bytes(more) => bytes.extend(more),
                TerminalInput::Idle => break,
                TerminalInput::Cancelled => return Ok(TerminalInput::Cancelled),
            }
        }
        Ok(TerminalInput::Bytes(bytes))
    }

    fn read_input(&self, limit: Option<Duration>) -> io::Result<TerminalInput> {
        let limit = limit.map(|limit| Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() });
        let mut watched =
            [PollFd::new(&self.terminal, PollFlags::IN), PollFd::new(&self.cancel_fd, PollFlags::IN)];
        retry_on_intr(|| poll(&mut watched, limit.as_ref()))?;
        let [terminal, cancelled] = watched.map(|watched| !watched.revents().is_empty());
        if cancelled {
            return Ok(TerminalInput::Cancelled);
        }
        if !terminal {
            return Ok(TerminalInput::Idle);
        }
        let mut bytes = vec![0; MAX_INPUT_BYTES];
        let read = retry_on_intr(|| rustix::io::read(&self.terminal, &mut bytes))?;
        bytes.truncate(read);
        if bytes.is_empty() { Err(Errno::IO.into()) } else { Ok(TerminalInput::Bytes(bytes)) }
    }
}

/// Keeps only the Ctrl-C bytes of some input.
fn keep_ctrl_c(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|&byte| byte == 3).collect()
}

/// Returns true if the last key in `bytes` is incomplete, or may be.
fn ends_within_key(bytes: &[u8]) -> bool {
    let mut keys = KeyDecoder::default();
    keys.push(bytes);
    keys.decode(false);
    keys.is_within_key()
}
