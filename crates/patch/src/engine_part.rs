//! Names the parts of the engine that the edit benchmark switches off, one at a time, to measure each.
//!
//! Only the feature `ablation` has switches. Without it, `is_on` is the constant `true`.

/// Declares [`EnginePart`] with one variant for each part and its name in the benchmark's table.
macro_rules! engine_parts {
    ($($part:ident $name:literal)*) => {
        /// A match pass, a choice between places, a repair, or a veto.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[cfg_attr(not(feature = "ablation"), expect(unreachable_pub, reason = "only the benchmark names parts"))]
        pub enum EnginePart {
            $(#[doc = $name] $part,)*
        }

        #[cfg(feature = "ablation")]
        impl EnginePart {
            /// All parts.
            pub const ALL: &[Self] = &[$(Self::$part),*];

            /// Returns the name of the part.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$part => $name,)* }
            }
        }
    };
}

engine_parts! {
    ByteExact "pass: bytes at the line number"
    Trailing "pass: blanks at the ends of lines"
    Indent "pass: indentation"
    Folded "pass: quotes, dashes, blanks"
    EmptyLines "pass: empty lines"
    Fuzzy "pass: changed context lines"
    RewordedLines "pass: reworded line between two matches"
    InTurn "pass: hunks one after another"

    AppliedByNumber "applied: results at the line numbers"
    AppliedInOrder "applied: results in order"
    AppliedExactly "applied: new lines present"
    AppliedReverted "applied: revert and reapply"
    AppliedExtension "applied: extended text"

    NarrowByEnd "choice: end of the file"
    NarrowByNumber "choice: line number"
    NarrowByOrder "choice: order of the hunks"
    ScopeOfHeader "choice: section or nearest definition"
    NearestBelow "choice: nearest below the header"
    FurtherBelow "choice: all places below the header"
    FileStart "choice: top of the file"
    HeaderInfix "choice: header within a line"
    OuterHeader "choice: outer header"

    LevelledLine "style: indentation of the replaced line"
    TabShift "style: tabs and spaces of another hunk"
    SignShift "style: extra blank after the signs"
    Spelling "style: quotes and dashes of the file"
    PrintedSpelling "style: plain quotes throughout"

    MissingPrefix "repair: missing leading space"
    LineNumbers "repair: line numbers"
    Escapes "repair: escapes in lines"
    EscapedText "repair: escapes in a text"
    Entities "repair: entities"
    Wrappers "repair: fences and here-documents"
    FencedInProse "repair: fence in prose"
    IndentedPatch "repair: indented patch"

    FuzzyIdentified "fuzzy veto: no unique line"
    FuzzyLineElsewhere "fuzzy veto: missing line is elsewhere"
    FuzzySpan "fuzzy veto: spans other lines"
    FuzzyBeside "fuzzy veto: lines beside the change"
    FuzzyUnspecific "fuzzy veto: bracket missing"
    FuzzyElision "fuzzy veto: beside an elision"
    FuzzyBetter "fuzzy veto: better place"
    FuzzyPartly "fuzzy veto: partly applied"
    FuzzyNeighbour "fuzzy veto: reworded neighbour"
    FuzzyLead "fuzzy veto: no clear lead"
    FuzzyHeaderless "fuzzy veto: header and first line absent"
    FuzzyOutside "fuzzy veto: not below the header"

    IndentedSign "place veto: blanks before a sign"
    NotAtEnd "place veto: not at the end"
    NearerNumber "place veto: similar lines nearer the number"
    NearExactRival "place veto: nearly exact rival"
    SeemsApplied "place veto: new lines stand elsewhere"
    AddsEmptyLines "place veto: adds empty lines inexactly"
    RemainingLines "place veto: remaining lines elsewhere"
    ResemblesBelow "place veto: resembles lines below the header"
    BlockEnds "place veto: ends of blocks"

    RemovalDue "applied veto: lines to remove are present"
    RepeatsNeighbour "applied veto: repeats its neighbour"
    StillPresent "applied veto: removal still due"
    AppliedRival "applied veto: rival place"
    ShortText "applied veto: resembling text is not enough"
    Revived "applied veto: another hunk makes its old lines"
    DoubtfulNumber "applied veto: fits and seems applied"

    OrderInexact "order veto: inexact hunk out of order"
    OrderApplied "order veto: out of order with an applied hunk"
    OrderNumbers "order veto: numbers in another order"
    Overlap "order veto: overlapping changes"
    SameChange "order veto: the same change twice"

    EmptyInText "change veto: empty lines of two texts"
    EmptySide "change veto: side of an empty line"
    InnerLine "change veto: unknown line among removed ones"
    RefutedIndent "change veto: unknown indentation"
    UnclearDepth "change veto: unclear depth"
    TabMisfit "change veto: tabs and spaces mixed"

    Overlapping "text veto: overlaps itself"
    SplitWord "text veto: splits a word"
    Elision "text veto: elision in a whole file"
    Truncated "text veto: truncated diff"

    Encoded "repair veto: encoded line in an inexact match"
    SoleRepair "repair veto: two repairs differ"
    SharedEvidence "repair veto: another edit proves the mistake"
    NearNumber "repair veto: lines near the number"
    LacksMinus "repair veto: may lack a minus"
    PrefixProof "repair veto: no proof of a missing space"
    RawEntities "repair veto: plain signs beside entities"
    TornLine "repair veto: torn line"
    AddedBackslash "repair veto: added backslash"
}

impl EnginePart {
    /// Returns true unless the benchmark has switched this part off. Called only where the part makes a difference.
    #[cfg(not(feature = "ablation"))]
    #[expect(clippy::unused_self, reason = "the switch exists only with the feature")]
    pub(crate) const fn is_on(self) -> bool {
        true
    }

    /// Returns true unless the benchmark has switched this part off. Called only where the part makes a difference.
    #[cfg(feature = "ablation")]
    pub(crate) fn is_on(self) -> bool {
        switches::consult(self)
    }
}

#[cfg(feature = "ablation")]
pub mod switches {
    //! The switches of the process. They are global, because a benchmark judges one case after another.

    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    use super::EnginePart;

    /// The part that is off. For tests, the environment variable `WITHOUT` names it.
    static OFF: LazyLock<AtomicUsize> = LazyLock::new(|| {
        let name = std::env::var("WITHOUT").unwrap_or_default();
        AtomicUsize::new(EnginePart::ALL.iter().position(|part| part.name() == name).unwrap_or(usize::MAX))
    });
    static CONSULTED: [AtomicBool; EnginePart::ALL.len()] =
        [const { AtomicBool::new(false) }; EnginePart::ALL.len()];

    /// Switches `part` off and every other part on.
    pub fn switch_off(part: Option<EnginePart>) {
        OFF.store(part.map_or(usize::MAX, |part| part as usize), Relaxed);
    }

    /// Returns the parts that were consulted since the last call. Switching off another part changes nothing.
    pub fn take_consulted() -> Vec<EnginePart> {
        EnginePart::ALL
            .iter()
            .copied()
            .filter(|part| CONSULTED[*part as usize].swap(false, Relaxed))
            .collect()
    }

    pub(super) fn consult(part: EnginePart) -> bool {
        CONSULTED[part as usize].store(true, Relaxed);
        OFF.load(Relaxed) != part as usize
    }
}
