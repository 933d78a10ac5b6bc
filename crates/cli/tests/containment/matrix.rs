//! Compares the outcome of each case with the expected one, and prints all cases as one table.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::suite::case::{AttackCase, ExpectedOutcome};
use crate::suite::case_host::CaseUser;
use crate::suite::cases;
use crate::suite::run::CaseOutcome;
use crate::suite::tier::CaseTier;

/// The result of a case in a tier, for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixCell {
    Holds,
    Refused,
    /// An expected gap.
    Gap(&'static str),
    /// An unexpected breach.
    Breach,
    Broken,
    /// A gap of the table that is closed in fact.
    Closed,
    /// The attack shows nothing even without a sandbox.
    Inert,
    NotRun,
}

impl MatrixCell {
    pub(crate) fn from_outcome(expected: ExpectedOutcome, outcome: &CaseOutcome) -> Self {
        match (expected, outcome) {
            (_, CaseOutcome::Inert(_)) => Self::Inert,
            (ExpectedOutcome::Not(_), _) => Self::NotRun,
            (ExpectedOutcome::Refuses, CaseOutcome::Refused(_)) => Self::Refused,
            (ExpectedOutcome::Refuses, CaseOutcome::Held) => Self::Broken,
            (ExpectedOutcome::Gap(_), CaseOutcome::Held) => Self::Closed,
            (ExpectedOutcome::Gap(why), CaseOutcome::Breached(_) | CaseOutcome::Broken(_)) => Self::Gap(why),
            (ExpectedOutcome::Holds, CaseOutcome::Held) => Self::Holds,
            (ExpectedOutcome::Holds | ExpectedOutcome::Refuses, CaseOutcome::Breached(_)) => Self::Breach,
            (ExpectedOutcome::Holds | ExpectedOutcome::Gap(_), CaseOutcome::Refused(_)) => Self::Broken,
            (ExpectedOutcome::Holds | ExpectedOutcome::Refuses, CaseOutcome::Broken(_)) => Self::Broken,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refused => "refused",
            Self::Gap(_) => "gap",
            Self::Breach => "BREACH",
            Self::Broken => "BROKEN",
            Self::Closed => "CLOSED",
            Self::Inert => "inert",
            Self::NotRun => "-",
        }
    }
}

type MatrixColumn = (CaseTier, CaseUser);
static NOTES: Mutex<BTreeMap<(&str, CaseTier, CaseUser), MatrixCell>> = Mutex::new(BTreeMap::new());
/// With fewer cases, a table adds nothing to the lines above it.
const FEW: usize = 20;

pub(crate) fn note(case: &'static AttackCase, tier: CaseTier, user: CaseUser, cell: MatrixCell) {
    NOTES.lock().insert((case.id, tier, user), cell);
}

/// Prints the recorded results, then every gap with its reason.
pub(crate) fn print() {
    let notes = NOTES.lock();
    if notes.len() < FEW {
        return;
    }
    let columns: Vec<MatrixColumn> = CaseTier::ALL
        .iter()
        .flat_map(|&tier| CaseUser::all().iter().map(move |&user| (tier, user)))
        .collect();
    let head: String = columns
        .iter()
        .map(|(tier, user)| format!("{:<12}", format!("{}:{}", &tier.name()[..4], user.name())))
        .collect();
    println!("{:<64}{head}", "case");
    for case in cases::all() {
        let cells: Vec<Option<&MatrixCell>> =
            columns.iter().map(|&(tier, user)| notes.get(&(case.id, tier, user))).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let title: String = format!("{} {}", case.id, case.title).chars().take(62).collect();
        let row: String =
            cells.iter().map(|cell| format!("{:<12}", cell.map_or("", |cell| cell.word()))).collect();
        println!("{title:<64}{}", row.trim_end());
    }
    println!();
    for (tier, user) in columns {
        let of = |(key, _): &(&(&str, CaseTier, CaseUser), &MatrixCell)| key.1 == tier && key.2 == user;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        notes.iter().filter(of).for_each(|(_, cell)| *counts.entry(cell.word()).or_default() += 1);
        let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        println!("{:>10} as {:<7} {}", tier.name(), user.name(), counts.join(", "));
    }
    println!("\ngaps:");
    for tier in CaseTier::ALL {
        let mut gaps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for ((id, at, _), cell) in notes.iter() {
            if let (MatrixCell::Gap(why), true) = (cell, *at == tier) {
                let ids = gaps.entry(why).or_default();
                if !ids.contains(id) {
                    ids.push(id);
                }
            }
        }
        for (why, ids) in gaps {
            println!("{:>10}  {why}: {}", tier.name(), ids.join(" "));
        }
    }
}
