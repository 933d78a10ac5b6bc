//! Reads a window of lines from a file of any size, in constant memory.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter};
use tool::StopFlag;

/// The read size: small enough to stay in the CPU cache between reading and scanning.
const SCAN_BUFFER_BYTES: usize = 64 << 10;
/// The number of bytes read beyond the window to count the lines of the file.
const MAX_COUNT_AHEAD_BYTES: u64 = 16 << 20;

/// One line, without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowLine {
    /// Its first bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its full length in bytes.
    pub(crate) length: u64,
}

/// Tells whether a line is longer than its held bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineCut {
    Yes,
    No,
}

impl WindowLine {
    pub(crate) fn cut(&self) -> LineCut {
        if self.length == self.bytes.len() as u64 { LineCut::No } else { LineCut::Yes }
    }
}

/// The lines that were found in the requested window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineWindow {
    /// The number of the first line, counted from 1.
    pub(crate) first: u64,
    pub(crate) lines: Vec<WindowLine>,
    /// The number of lines in the file, if known.
    pub(crate) total: Option<u64>,
    /// The file's ending, as far as it was read.
    pub(crate) ending: FileEnding,
}

/// The file's ending, as far as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileEnding {
    Newline,
    NoNewline,
    Unread,
}

/// The requested window and its size limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineRequest {
    /// The first line, counted from 1.
    pub(crate) start: u64,
    /// The number of lines.
    pub(crate) count: usize,
    /// The byte limit of each line.
    pub(crate) line_bytes: usize,
    /// The byte limit of all lines together.
    pub(crate) bytes: usize,
}

/// Reads the requested lines.
pub(crate) fn read_window(
    file: &mut dyn Read,
    request: LineRequest,
    stop: &StopFlag,
) -> io::Result<LineWindow> {
    let mut scan = LineScan::new(request);
    let mut buffer = vec![0; SCAN_BUFFER_BYTES];
    // ends: every round reads on in the file, or stops
    loop {
        let read = read_chunk(file, &mut buffer, stop)?;
        if read == 0 {
            let total = scan.line - 1 + u64::from(scan.line_open);
            let ending = if scan.line_open { FileEnding::NoNewline } else { FileEnding::Newline };
            return Ok(LineWindow { first: request.start, lines: scan.lines, total: Some(total), ending });
        }
        scan.feed(&buffer[..read]);
        if scan.bytes_after_window > MAX_COUNT_AHEAD_BYTES {
            return Ok(LineWindow {
                first: request.start,
                lines: scan.lines,
                total: None,
                ending: FileEnding::Unread,
            });
        }
    }
}

/// Counts the lines of a file.
pub(crate) fn count_lines(file: &mut dyn Read, stop: &StopFlag) -> io::Result<u64> {
    let mut buffer = vec![0; SCAN_BUFFER_BYTES];
    let (mut lines, mut last) = (0, b'\n');
    // ends: every round reads on in the file, or stops
    loop {
        let read = read_chunk(file, &mut buffer, stop)?;
        if read == 0 {
            return Ok(lines + u64::from(last != b'\n'));
        }
        lines += memchr_iter(b'\n', &buffer[..read]).count() as u64;
        last = buffer[read - 1];
    }
}

