//! Assembler for classic BPF, the language of seccomp filters.
//!
//! A program is written from its end to its beginning: the target of a jump exists before the jump, so every distance
//! is known. Jumps only lead forward, so every program terminates.

#[cfg(test)]
pub(crate) mod interpreter;
#[cfg(test)]
mod tests;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET,
    BPF_W,
};

/// One instruction, in the kernel's layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BpfInstruction {
    /// The operation.
    pub(crate) code: u16,
    /// The number of instructions to skip if the test holds.
    pub(crate) jt: u8,
    /// The number of instructions to skip if it does not.
    pub(crate) jf: u8,
    /// The operand.
    pub(crate) k: u32,
}

/// A condition on the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BpfCondition {
    /// It equals this number.
    Is(u32),
    /// It is at least this number.
    AtLeast(u32),
    /// It is more than this number.
    Above(u32),
    /// It has one of these bits set.
    Has(u32),
}

/// The maximum planned jump distance. A jump can skip 255 instructions, but one more may be inserted to bring the
/// other branch into reach.
const MAX_JUMP_DISTANCE: usize = 254;

/// A position in a [`BpfAssembler`], counted from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BpfLabel(usize);

/// The instructions from the last to the first.
#[derive(Debug, Default)]
pub(crate) struct BpfAssembler {
    reversed_instructions: Vec<BpfInstruction>,
}

impl BpfAssembler {
    /// Emits a return of `value`. A return within reach is reused.
    pub(crate) fn emit_return(&mut self, value: u32) -> BpfLabel {
        let answer = BpfInstruction { code: code(BPF_RET | BPF_K), jt: 0, jf: 0, k: value };
        let near = self.reversed_instructions.len().saturating_sub(MAX_JUMP_DISTANCE);
        match self.reversed_instructions[near..].iter().rposition(|&instruction| instruction == answer) {
            Some(found) => BpfLabel(near + found),
            None => self.push(answer.code, value),
        }
    }

    /// Emits a load of the word at `offset` of the kernel's call data, then continues at `next`.
    pub(crate) fn emit_load(&mut self, offset: u32, next: BpfLabel) -> BpfLabel {
        self.ensure_next_is(next);
        self.push(code(BPF_LD | BPF_W | BPF_ABS), offset)
    }

    /// Emits a bitwise AND of the accumulator with `mask`, then continues at `next`.
    pub(crate) fn emit_mask(&mut self, mask: u32, next: BpfLabel) -> BpfLabel {
        self.ensure_next_is(next);
        self.push(code(BPF_ALU | BPF_AND | BPF_K), mask)
    }

    /// Emits a conditional jump to `yes` or to `no`.
    pub(crate) fn emit_branch(&mut self, condition: BpfCondition, yes: BpfLabel, no: BpfLabel) -> BpfLabel {
        let (test, k) = match condition {
            BpfCondition::Is(k) => (BPF_JEQ, k),
            BpfCondition::AtLeast(k) => (BPF_JGE, k),
            BpfCondition::Above(k) => (BPF_JGT, k),
            BpfCondition::Has(k) => (BPF_JSET, k),
        };
        let (yes, no) = (self.reachable_label(yes), self.reachable_label(no));
        let (jt, jf) = (self.jump_offset(yes), self.jump_offset(no));
        self.reversed_instructions.push(BpfInstruction { code: code(BPF_JMP | test | BPF_K), jt, jf, k });
        self.last_label()
    }

    /// Returns the instructions in the kernel's order, beginning at `first`.
    pub(crate) fn finish(mut self, first: BpfLabel) -> Vec<BpfInstruction> {
        self.ensure_next_is(first);
        self.reversed_instructions.reverse();
        self.reversed_instructions
    }

    /// Ensures that the next emitted instruction is followed by `next`.
    fn ensure_next_is(&mut self, next: BpfLabel) {
        if next != self.last_label() {
            self.emit_jump(next);
        }
    }

    /// Returns an equivalent of `label` within [`MAX_JUMP_DISTANCE`]. Repeats a return instead of jumping to it: each is one
    /// instruction.
    fn reachable_label(&mut self, label: BpfLabel) -> BpfLabel {
        if self.distance(label) <= MAX_JUMP_DISTANCE {
            return label;
        }
        let target = self.reversed_instructions[label.0];
        if target.code == code(BPF_RET | BPF_K) { self.emit_return(target.k) } else { self.emit_jump(label) }
    }

    /// Emits a jump to `label` at any distance.
    fn emit_jump(&mut self, label: BpfLabel) -> BpfLabel {
        let distance = u32::try_from(self.distance(label)).expect("a program is far shorter");
        self.push(code(BPF_JMP | BPF_JA), distance)
    }

    fn push(&mut self, code: u16, k: u32) -> BpfLabel {
        self.reversed_instructions.push(BpfInstruction { code, jt: 0, jf: 0, k });
        self.last_label()
    }

    fn last_label(&self) -> BpfLabel {
        BpfLabel(self.reversed_instructions.len().saturating_sub(1))
    }

    /// Returns the number of instructions that the next emitted one must skip to reach `label`.
    fn distance(&self, label: BpfLabel) -> usize {
        self.reversed_instructions.len() - 1 - label.0
    }

    fn jump_offset(&self, label: BpfLabel) -> u8 {
        u8::try_from(self.distance(label)).expect("`near` made it so")
    }
}

/// All codes fit: they have one byte.
#[expect(clippy::cast_possible_truncation, reason = "the constants are wider than the field they are for")]
const fn code(bits: u32) -> u16 {
    bits as u16
}
