//! Streams a session's events to a client by tailing its journal.
//!
//! The journal is the queue: no event is lost, and memory stays bounded.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rpc::Peer;
use tokio::sync::watch;

use super::subscribers::Subscription;

/// Bytes per read.
const READ_CHUNK_BYTES: usize = 64 << 10;

/// A journal that is read line by line while it is written.
pub(super) struct JournalTail {
    file: File,
    /// Offset after the last complete line that was read.
    offset: u64,
    /// Number of lines that were read.
    lines: u64,
}

impl JournalTail {
    /// Opens a journal.
    #[expect(clippy::disallowed_methods, reason = "our own file, in the user's own state directory")]
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, offset: 0, lines: 0 })
    }

    /// Sends `peer` all lines after line `cursor`, including future ones, until it disconnects or the
    /// subscription stops.
    pub(super) async fn stream_to(
        mut self,
        peer: Peer,
        (session, cursor): (String, u64),
        mut last: watch::Receiver<u64>,
        subscription: Subscription,
    ) {
        if let Some(before) = &subscription.previous_stopped {
            before.cancelled().await;
        }
        let streaming = async {
            // ends: when the peer is gone, or the writer of the journal
            loop {
                last.borrow_and_update();
                // ends: with the current end of the journal
                while let Ok(Some(lines)) = self.read_lines() {
                    for line in lines {
                        self.lines += 1;
                        if self.lines > cursor
                            && !peer.notify("session/event", &params(&session, self.lines, &line)).await
                        {
                            return;
                        }
                    }
                }
                if last.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = streaming => {}
            () = subscription.stop.cancelled() => {}
        }
    }

    /// Returns the next complete lines, if there are any.
    fn read_lines(&mut self) -> io::Result<Option<Vec<String>>> {
        let mut bytes = vec![0; READ_CHUNK_BYTES];
        let mut read = self.file.read_at(&mut bytes, self.offset)?;
        // ends: with a newline, or with the file; a line has a bound
        while !bytes[..read].contains(&b'\n') && read == bytes.len() {
            bytes.resize(bytes.len() * 2, 0);
            let more = self.file.read_at(&mut bytes[read..], self.offset + read as u64)?;
            if more == 0 {
                break;
            }
            read += more;
        }
        let Some(end) = bytes[..read].iter().rposition(|byte| *byte == b'\n') else { return Ok(None) };
        let lines = bytes[..end].split(|byte| *byte == b'\n');
        let lines = lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        self.offset += end as u64 + 1;
        Ok(Some(lines))
    }
}

/// Formats the notification's params. The line is already JSON.
fn params(session: &str, cursor: u64, line: &str) -> String {
    format!(r#"{{"session_id":"{session}","cursor":{cursor},"event":{line}}}"#)
}