fn read_chunk(file: &mut dyn Read, buffer: &mut [u8], stop: &StopFlag) -> io::Result<usize> {
    // ends: an interrupted read is tried again until it is not
    loop {
        if stop.is_requested() {
            return Err(io::Error::other("the call was stopped"));
        }
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The state of scanning a file for a window.
struct LineScan {
    request: LineRequest,
    phase: ScanPhase,
    /// The number of the next or the open line.
    line: u64,
    /// True if the last line read has not ended yet.
    line_open: bool,
    lines: Vec<WindowLine>,
    /// Bytes held in `taken`.
    held_bytes: usize,
    /// Bytes read since the window was complete.
    bytes_after_window: u64,
}

/// The part of the file being scanned: before, in or after the window.
#[derive(Debug, Clone, Copy)]
enum ScanPhase {
    Skip,
    Take,
    Count,
}

impl LineScan {
    fn new(request: LineRequest) -> Self {
        Self {
            request,
            phase: ScanPhase::Skip,
            line: 1,
            line_open: false,
            lines: Vec::new(),
            held_bytes: 0,
            bytes_after_window: 0,
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        // ends: every round takes at least one byte, or moves to the next phase
        while !bytes.is_empty() {
            bytes = match self.phase {
                ScanPhase::Skip => self.skip_lines(bytes),
                ScanPhase::Take => self.take_line(bytes),
                ScanPhase::Count => {
                    self.bytes_after_window += bytes.len() as u64;
                    self.skip_counted(bytes, memchr_iter(b'\n', bytes).count() as u64)
                }
            };
        }
    }

    /// Skips the lines before the window.
    fn skip_lines<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let before = self.request.start.saturating_sub(self.line);
        let here = if before == 0 { 0 } else { memchr_iter(b'\n', bytes).count() as u64 };
        if here < before {
            return self.skip_counted(bytes, here);
        }
        let end = match usize::try_from(before) {
            Ok(0) | Err(_) => 0,
            Ok(before) => memchr_iter(b'\n', bytes).nth(before - 1).map_or(0, |at| at + 1),
        };
        (self.phase, self.line, self.line_open) = (ScanPhase::Take, self.request.start, false);
        &bytes[end..]
    }

    /// Takes one line, or the available part of it.
    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if !self.line_open {
            self.lines.push(WindowLine { bytes: Vec::new(), length: 0 });
        }
        if let Some(line) = self.lines.last_mut() {
            let room = self.request.line_bytes.saturating_sub(line.bytes.len()).min(part.len());
            line.bytes.extend_from_slice(&part[..room]);
            line.length += part.len() as u64;
            self.held_bytes += room;
        }
        self.line_open = end.is_none();
        let Some(end) = end else { return &[] };
        self.line += 1;
        if self.lines.len() >= self.request.count || self.held_bytes >= self.request.bytes {
            self.phase = ScanPhase::Count;
        }
        &bytes[end + 1..]
    }

    /// Skips bytes that contain `newlines` newlines.
    fn skip_counted<'a>(&mut self, bytes: &'a [u8], newlines: u64) -> &'a [u8] {
        self.line += newlines;
        self.line_open = bytes.last() != Some(&b'\n');
        &[]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: LineRequest = LineRequest { start: 1, count: 1000, line_bytes: 1000, bytes: 100_000 };

    fn texts(window: &LineWindow) -> Vec<String> {
        window.lines.iter().map(|line| String::from_utf8_lossy(&line.bytes).into_owned()).collect()
    }

    fn lines_of(file: &mut dyn Read, ask: LineRequest) -> LineWindow {
        read_window(file, ask, &StopFlag::default()).unwrap()
    }

    #[test]
    fn windows_of_a_small_file() {
        for (text, start, count, expected, total, ending) in [
            ("", 1, 9, &[][..], 0, FileEnding::Newline),
            ("a", 1, 9, &["a"], 1, FileEnding::NoNewline),
            ("a\n", 1, 9, &["a"], 1, FileEnding::Newline),
            ("a\n\nc\n", 1, 9, &["a", "", "c"], 3, FileEnding::Newline),
            ("a\nb\nc\nd", 2, 2, &["b", "c"], 4, FileEnding::NoNewline),
            ("a\nb\nc\n", 3, 9, &["c"], 3, FileEnding::Newline),
            ("a\nb\nc\n", 4, 9, &[], 3, FileEnding::Newline),
            ("a\nb\nc", 9, 9, &[], 3, FileEnding::NoNewline),
        ] {
            let window = lines_of(&mut text.as_bytes(), LineRequest { start, count, ..ALL });
            assert_eq!(texts(&window), expected, "{text:?} from {start}");
            assert_eq!((window.total, window.ending), (Some(total), ending), "{text:?} from {start}");
            assert_eq!(
                super::count_lines(&mut text.as_bytes(), &StopFlag::default()).unwrap(),
                total,
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_long_line_is_held_in_part_and_measured_in_full() {
        let text = format!("{}\nb\n", "x".repeat(3 * SCAN_BUFFER_BYTES));
        let window = lines_of(&mut text.as_bytes(), LineRequest { line_bytes: 5, ..ALL });
        assert_eq!(texts(&window), ["xxxxx", "b"]);
        assert_eq!(window.lines[0].length, 3 * SCAN_BUFFER_BYTES as u64);
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let window = lines_of(&mut io::repeat(b'\n'), LineRequest { count: 3, ..ALL });
        assert_eq!((window.lines.len(), window.total), (3, None));
    }

    proptest! {
        /// Law: the window is what `lines()` would give, however the reads fall.
        #[test]
        fn the_window_is_a_slice_of_the_lines(text in "[a\n]{0,40}", before in 0usize..11, count in 1usize..8, piece in 1usize..5) {
            let start = before as u64 + 1;
            let window = lines_of(&mut ChunkedReader(text.as_bytes(), piece), LineRequest { start, count, ..ALL });
            let all: Vec<&str> = text.lines().collect();
            let expected: Vec<&str> = all.iter().skip(before).take(count).copied().collect();
            prop_assert_eq!(texts(&window), expected);
            prop_assert_eq!(window.total, Some(all.len() as u64));
        }
    }

    /// Returns a few bytes per read.
    struct ChunkedReader<'a>(&'a [u8], usize);

    impl Read for ChunkedReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
}
