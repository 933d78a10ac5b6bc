//! Reads typed lines for `toolgate run`, also while the model works; sets the terminal's key mode meanwhile.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use agent::SessionHandle;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::sync::mpsc;

use super::SessionView;
use crate::terminal_approver::terminal_lock;
use config::OperationFault;
use prompt::{EditorEvent, KeyDecoder, LineEditKey, PromptEditor};

/// Timeout of a wait for keys. After it, the reader checks again that the terminal is ours.
const KEY_POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Maximum time for the rest of a key.
const KEY_REST_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };
/// Interval at which a background process checks again for the foreground.
const FOREGROUND_CHECK_INTERVAL: Duration = Duration::from_millis(200);
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Switches bracketed paste on and off.
const ENABLE_BRACKETED_PASTE: &[u8] = b"\x1b[?2004h";
const DISABLE_BRACKETED_PASTE: &[u8] = b"\x1b[?2004l";

/// The key mode of the terminal. It is global, because every exit path must restore the terminal.
struct KeyModeState {
    /// Key mode was requested.
    requested: bool,
    /// The terminal settings before key mode, while it is active.
    before: Option<Termios>,
}

/// The reader clears the typed text before it reads the next key.
static CLEAR_REQUESTED: AtomicBool = AtomicBool::new(false);
static MODES: Mutex<KeyModeState> = Mutex::new(KeyModeState { requested: false, before: None });

/// The typed lines.
pub(super) struct TypedLines {
    lines: mpsc::UnboundedReceiver<Option<String>>,
    reader: Option<JoinHandle<()>>,
}

impl TypedLines {
    /// Starts the reader thread. It does not read while a question has the terminal.
    pub(super) fn spawn_reader(
        view: &Arc<dyn SessionView>,
        handle: SessionHandle,
        editor: PromptEditor,
    ) -> Result<Self, OperationFault> {
        let (sender, lines) = mpsc::unbounded_channel();
        let reader = KeyReader { view: Arc::clone(view), handle, sender, editor };
        enter_key_mode();
        let reader = std::thread::Builder::new().name("typed".to_owned()).spawn(move || reader.run())?;
        Ok(Self { lines, reader: Some(reader) })
    }

    /// Waits for the next line. Returns `None` after Ctrl-D or the end of input.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.lines.recv().await.flatten()
    }
}

impl Drop for TypedLines {
    /// Waits for the thread, at most one poll long: a later reader must not lose keys to it.
    fn drop(&mut self) {
        self.lines.close();
        if let Some(reader) = self.reader.take() {
            let _panicked = reader.join();
        }
        leave_key_mode();
    }
}

impl KeyModeState {
    /// Switches the terminal to key mode, if requested, not active, and if we are in the foreground. Ctrl-C
    /// and Ctrl-Z remain signals.
    fn apply(&mut self) {
        if !self.requested || self.before.is_some() || !is_foreground() {
            return;
        }
        let Ok(before) = termios::tcgetattr(io::stdin()) else { return };
        self.set_from(before);
    }

    /// Sets key mode, as a change of the settings `before`.
    fn set_from(&mut self, before: Termios) {
        let mut keys = before.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        if termios::tcsetattr(io::stdin(), OptionalActions::Now, &keys).is_ok() {
            let _nobody_reads = io::stderr().write_all(ENABLE_BRACKETED_PASTE);
            self.before = Some(before);
        }
    }
}

/// Returns true if our process group is in the foreground. A background process that touches the terminal is
/// stopped.
pub(super) fn is_foreground() -> bool {
    termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Requests key mode until [`leave_key_mode`].
pub(super) fn enter_key_mode() {
    let mut modes = MODES.lock();
    modes.requested = true;
    modes.apply();
}

/// Sets key mode again after the program was stopped: a shell has changed the settings meanwhile. Returns true
/// if the program is in the foreground.
pub(super) fn resume_key_mode() -> bool {
    let is_ours = is_foreground();
    let mut modes = MODES.lock();
    if is_ours && let Some(before) = modes.before.take() {
        modes.set_from(before);
    }
    is_ours
}

/// Restores the terminal. Returns true if key mode was requested.
pub(super) fn leave_key_mode() -> bool {
    let mut modes = MODES.lock();
    if let Some(before) = modes.before.take()
        && is_foreground()
    {
        let _nobody_reads = io::stderr().write_all(DISABLE_BRACKETED_PASTE);
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
    std::mem::take(&mut modes.requested)
}

/// Has the reader clear the typed text, or leave the search in earlier prompts.
pub(super) fn request_clear() {
    CLEAR_REQUESTED.store(true, Ordering::Release);
}

/// The thread that reads keys and edits the line.
struct KeyReader {
    view: Arc<dyn SessionView>,
    /// Interrupted by Escape on an empty line.
    handle: SessionHandle,
    sender: mpsc::UnboundedSender<Option<String>>,
    editor: PromptEditor,
}

impl KeyReader {
    fn run(mut self) {
        let stdin = io::stdin();
        let owner = terminal_lock();
        let ready = |wait: &Timespec| {
            matches!(poll(&mut [PollFd::new(&stdin.as_fd(), PollFlags::IN)], Some(wait)), Ok(1..))
        };
        let mut keyboard = KeyDecoder::default();
        // ends: with the input, or when the receiver is gone
        while !self.sender.is_closed() {
            if !is_foreground() {
                std::thread::sleep(FOREGROUND_CHECK_INTERVAL);
                continue;
            }
            // The process may have been moved to the foreground.
            MODES.lock().apply();
            if CLEAR_REQUESTED.swap(false, Ordering::AcqRel) {
                self.editor.cancel();
                self.view.show_input(&self.editor);
            }
            if !ready(if keyboard.has_pending() { &KEY_REST_TIMEOUT } else { &KEY_POLL_TIMEOUT }) {
                self.handle_keys(keyboard.decode(true));
                continue;
            }
            // An open question owns the terminal. Input that was ready before may have been read by it, so
            // poll again.
            let Ok(_ours) = owner.try_lock() else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            if !ready(&NO_WAIT) {
                continue;
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(stdin.as_fd(), &mut bytes) {
                // On a terminal, more input may follow Ctrl-D.
                Ok(0) if self.sender.send(None).is_ok() && stdin.is_terminal() => {}
                Ok(0) => return,
                Ok(count) => keyboard.push(&bytes[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(_) => return,
            }
            self.handle_keys(keyboard.decode(false));
        }
    }

    fn handle_keys(&mut self, keys: Vec<LineEditKey>) {
        if keys.is_empty() {
            return;
        }
        for key in keys {
            match self.editor.handle(key) {
                EditorEvent::Edited => {}
                EditorEvent::Escaped => self.handle.interrupt(),
                EditorEvent::InputEnded => drop(self.sender.send(None)),
                EditorEvent::Submitted(line) => {
                    self.view.commit_input(&line);
                    let _nobody_waits = self.sender.send(Some(line));
                }
            }
        }
        self.view.show_input(&self.editor);
    }
}
