//! Compiles the table of system call rules into a seccomp filter.
//!
//! The filter closes gaps that neither namespaces nor Landlock close: socket families, other entry points into the
//! kernel, and calls that only administrators and exploits make. A refused call fails with an error that programs can
//! handle. The table is in `filter_table`; here it becomes a program that finds a call by binary search. Calls without
//! rules about their arguments are decided by their number alone, so that since 5.11 the kernel caches that they are
//! allowed.

mod filter_table;
mod syscalls;
#[cfg(test)]
mod tests;

use super::bpf::{BpfAssembler, BpfCondition, BpfInstruction, BpfLabel};
use filter_table::{ArgCondition, ArgWord, FilterTable, SyscallAction, SyscallRule, filter_table};
use syscalls::{LAST_SYSCALL, arch};

/// The parameters of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterRules {
    /// Internet sockets may be created (there is a network namespace, or the network is on).
    pub(crate) inet: bool,
    /// There is a network namespace: sockets bound in it are known by that. Otherwise the supervisor is notified of
    /// `bind` too.
    pub(crate) own_network: bool,
    /// A process and an IPC namespace are in force.
    pub(crate) namespaces: bool,
    /// Landlock is in force (with signal scope and ptrace restriction).
    pub(crate) landlock: bool,
    /// The effective user is root.
    pub(crate) root: bool,
    /// A supervisor judges `connect` (SECCOMP_RET_USER_NOTIF). Without one, unix sockets can be created in pairs
    /// only.
    pub(crate) brokered: bool,
    /// The supervisor is also notified of calls that change files by path.
    pub(crate) notifies_writes: bool,
}

/// Offsets in the kernel's description of a call (`struct seccomp_data`).
const NR_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
const ARGS_OFFSET: u32 = 16;

/// The number that a tracer writes to skip a call. It executes nothing. Refusing it would overwrite the result that
/// the tracer provides.
const SKIPPED_CALL: u32 = u32::MAX;

/// Compiles the program for `rules`, at most a few hundred instructions.
pub(crate) fn compile_filter(rules: FilterRules) -> Vec<BpfInstruction> {
    let policy = filter_table(rules);
    let mut writer = FilterWriter { program: BpfAssembler::default(), emitted_rules: Vec::new() };
    let found = writer.search(&ranges(&policy));
    let program = &mut writer.program;
    let absent = program.emit_return(return_value(SyscallAction::Fail(libc::ENOSYS)));
    let allowed = program.emit_return(return_value(SyscallAction::Allow));
    // Numbers above the last include all calls of the x32 architecture, which has the same name but a bit set.
    let unknown = program.emit_branch(BpfCondition::Is(SKIPPED_CALL), allowed, absent);
    let known = program.emit_branch(BpfCondition::Above(LAST_SYSCALL), unknown, found);
    let number = program.emit_load(NR_OFFSET, known);
    let ours = program.emit_branch(BpfCondition::Is(arch::NAME), number, absent);
    let start = program.emit_load(ARCH_OFFSET, ours);
    writer.program.finish(start)
}

/// System calls from this number up to the start of the next range, and their rules.
type SyscallRange<'a> = (u32, &'a [SyscallRule]);

/// Covers all numbers from 0 on; neighbouring ranges differ in their rules.
fn ranges(policy: &FilterTable) -> Vec<SyscallRange<'_>> {
    let mut ranges: Vec<SyscallRange<'_>> = vec![(0, &[])];
    let mut next = 0;
    for (&(number, _), rules) in policy {
        let gap: Option<SyscallRange<'_>> = (number > next).then_some((next, &[]));
        for range in gap.into_iter().chain([(number, rules.as_slice())]) {
            if ranges.last().is_none_or(|last| last.1 != range.1) {
                ranges.push(range);
            }
        }
        next = number + 1;
    }
    if ranges.last().is_none_or(|last| !last.1.is_empty()) {
        ranges.push((next, &[]));
    }
    ranges
}

struct FilterWriter<'a> {
    program: BpfAssembler,
    /// Rules that are already emitted, for reuse by calls with equal rules.
    emitted_rules: Vec<(&'a [SyscallRule], BpfLabel)>,
}

impl<'a> FilterWriter<'a> {
    /// Emits a binary search for the range of the loaded number, and its rules.
    fn search(&mut self, ranges: &[SyscallRange<'a>]) -> BpfLabel {
        match ranges {
            [] => self.emit_rules(&[]),
            [(_, rules)] => self.emit_rules(rules),
            _ => {
                let (below, above) = ranges.split_at(ranges.len() / 2);
                let (yes, no) = (self.search(above), self.search(below));
                self.program.emit_branch(BpfCondition::AtLeast(above[0].0), yes, no)
            }
        }
    }

    fn emit_rules(&mut self, rules: &'a [SyscallRule]) -> BpfLabel {
        if let Some(&(_, there)) = self.emitted_rules.iter().find(|(written, _)| *written == rules) {
            return there;
        }
        let mut next = self.emit_action(SyscallAction::Allow);
        for rule in rules.iter().rev() {
            let mut holds = self.emit_action(rule.action);
            for &condition in rule.conditions.iter().rev() {
                holds = self.emit_condition(condition, holds, next);
            }
            next = holds;
        }
        self.emitted_rules.push((rules, next));
        next
    }

    fn emit_action(&mut self, action: SyscallAction) -> BpfLabel {
        self.program.emit_return(return_value(action))
    }

    fn emit_condition(&mut self, condition: ArgCondition, yes: BpfLabel, no: BpfLabel) -> BpfLabel {
        match condition {
            ArgCondition::Has { word, bits } => {
                let asked = self.program.emit_branch(BpfCondition::Has(bits), yes, no);
                self.program.emit_load(offset(word), asked)
            }
            ArgCondition::Is { word, mask, value } => {
                let asked = self.program.emit_branch(BpfCondition::Is(value), yes, no);
                let masked = if mask == u32::MAX { asked } else { self.program.emit_mask(mask, asked) };
                self.program.emit_load(offset(word), masked)
            }
        }
    }
}

fn return_value(action: SyscallAction) -> u32 {
    match action {
        SyscallAction::Allow => libc::SECCOMP_RET_ALLOW,
        SyscallAction::Fail(errno) => libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(),
        SyscallAction::Notify => libc::SECCOMP_RET_USER_NOTIF,
    }
}

/// Returns the offset of a half of an argument. Both architectures store the low half first.
fn offset(word: ArgWord) -> u32 {
    match word {
        ArgWord::Low(argument) => ARGS_OFFSET + 8 * u32::from(argument),
        ArgWord::High(argument) => ARGS_OFFSET + 8 * u32::from(argument) + 4,
    }
}
