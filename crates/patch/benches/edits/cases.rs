//! Benchmark cases: each is generated from its number, and judged by the engine's result.

use std::panic::{AssertUnwindSafe, catch_unwind};

use similar::{ChangeTag, TextDiff};
use toolgate_patch::{MemoryTree, PatchPlan, parse};

use crate::case_draft::{CaseDraft, CaseGoal, DraftFormat, LineSign};
use crate::damage::{DamageKind, KINDS};
use crate::place_evidence::{PlaceEvidence, is_exact, weigh_evidence};
use crate::revisions::FileRevision;
use crate::seeded_random::CaseRandom;
use crate::{hunk_headers, patch_text};

/// The maximum number of attempts to draw a change that the damage can be applied to.
const TRIES: usize = 400;

/// A patch, a file, and the expected result.
pub(crate) struct EditCase {
    pub(crate) kind: DamageKind,
    pub(crate) draft: CaseDraft,
    pub(crate) patch: String,
    pub(crate) evidence: PlaceEvidence,
}

/// The verdict on a case.
pub(crate) enum CaseVerdict {
    Right,
    /// The patch was refused for this reason.
    Refused(String),
    /// The file wrongly became this.
    Wrong(Vec<u8>),
}

/// The verdict on applying a patch again that had landed right.
pub(crate) enum ReapplyVerdict {
    /// The patch was reported as already applied.
    Done,
    /// The patch was refused for this reason.
    Refused(String),
    /// The patch changed the file once more.
    Changed,
}

/// The engine's result.
enum EngineOutcome {
    Refused(String),
    Became(Vec<u8>),
    /// A failure that must never happen, such as a panic.
    Astray(&'static [u8]),
}

pub(crate) struct CaseMaker<'a> {
    pub(crate) histories: &'a [Vec<FileRevision>],
    pub(crate) seed: u64,
}

impl CaseMaker<'_> {
    /// Generates the case of this number, which is always the same.
    pub(crate) fn case(&self, number: usize) -> Option<EditCase> {
        let shares: usize = KINDS.iter().map(|kind| kind.share).sum();
        let mut share = number % shares;
        let kind = KINDS.iter().find(|kind| {
            let here = share < kind.share;
            share = share.saturating_sub(kind.share);
            here
        })?;
        let mut chance = CaseRandom::new(self.seed, number);
        (0..TRIES).find_map(|_| self.attempt(*kind, &mut chance))
    }

    fn attempt(&self, kind: DamageKind, chance: &mut CaseRandom) -> Option<EditCase> {
        let history = &self.histories[chance.below(self.histories.len())];
        let revision = &history[chance.below(history.len())];
        let format = chance.pick(kind.formats)?;
        let mut draft = CaseDraft::from_revision(revision, format, chance)?;
        hunk_headers::add_headers(&mut draft, chance);
        if !(kind.harm)(&mut draft, chance) {
            return None;
        }
        // A blank line at the end of a text shows only by its newline.
        let last = |without: LineSign| draft.parts.last()?.lines.iter().rfind(|said| said.sign != without);
        draft.manner.ended |=
            [LineSign::Add, LineSign::Drop].into_iter().filter_map(last).any(|said| said.text.is_empty());
        if !is_sound(&draft) {
            return None;
        }
        let evidence = weigh_evidence(&draft);
        let patch = patch_text::format_patch(&draft);
        (evidence != PlaceEvidence::Misleading).then_some(EditCase { kind, draft, patch, evidence })
    }
}

/// Returns true if the patch expresses the intended change.
fn is_sound(draft: &CaseDraft) -> bool {
    if draft.manner.format != DraftFormat::Replace {
        return true;
    }
    let says = |without: LineSign| {
        let mut lines = draft.parts.iter().flat_map(|part| &part.lines).filter(|said| said.sign != without);
        lines.any(|said| !said.text.trim().is_empty())
    };
    says(LineSign::Add) && says(LineSign::Drop) && (is_exact(draft) || is_restated(draft))
}

