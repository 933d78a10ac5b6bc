//! Renders one line with carriage returns and cursor movement as its final text, column by column.
//!
//! A character counts as one column, whatever its width, and so does a tab. Every step advances in the bytes, so the
//! time is linear. Erasing to the left is recorded, not executed, and the cursor never moves beyond the written cells.

use super::escape_sequence::{self, CursorMove, SequenceEffect};
use super::{OutputDevice, escape_bytes};

/// The contents of a column.
#[derive(Debug, Clone, Copy)]
struct ColumnCell {
    /// The start in the line, including zero-width bytes before the character.
    start: usize,
    char_start: usize,
    /// The end of the character; equal to its start if there is none.
    end: usize,
}

const BLANK_CELL: ColumnCell = ColumnCell { start: 0, char_start: 0, end: 0 };

/// The state of rendering one line.
struct LineFolder<'a> {
    line: &'a [u8],
    device: OutputDevice,
    cells: Vec<ColumnCell>,
    /// The cursor: at a cell, or after the last.
    column: usize,
    /// The start in the line of pending zero-width bytes, which belong to the next character.
    pending_start: usize,
    /// Pairs of column and offset: up to that column, cells written before that offset are blank. Columns fall, offsets
    /// rise.
    erased: Vec<(usize, usize)>,
}

/// Appends the final visible text of `line` to `out`.
pub(super) fn render_line(line: &[u8], device: OutputDevice, out: &mut String) {
    let mut folder =
        LineFolder { line, device, cells: Vec::new(), column: 0, pending_start: 0, erased: Vec::new() };
    let mut at = 0;
    // ends: every step takes at least one byte
    while at < line.len() {
        at = folder.process_byte(at);
    }
    folder.keep_pending(at);
    folder.render(out);
}

impl LineFolder<'_> {
    /// Processes the byte at `at` and returns the offset of the next one.
    fn process_byte(&mut self, at: usize) -> usize {
        match self.line[at] {
            b'\r' => {
                self.keep_pending(at);
                self.column = 0;
                self.pending_start = at + 1;
            }
            0x08 if self.device == OutputDevice::Terminal => self.column = self.column.saturating_sub(1),
            0x1b => {
                let (length, effect) = escape_sequence::parse_sequence(&self.line[at..]);
                self.apply_effect(effect, at);
                return at + length;
            }
            // Zero width, and shown only for a pipe.
            0x01..=0x08 | 0x0a..=0x1f | 0x7f => {}
            _ => {
                let end = at + char_length(&self.line[at..]);
                self.write_cell(ColumnCell { start: self.pending_start, char_start: at, end });
                self.column += 1;
                self.pending_start = end;
                return end;
            }
        }
        at + 1
    }

    fn apply_effect(&mut self, effect: SequenceEffect, at: usize) {
        match effect {
            SequenceEffect::EraseRight => self.cells.truncate(self.column),
            SequenceEffect::EraseLeft => self.erase_left(at),
            SequenceEffect::EraseLine => {
                self.cells.truncate(self.column);
                self.erase_left(at);
            }
            SequenceEffect::Move(step) if self.device == OutputDevice::Terminal => {
                let column = match step {
                    CursorMove::Left(by) => self.column.saturating_sub(by),
                    CursorMove::Right(by) => self.column.saturating_add(by),
                    CursorMove::ToColumn(column) => column,
                };
                self.column = column.min(self.cells.len());
            }
            SequenceEffect::Move(_) | SequenceEffect::Nothing => {}
        }
    }

    fn erase_left(&mut self, at: usize) {
        // ends: each was pushed once
        while self.erased.pop_if(|(column, _)| *column <= self.column).is_some() {}
        self.erased.push((self.column, at));
    }

    fn write_cell(&mut self, cell: ColumnCell) {
        match self.cells.get_mut(self.column) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
    }

    /// Keeps pending zero-width bytes, e.g. a colour reset, if they are at the end of the line. Elsewhere they are
    /// dropped: they would pile up with each state of a progress bar.
    fn keep_pending(&mut self, at: usize) {
        if self.device == OutputDevice::Pipe && self.pending_start < at && self.column == self.cells.len() {
            self.write_cell(ColumnCell { start: self.pending_start, char_start: at, end: at });
        }
    }

    fn render(mut self, out: &mut String) {
        self.blank_erased();
        let end = self.visible_end();
        // Characters that are adjacent both in the line and in the columns are copied together.
        let mut run = 0..0;
        for (column, cell) in self.cells.iter().enumerate() {
            if column >= end && cell.char_start < cell.end {
                continue;
            }
            let hidden = if self.device == OutputDevice::Pipe { cell.start..cell.char_start } else { 0..0 };
            if cell.char_start == run.end && hidden.is_empty() && !cell.is_blank() {
                run.end = cell.end;
                continue;
            }
            escape_bytes(&self.line[run], out);
            append_zero_width(&self.line[hidden], out);
            if cell.is_blank() && column < end {
                out.push(' ');
            }
            run = cell.char_start..cell.end;
        }
        escape_bytes(&self.line[run], out);
    }

    /// Blanks the columns that were erased to the left of the cursor and not written since.
    fn blank_erased(&mut self) {
        for (column, cell) in self.cells.iter_mut().enumerate() {
            // ends: each was pushed once
            while self.erased.pop_if(|(until, _)| *until < column).is_some() {}
            if self.erased.last().is_some_and(|(_, place)| cell.end <= *place) {
                *cell = BLANK_CELL;
            }
        }
    }

    /// Returns the column after the last visible one. Spaces count only before the cursor, as in a prompt; after it
    /// they were written to clear the line.
    fn visible_end(&self) -> usize {
        let seen = |&column: &usize| {
            let cell = self.cells[column];
            let letter = &self.line[cell.char_start..cell.end];
            !letter.is_empty() && (letter != b" " || column < self.column)
        };
        (0..self.cells.len()).rev().find(seen).map_or(0, |column| column + 1)
    }
}

impl ColumnCell {
    fn is_blank(self) -> bool {
        self.start == self.end
    }
}

/// Returns the length of the character at the start of `bytes`; invalid UTF-8 is taken byte by byte.
fn char_length(bytes: &[u8]) -> usize {
    let width = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = bytes.get(..width).filter(|bytes| std::str::from_utf8(bytes).is_ok());
    whole.map_or(1, <[u8]>::len)
}

/// Appends zero-width bytes, without the sequences that took effect.
fn append_zero_width(bytes: &[u8], out: &mut String) {
    let mut at = 0;
    // ends: every round takes at least one byte
    while at < bytes.len() {
        let (length, effect) = match bytes[at] {
            0x1b => escape_sequence::parse_sequence(&bytes[at..]),
            _ => (1, SequenceEffect::Nothing),
        };
        if matches!(effect, SequenceEffect::Nothing | SequenceEffect::Move(_)) {
            escape_bytes(&bytes[at..at + length], out);
        }
        at += length;
    }
}
