//! An assembler for classic BPF, the language of seccomp filters.
//!
//! A program is written from its end to its beginning: what a jump leads to is there before the jump, so that every
//! distance is known when it is needed. Jumps only lead forward, so every program ends.

#[cfg(test)]
pub(crate) mod machine;
#[cfg(test)]
mod tests;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W,
};

/// One instruction, as the kernel reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// What is done.
    pub(crate) code: u16,
    /// How many instructions are left out if the test holds.
    pub(crate) jt: u8,
    /// How many are left out if it does not.
    pub(crate) jf: u8,
    /// What it is done with.
    pub(crate) k: u32,
}

/// A question about the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// It is this number.
    Is(u32),
    /// It is at least this number.
    AtLeast(u32),
    /// It is more than this number.
    Above(u32),
    /// It has one of these bits.
    Has(u32),
}

/// How many instructions a jump may leave out when it is planned. It can leave out 255, but one may still come between
/// to make the other side of the same question near.
const REACH: usize = 254;

/// A place in a [`Program`]: how many instructions come after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// The instructions from the last to the first.
#[derive(Debug, Default)]
pub(crate) struct Program {
    backwards: Vec<Instruction>,
}

impl Program {
    /// Ends with `value`. One answer serves all that are near enough.
    pub(crate) fn answer(&mut self, value: u32) -> Label {
        let answer = Instruction { code: code(BPF_RET | BPF_K), jt: 0, jf: 0, k: value };
        let near = self.backwards.len().saturating_sub(REACH);
        match self.backwards[near..].iter().rposition(|&instruction| instruction == answer) {
            Some(found) => Label(near + found),
            None => self.push(answer.code, value),
        }
    }

    /// Loads the word at `offset` of what the kernel tells about a call, then goes on at `next`.
    pub(crate) fn load(&mut self, offset: u32, next: Label) -> Label {
        self.before(next);
        self.push(code(BPF_LD | BPF_W | BPF_ABS), offset)
    }

    /// Leaves only the bits of `mask`, then goes on at `next`.
    pub(crate) fn mask(&mut self, mask: u32, next: Label) -> Label {
        self.before(next);
        self.push(code(BPF_ALU | BPF_AND | BPF_K), mask)
    }

    /// Goes on at `yes` or at `no`.
    pub(crate) fn ask(&mut self, question: Question, yes: Label, no: Label) -> Label {
        let (test, k) = match question {
            Question::Is(k) => (BPF_JEQ, k),
            Question::AtLeast(k) => (BPF_JGE, k),
            Question::Above(k) => (BPF_JGT, k),
            Question::Has(k) => (BPF_JSET, k),
        };
        let (yes, no) = (self.near(yes), self.near(no));
        let (jt, jf) = (self.short(yes), self.short(no));
        self.backwards.push(Instruction { code: code(BPF_JMP | test | BPF_K), jt, jf, k });
        self.last()
    }

    /// The instructions in the order in which the kernel takes them, beginning at `first`.
    pub(crate) fn finish(mut self, first: Label) -> Vec<Instruction> {
        self.before(first);
        self.backwards.reverse();
        self.backwards
    }

    /// Sees to it that the next instruction that is written is followed by `next`.
    fn before(&mut self, next: Label) {
        if next != self.last() {
            self.bridge(next);
        }
    }

    /// A place that means the same as `label` and is within [`REACH`]. Repeats an answer instead of going there: it is
    /// one instruction either way.
    fn near(&mut self, label: Label) -> Label {
        if self.distance(label) <= REACH {
            return label;
        }
        let target = self.backwards[label.0];
        if target.code == code(BPF_RET | BPF_K) { self.answer(target.k) } else { self.bridge(label) }
    }

    /// Goes to `label`, however far.
    fn bridge(&mut self, label: Label) -> Label {
        let distance = u32::try_from(self.distance(label)).expect("a program is far shorter");
        self.push(code(BPF_JMP | BPF_JA), distance)
    }

    fn push(&mut self, code: u16, k: u32) -> Label {
        self.backwards.push(Instruction { code, jt: 0, jf: 0, k });
        self.last()
    }

    fn last(&self) -> Label {
        Label(self.backwards.len().saturating_sub(1))
    }

    /// How many instructions the one that is written next must leave out to get to `label`.
    fn distance(&self, label: Label) -> usize {
        self.backwards.len() - 1 - label.0
    }

    fn short(&self, label: Label) -> u8 {
        u8::try_from(self.distance(label)).expect("`near` made it so")
    }
}

/// All codes fit: they have one byte.
#[expect(clippy::cast_possible_truncation, reason = "the constants are wider than the field they are for")]
const fn code(bits: u32) -> u16 {
    bits as u16
}