/// Returns true if the line diff of the two texts equals the change. Texts do not say which lines are context. If they
/// differ and are damaged, their own diff is as valid as the change.
fn is_restated(draft: &CaseDraft) -> bool {
    let lines: Vec<(LineSign, &str)> =
        draft.parts.iter().flat_map(|part| &part.lines).map(|said| (said.sign, said.text.as_str())).collect();
    let side = |without: LineSign| {
        lines.iter().filter(|(sign, _)| *sign != without).map(|(_, text)| *text).collect()
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (side(LineSign::Add), side(LineSign::Drop));
    let diff = TextDiff::from_slices(&old, &new);
    let restated: Vec<(LineSign, &str)> = diff
        .iter_all_changes()
        .map(|change| match change.tag() {
            ChangeTag::Equal => (LineSign::Keep, change.value()),
            ChangeTag::Delete => (LineSign::Drop, change.value()),
            ChangeTag::Insert => (LineSign::Add, change.value()),
        })
        .collect();
    restated == lines
}

impl EditCase {
    pub(crate) fn is_recoverable(&self) -> bool {
        self.evidence == PlaceEvidence::Enough
    }

    pub(crate) fn is_unified(&self) -> bool {
        self.draft.manner.format == DraftFormat::Unified
    }

    /// Plans the patch and judges the result. If it is right, also judges applying the patch again.
    pub(crate) fn judge(&self) -> (CaseVerdict, Option<ReapplyVerdict>) {
        let file = self.draft.file();
        match self.outcome(&file) {
            EngineOutcome::Refused(why) => (self.verdict_if_refused(why), None),
            EngineOutcome::Astray(what) => (CaseVerdict::Wrong(what.to_vec()), None),
            EngineOutcome::Became(bytes) => match self.verdict_if_changed(&file, &bytes) {
                CaseVerdict::Right => {
                    let again = match self.outcome(&bytes) {
                        EngineOutcome::Became(after) if after == bytes => ReapplyVerdict::Done,
                        EngineOutcome::Became(_) | EngineOutcome::Astray(_) => ReapplyVerdict::Changed,
                        EngineOutcome::Refused(why) => ReapplyVerdict::Refused(why),
                    };
                    (CaseVerdict::Right, Some(again))
                }
                verdict => (verdict, None),
            },
        }
    }

    /// Applies the patch to `file`.
    fn outcome(&self, file: &[u8]) -> EngineOutcome {
        let tree = MemoryTree::from_files([(self.draft.path.clone(), file.to_vec())]);
        let planned = catch_unwind(AssertUnwindSafe(|| {
            let patch = parse(&self.patch).map_err(|syntax| format!("syntax: {syntax}"))?;
            PatchPlan::build(&patch, &tree).map_err(|failure| failure.to_string())
        }));
        match planned {
            Err(_) => EngineOutcome::Astray(b"it panicked"),
            Ok(Err(why)) => EngineOutcome::Refused(why),
            Ok(Ok(plan)) => match plan.changes.as_slice() {
                [] => EngineOutcome::Became(file.to_vec()),
                [change] if change.path == self.draft.path => EngineOutcome::Became(
                    change.after.as_ref().map_or(Vec::new(), |after| after.bytes.to_vec()),
                ),
                _ => EngineOutcome::Astray(b"it changed another file"),
            },
        }
    }

    /// Returns the verdict if the patch is refused.
    pub(crate) fn verdict_if_refused(&self, why: String) -> CaseVerdict {
        if self.draft.goal == CaseGoal::Refused { CaseVerdict::Right } else { CaseVerdict::Refused(why) }
    }

    /// Returns the verdict if `file` became `bytes`.
    pub(crate) fn verdict_if_changed(&self, file: &[u8], bytes: &[u8]) -> CaseVerdict {
        let right = match self.draft.goal {
            CaseGoal::Lands => self.draft.accepts(bytes),
            CaseGoal::Refused => false,
            CaseGoal::Already => bytes == file,
        };
        if right { CaseVerdict::Right } else { CaseVerdict::Wrong(bytes.to_vec()) }
    }
}
