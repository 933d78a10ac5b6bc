//! A terminal of our own: the end that we hold, and the end that a program holds.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub cols: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// Opens a terminal, among those in `directory` if one is given: our end, which does not block, and the program's.
pub(super) fn open(size: Size, directory: Option<&OwnedFd>) -> io::Result<(OwnedFd, OwnedFd)> {
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

/// Changes the size; the program in the foreground is told.
pub(crate) fn resize(ours: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(ours, size)?)
}
