//! Benchmark cases: each is generated from its number, and judged by the engine's result.

use std::panic::{AssertUnwindSafe, catch_unwind};

use similar::{ChangeTag, TextDiff};
use toolgate_patch::{Memory, Plan, parse};

use crate::chance::Chance;
use crate::damage::{KINDS, Kind};
use crate::draft::{Draft, Format, Goal, Sign};
use crate::evidence::{Evidence, is_exact, weigh};
use crate::histories::Revision;
use crate::{headers, patches};

/// The maximum number of attempts to draw a change that the damage can be applied to.
const TRIES: usize = 400;

/// A patch, a file, and the expected result.
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) draft: Draft,
    pub(crate) patch: String,
    pub(crate) evidence: Evidence,
}

/// The verdict on a case.
pub(crate) enum Verdict {
    Right,
    /// The patch was refused for this reason.
    Refused(String),
    /// The file wrongly became this.
    Wrong(Vec<u8>),
}

/// The verdict on applying a patch again that had landed right.
pub(crate) enum Again {
    /// The patch was reported as already applied.
    Done,
    /// The patch was refused for this reason.
    Refused(String),
    /// The patch changed the file once more.
    Changed,
}

/// The engine's result.
enum Outcome {
    Refused(String),
    Became(Vec<u8>),
    /// A failure that must never happen, such as a panic.
    Astray(&'static [u8]),
}

pub(crate) struct Maker<'a> {
    pub(crate) histories: &'a [Vec<Revision>],
    pub(crate) seed: u64,
}

impl Maker<'_> {
    /// Generates the case of this number, which is always the same.
    pub(crate) fn case(&self, number: usize) -> Option<Case> {
        let shares: usize = KINDS.iter().map(|kind| kind.share).sum();
        let mut share = number % shares;
        let kind = KINDS.iter().find(|kind| {
            let here = share < kind.share;
            share = share.saturating_sub(kind.share);
            here
        })?;
        let mut chance = Chance::of(self.seed, number);
        (0..TRIES).find_map(|_| self.attempt(*kind, &mut chance))
    }

    fn attempt(&self, kind: Kind, chance: &mut Chance) -> Option<Case> {
        let history = &self.histories[chance.below(self.histories.len())];
        let revision = &history[chance.below(history.len())];
        let format = chance.of_these(kind.formats)?;
        let mut draft = Draft::of(revision, format, chance)?;
        headers::give(&mut draft, chance);
        if !(kind.harm)(&mut draft, chance) {
            return None;
        }
        // A blank line at the end of a text shows only by its newline.
        let last = |without: Sign| draft.parts.last()?.lines.iter().rfind(|said| said.sign != without);
        draft.manner.ended |=
            [Sign::Add, Sign::Drop].into_iter().filter_map(last).any(|said| said.text.is_empty());
        if !is_sound(&draft) {
            return None;
        }
        let evidence = weigh(&draft);
        let patch = patches::text(&draft);
        (evidence != Evidence::Misleading).then_some(Case { kind, draft, patch, evidence })
    }
}

/// Returns true if the patch expresses the intended change.
fn is_sound(draft: &Draft) -> bool {
    if draft.manner.format != Format::Replace {
        return true;
    }
    let says = |without: Sign| {
        let mut lines = draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.sign != without);
        lines.any(|said| !said.text.trim().is_empty())
    };
    says(Sign::Add) && says(Sign::Drop) && (is_exact(draft) || is_restated(draft))
}

/// Returns true if the line diff of the two texts equals the change. Texts do not say which lines are context. If they
/// differ and are damaged, their own diff is as valid as the change.
fn is_restated(draft: &Draft) -> bool {
    let lines: Vec<(Sign, &str)> =
        draft.parts.iter().flat_map(|part| &part.lines).map(|said| (said.sign, said.text.as_str())).collect();
    let side =
        |without: Sign| lines.iter().filter(|(sign, _)| *sign != without).map(|(_, text)| *text).collect();
    let (old, new): (Vec<&str>, Vec<&str>) = (side(Sign::Add), side(Sign::Drop));
    let diff = TextDiff::from_slices(&old, &new);
    let restated: Vec<(Sign, &str)> = diff
        .iter_all_changes()
        .map(|change| match change.tag() {
            ChangeTag::Equal => (Sign::Keep, change.value()),
            ChangeTag::Delete => (Sign::Drop, change.value()),
            ChangeTag::Insert => (Sign::Add, change.value()),
        })
        .collect();
    restated == lines
}

impl Case {
    pub(crate) fn is_recoverable(&self) -> bool {
        self.evidence == Evidence::Enough
    }

    pub(crate) fn is_unified(&self) -> bool {
        self.draft.manner.format == Format::Unified
    }

    /// Plans the patch and judges the result. If it is right, also judges applying the patch again.
    pub(crate) fn judge(&self) -> (Verdict, Option<Again>) {
        let file = self.draft.file();
        match self.outcome(&file) {
            Outcome::Refused(why) => (self.refused(why), None),
            Outcome::Astray(what) => (Verdict::Wrong(what.to_vec()), None),
            Outcome::Became(bytes) => match self.became(&file, &bytes) {
                Verdict::Right => {
                    let again = match self.outcome(&bytes) {
                        Outcome::Became(after) if after == bytes => Again::Done,
                        Outcome::Became(_) | Outcome::Astray(_) => Again::Changed,
                        Outcome::Refused(why) => Again::Refused(why),
                    };
                    (Verdict::Right, Some(again))
                }
                verdict => (verdict, None),
            },
        }
    }

    /// Applies the patch to `file`.
    fn outcome(&self, file: &[u8]) -> Outcome {
        let tree = Memory::of([(self.draft.path.clone(), file.to_vec())]);
        let planned = catch_unwind(AssertUnwindSafe(|| {
            let patch = parse(&self.patch).map_err(|syntax| format!("syntax: {syntax}"))?;
            Plan::of(&patch, &tree).map_err(|failure| failure.to_string())
        }));
        match planned {
            Err(_) => Outcome::Astray(b"it panicked"),
            Ok(Err(why)) => Outcome::Refused(why),
            Ok(Ok(plan)) => match plan.changes.as_slice() {
                [] => Outcome::Became(file.to_vec()),
                [change] if change.path == self.draft.path => {
                    Outcome::Became(change.after.as_ref().map_or(Vec::new(), |after| after.bytes.to_vec()))
                }
                _ => Outcome::Astray(b"it changed another file"),
            },
        }
    }

    /// Returns the verdict if the patch is refused.
    pub(crate) fn refused(&self, why: String) -> Verdict {
        if self.draft.goal == Goal::Refused { Verdict::Right } else { Verdict::Refused(why) }
    }

    /// Returns the verdict if `file` became `bytes`.
    pub(crate) fn became(&self, file: &[u8], bytes: &[u8]) -> Verdict {
        let right = match self.draft.goal {
            Goal::Lands => self.draft.accepts(bytes),
            Goal::Refused => false,
            Goal::Already => bytes == file,
        };
        if right { Verdict::Right } else { Verdict::Wrong(bytes.to_vec()) }
    }
}
