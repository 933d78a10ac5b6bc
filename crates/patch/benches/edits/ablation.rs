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

/// The effects of the parts to measure.
pub(crate) struct AblationReport(Vec<(EnginePart, PartEffect)>);

impl AblationReport {
    pub(crate) fn from_parts(parts: &[EnginePart]) -> Self {
        switches::take_consulted();
        Self(parts.iter().map(|part| (*part, PartEffect::default())).collect())
    }

    /// Judges case `number` without each part that it has just reached, and compares with its verdict.
    pub(crate) fn count(
        &mut self,
        number: usize,
        case: &EditCase,
        verdict: (&CaseVerdict, Option<&ReapplyVerdict>),
    ) {
        let with = VerdictCounts::from_verdict(verdict);
        let reached = switches::take_consulted();
        for (part, effect) in self.0.iter_mut().filter(|(part, _)| reached.contains(part)) {
            switches::switch_off(Some(*part));
            let (verdict, again) = case.judge();
            let without = VerdictCounts::from_verdict((&verdict, again.as_ref()));
            if without.wrong > with.wrong || without.changed_again > with.changed_again {
                println!("case {number} goes wrong without {}", part.name());
            }
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
        for (part, PartEffect { reached, differs, without }) in &self.0 {
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

/// Returns the parts whose names contain `name`.
pub(crate) fn parts_named(name: &str) -> Result<Vec<EnginePart>, String> {
    let parts: Vec<_> = EnginePart::ALL.iter().copied().filter(|part| part.name().contains(name)).collect();
    if parts.is_empty() { Err(format!("no part is named {name}")) } else { Ok(parts) }
}
