//! Pseudo-terminal: opens a pair and sets its size.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtySize {
    /// The number of rows.
    pub rows: u16,
    /// The number of columns.
    pub cols: u16,
}

impl Default for PtySize {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// Opens a pseudo-terminal, in the devpts mount `directory` if one is given. Returns the non-blocking master and the
/// program's end.
pub(super) fn open(size: PtySize, directory: Option<&OwnedFd>) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = match directory {
        Some(directory) => {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            openat(directory, "ptmx", flags, Mode::empty())?
        }
        None => {
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            grantpt(&ours)?;
            ours
        }
    };
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
    resize(&ours, size)?;
    Ok((ours, theirs))
}

/// Changes the size, which notifies the foreground program.
pub(crate) fn resize(ours: impl AsFd, size: PtySize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(ours, size)?)
}
