//! Counts the verdicts and prints them as tables.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::case_draft::{CaseGoal, DraftFormat};
use crate::cases::{CaseVerdict, EditCase, ReapplyVerdict};
use crate::damage::{KINDS, NONE};

/// The numbers of cases by verdict.
#[derive(Default, Clone, Copy)]
pub(crate) struct CaseCounts {
    cases: usize,
    right: usize,
    refused: usize,
    wrong: usize,
    recoverable: usize,
    recovered: usize,
}

impl CaseCounts {
    pub(crate) fn add(&mut self, case: &EditCase, verdict: &CaseVerdict) {
        self.cases += 1;
        self.recoverable += usize::from(case.is_recoverable());
        match verdict {
            CaseVerdict::Right => {
                self.right += 1;
                self.recovered += usize::from(case.is_recoverable());
            }
            CaseVerdict::Refused(_) => self.refused += 1,
            CaseVerdict::Wrong(_) => self.wrong += 1,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            cases: self.cases + other.cases,
            right: self.right + other.right,
            refused: self.refused + other.refused,
            wrong: self.wrong + other.wrong,
            recoverable: self.recoverable + other.recoverable,
            recovered: self.recovered + other.recovered,
        }
    }

    /// Formats a row of a table.
    pub(crate) fn row(&self, name: &str) -> String {
        let share = match self.recoverable {
            0 => "–".to_owned(),
            some => {
                let tenths = 1000 * self.recovered / some;
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        };
        let Self { cases, right, refused, wrong, recoverable, recovered } = self;
        let wrong = if *wrong == 0 { "0".to_owned() } else { format!("**{wrong}**") };
        format!(
            "| {name} | {cases} | {right} | {refused} | {wrong} | {recoverable} | {recovered} | {share} |"
        )
    }
}

/// Formats the head of a table with rows by `of`.
pub(crate) fn table_head(of: &str) -> String {
    format!(
        "| {of} | cases | landed right | refused | landed wrong | recoverable | of these right | right % |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|"
    )
}

/// Counts by kind of damage and by format.
#[derive(Default)]
pub(crate) struct EditBenchReport {
    kinds: BTreeMap<&'static str, CaseCounts>,
    formats: BTreeMap<&'static str, CaseCounts>,
    /// Patches that landed right and were applied again: the numbers recognised, refused, and applied once more.
    again: [usize; 3],
    /// The planning time and number of each case.
    pub(crate) times: Vec<(Duration, usize)>,
    /// The number of case numbers without a case.
    pub(crate) left_out: usize,
}

impl EditBenchReport {
    pub(crate) fn count(&mut self, case: &EditCase, verdict: &CaseVerdict) {
        self.kinds.entry(case.kind.name).or_default().add(case, verdict);
        let format = match case.draft.manner.format {
            DraftFormat::Envelope => "envelope",
            DraftFormat::Unified => "unified",
            DraftFormat::Replace => "search and replace",
        };
        if case.draft.goal == CaseGoal::Lands {
            self.formats.entry(format).or_default().add(case, verdict);
        }
    }

    pub(crate) fn count_again(&mut self, again: Option<&ReapplyVerdict>) {
        match again {
            Some(ReapplyVerdict::Done) => self.again[0] += 1,
            Some(ReapplyVerdict::Refused(_)) => self.again[1] += 1,
            Some(ReapplyVerdict::Changed) => self.again[2] += 1,
            None => {}
        }
    }

    /// Returns the number of cases that landed wrong.
    pub(crate) fn wrong(&self) -> usize {
        self.kinds.values().map(|count| count.wrong).sum()
    }

    pub(crate) fn print(&mut self) {
        println!("\n{}", self.table());
        let [known, refused, changed] = self.again;
        println!(
            "\nOf those that landed right, applied again: {known} said to be applied already, {refused} refused, {changed} changed the file once more."
        );
        self.times.sort();
        let at = |share: usize| self.times.get(self.times.len() * share / 100).copied().unwrap_or_default().0;
        let (most, slowest) = self.times.last().copied().unwrap_or_default();
        let (half, nearly_all) = (at(50), at(99));
        println!(
            "\nPlanning took {half:.0?} in the median, {nearly_all:.1?} for 99 of 100, {most:.0?} at most (case {slowest})."
        );
        if self.left_out > 0 {
            println!("For {} numbers no change was found that the damage could be done to.", self.left_out);
        }
    }

    /// Formats the counts by kind, with sums.
    pub(crate) fn table(&self) -> String {
        let mut rows = vec![table_head("damage")];
        let (mut damaged, mut all) = (CaseCounts::default(), CaseCounts::default());
        for kind in KINDS {
            let Some(count) = self.kinds.get(kind.name) else { continue };
            rows.push(count.row(kind.name));
            all = all.plus(*count);
            if kind.name != NONE {
                damaged = damaged.plus(*count);
            }
        }
        let undamaged = self.kinds.get(NONE).copied().unwrap_or_default();
        rows.push(undamaged.row("**undamaged**"));
        rows.push(damaged.row("**damaged**"));
        rows.push(all.row("**all**"));
        rows.push(format!("\n{}", table_head("format")));
        rows.extend(self.formats.iter().map(|(name, count)| count.row(name)));
        rows.join("\n")
    }
}
