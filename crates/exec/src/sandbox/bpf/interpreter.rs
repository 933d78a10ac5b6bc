//! BPF interpreter that behaves like the kernel, for tests.

use super::{BpfInstruction, code};

/// The result of a program, and the number of executed instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BpfOutcome {
    /// The returned value.
    pub(crate) answer: u32,
    /// The number of executed instructions.
    pub(crate) steps: usize,
}

/// A system call as the kernel describes it to a filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeccompCall {
    /// The system call number.
    pub(crate) number: u32,
    /// The architecture.
    pub(crate) arch: u32,
    /// The arguments.
    pub(crate) args: [u64; 6],
}

/// Runs `program`. Panics where the kernel would have rejected it.
#[expect(clippy::cast_possible_truncation, reason = "a word is one half of an argument")]
pub(crate) fn run(program: &[BpfInstruction], call: &SeccompCall) -> BpfOutcome {
    let ip = [0; 2];
    let args = call.args.iter().flat_map(|&arg| [arg as u32, (arg >> 32) as u32]);
    let words: Vec<u32> = [call.number, call.arch].into_iter().chain(ip).chain(args).collect();
    let (mut at, mut accumulator) = (0, 0);
    // ends: every instruction leads forward
    for steps in 1.. {
        let BpfInstruction { code: op, jt, jf, k } = program[at];
        at += 1;
        let mut branch = |holds: bool| at += usize::from(if holds { jt } else { jf });
        if op == code(libc::BPF_RET | libc::BPF_K) {
            return BpfOutcome { answer: k, steps };
        } else if op == code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) {
            assert_eq!(k % 4, 0, "aligned");
            accumulator = words[k as usize / 4];
        } else if op == code(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) {
            accumulator &= k;
        } else if op == code(libc::BPF_JMP | libc::BPF_JA) {
            at += k as usize;
        } else if op == code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) {
            branch(accumulator == k);
        } else if op == code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) {
            branch(accumulator >= k);
        } else if op == code(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) {
            branch(accumulator > k);
        } else if op == code(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) {
            branch(accumulator & k != 0);
        } else {
            panic!("no such instruction: {op:#x}");
        }
    }
    unreachable!("a program ends with an answer")
}

/// Checks what the kernel checks: all jumps stay inside, and the last instruction is a return.
pub(crate) fn is_valid(program: &[BpfInstruction]) -> bool {
    let ends = program.last().is_some_and(|last| last.code == code(libc::BPF_RET | libc::BPF_K));
    let inside = program.iter().enumerate().all(|(at, instruction)| {
        let far =
            if instruction.code == code(libc::BPF_JMP | libc::BPF_JA) { instruction.k as usize } else { 0 };
        let skipped = far.max(usize::from(instruction.jt.max(instruction.jf)));
        at + 1 + skipped < program.len() || (skipped == 0 && at + 1 == program.len())
    });
    ends && inside && program.len() <= 4096
}
