//! Measures what each part of the engine buys: judges every case again without each part that it reaches.

use std::fmt::Write;

use toolgate_patch::{EnginePart, switches};

use crate::cases::{CaseVerdict, EditCase, ReapplyVerdict};

/// The verdicts on the cases of a run, by number.
#[derive(Clone, Copy, Default, PartialEq)]
struct VerdictCounts {
    right: isize,
    refused: isize,
    wrong: isize,
    recognised: isize,
    changed_again: isize,
}

impl VerdictCounts {
    fn from_verdict((verdict, again): (&CaseVerdict, Option<&ReapplyVerdict>)) -> Self {
        let one = isize::from;
        Self {
            right: one(matches!(verdict, CaseVerdict::Right)),
            refused: one(matches!(verdict, CaseVerdict::Refused(_))),
            wrong: one(matches!(verdict, CaseVerdict::Wrong(_))),
            recognised: one(matches!(again, Some(ReapplyVerdict::Done))),
            changed_again: one(matches!(again, Some(ReapplyVerdict::Changed))),
        }
    }

    fn add(&mut self, sign: isize, other: Self) {
        self.right += sign * other.right;
        self.refused += sign * other.refused;
        self.wrong += sign * other.wrong;
        self.recognised += sign * other.recognised;
        self.changed_again += sign * other.changed_again;
    }
}

/// The difference that one part makes.
#[derive(Clone, Copy, Default)]
struct PartEffect {
    /// The number of cases that reach the part, and of those that end differently without it.
    reached: usize,
    differs: usize,
    /// The counts without the part, minus the counts with it.
    without: VerdictCounts,
}

/// The effects of all parts.
pub(crate) struct AblationReport(Vec<PartEffect>);

impl Default for AblationReport {
    fn default() -> Self {
        switches::take_consulted();
        Self(vec![PartEffect::default(); EnginePart::ALL.len()])
    }
}

impl AblationReport {
    /// Judges `case` without each part that it has just reached, and compares with its verdict.
    pub(crate) fn count(&mut self, case: &EditCase, verdict: (&CaseVerdict, Option<&ReapplyVerdict>)) {
        let with = VerdictCounts::from_verdict(verdict);
        for part in switches::take_consulted() {
            switches::switch_off(Some(part));
            let (verdict, again) = case.judge();
            let without = VerdictCounts::from_verdict((&verdict, again.as_ref()));
            let effect = &mut self.0[part as usize];
            effect.reached += 1;
            effect.differs += usize::from(without != with);
            effect.without.add(1, without);
            effect.without.add(-1, with);
        }
        switches::switch_off(None);
        switches::take_consulted();
    }

    /// Formats the differences as a table.
    pub(crate) fn table(&self) -> String {
        let mut table = "| without | reached | ends differently | landed right | refused | landed wrong \
                         | recognised as applied | changed once more |\n\
                         |---|--:|--:|--:|--:|--:|--:|--:|"
            .to_owned();
        for (part, PartEffect { reached, differs, without }) in EnginePart::ALL.iter().zip(&self.0) {
            let VerdictCounts { right, refused, wrong, recognised, changed_again } = without;
            let _ = write!(
                table,
                "\n| {} | {reached} | {differs} | {right:+} | {refused:+} | {wrong:+} | {recognised:+} | {changed_again:+} |",
                part.name()
            );
        }
        table
    }
}
