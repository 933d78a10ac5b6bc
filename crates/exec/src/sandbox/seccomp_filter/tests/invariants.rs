//! Invariants of the filter that hold for all rules and all calls.

use std::collections::BTreeSet;

use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::super::super::bpf::interpreter::{SeccompCall, is_valid, run};
use super::super::filter_table::{
    ArgCondition, ArgWord, FilterTable, SyscallAction, SyscallRule, filter_table,
};
use super::super::syscalls::{LAST_SYSCALL, arch};
use super::super::{FilterRules, compile_filter, return_value};
use super::{ALLOW, FULL};

/// Interprets the table directly.
fn by_table(policy: &FilterTable, told: &SeccompCall) -> SyscallAction {
    if told.number > LAST_SYSCALL {
        return if told.number == u32::MAX {
            SyscallAction::Allow
        } else {
            SyscallAction::Fail(libc::ENOSYS)
        };
    }
    let of_call = policy.range((told.number, "")..).next().filter(|(call, _)| call.0 == told.number);
    let rules = of_call.map_or(&[][..], |(_, rules)| rules);
    let fits = |rule: &&SyscallRule| rule.conditions.iter().all(|&condition| holds(condition, told));
    rules.iter().find(fits).map_or(SyscallAction::Allow, |rule| rule.action)
}

#[expect(clippy::cast_possible_truncation, reason = "a word is one half of an argument")]
fn holds(condition: ArgCondition, told: &SeccompCall) -> bool {
    let read = |word| match word {
        ArgWord::Low(argument) => told.args[usize::from(argument)] as u32,
        ArgWord::High(argument) => (told.args[usize::from(argument)] >> 32) as u32,
    };
    match condition {
        ArgCondition::Is { word, mask, value } => read(word) & mask == value,
        ArgCondition::Has { word, bits } => read(word) & bits != 0,
    }
}

fn any_rules() -> impl Strategy<Value = FilterRules> {
    any::<[bool; 7]>().prop_map(|[inet, own_network, namespaces, landlock, root, brokered, recorded]| {
        FilterRules { inet, own_network, namespaces, landlock, root, brokered, notifies_writes: recorded }
    })
}

/// Mostly numbers that some rule tests: small ones and single bits, in either half.
fn any_argument() -> impl Strategy<Value = u64> {
    any::<u64>().prop_map(|seed| {
        let (kind, bits) = (seed & 7, seed >> 3);
        match kind {
            0..4 => bits % 20,
            4 => (bits % 20) | ((bits >> 8) << 32),
            5 | 6 => 1 << (bits % 64),
            _ => bits,
        }
    })
}

fn any_calls() -> impl Strategy<Value = Vec<SeccompCall>> {
    let strictest =
        FilterRules { namespaces: false, landlock: false, root: true, notifies_writes: true, ..FULL };
    let ruled: Vec<u32> = filter_table(strictest).keys().map(|call| call.0).collect();
    let number = prop_oneof![8 => proptest::sample::select(ruled), 4 => 0..=LAST_SYSCALL, 1 => any::<u32>()];
    let call = (number, proptest::array::uniform6(any_argument()));
    proptest::collection::vec(
        call.prop_map(|(number, args)| SeccompCall { number, arch: arch::NAME, args }),
        1..64,
    )
}

/// Returns `rules` made stricter in one way each.
fn stricter(rules: FilterRules) -> [FilterRules; 6] {
    [
        FilterRules { inet: false, ..rules },
        FilterRules { own_network: false, ..rules },
        FilterRules { namespaces: false, ..rules },
        FilterRules { landlock: false, ..rules },
        FilterRules { root: true, ..rules },
        FilterRules { notifies_writes: true, ..rules },
    ]
}

proptest! {
    #[test]
    fn the_program_says_what_the_table_says(rules in any_rules(), calls in any_calls()) {
        let (program, policy) = (compile_filter(rules), filter_table(rules));
        for told in calls {
            prop_assert_eq!(run(&program, &told).answer, return_value(by_table(&policy, &told)), "{:x?}", told);
        }
    }

    #[test]
    fn stricter_rules_allow_nothing_new(rules in any_rules(), calls in any_calls()) {
        let (program, stricter) = (compile_filter(rules), stricter(rules).map(compile_filter));
        for told in calls {
            if run(&program, &told).answer != ALLOW {
                let allows = stricter.iter().position(|program| run(program, &told).answer == ALLOW);
                prop_assert_eq!(allows, None, "{:x?}", told);
            }
        }
    }

    #[test]
    fn a_supervisor_changes_only_sockets(rules in any_rules(), calls in any_calls()) {
        let changed = [
            libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg,
        ];
        let [without, with] = [false, true].map(|brokered| compile_filter(FilterRules { brokered, ..rules }));
        for told in calls.iter().filter(|told| !changed.contains(&told.number.into())) {
            prop_assert_eq!(run(&without, told).answer, run(&with, told).answer, "{:x?}", told);
        }
    }
}

/// All 128 combinations.
fn all_rules() -> impl Iterator<Item = FilterRules> {
    (0..128_u8).map(|bits| FilterRules {
        inet: bits & 1 != 0,
        namespaces: bits & 2 != 0,
        landlock: bits & 4 != 0,
        root: bits & 8 != 0,
        brokered: bits & 16 != 0,
        notifies_writes: bits & 32 != 0,
        own_network: bits & 64 != 0,
    })
}

#[test]
fn every_program_is_sound_and_answers_every_number() {
    for rules in all_rules() {
        let (program, policy) = (compile_filter(rules), filter_table(rules));
        assert!(is_valid(&program), "{rules:?}");
        assert!(program.len() < 400, "{rules:?}: {} instructions", program.len());
        for number in 0..600 {
            let told = SeccompCall { number, arch: arch::NAME, args: [0; 6] };
            let answer = run(&program, &told).answer;
            assert_eq!(answer, return_value(by_table(&policy, &told)), "{number} under {rules:?}");
        }
    }
}

#[test]
fn no_number_has_two_names() {
    for rules in all_rules() {
        let policy = filter_table(rules);
        let numbers: BTreeSet<u32> = policy.keys().map(|call| call.0).collect();
        assert_eq!(numbers.len(), policy.len());
    }
}
