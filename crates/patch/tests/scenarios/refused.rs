//! Scenarios that must leave the tree unchanged.

use super::{PatchScenario, ScenarioFiles};

const KEPT: ScenarioFiles = &[("a.txt", "one\ntwo\n")];

/// Patches and trees, with the peer's numbers.
const ROWS: &[(&str, &str, ScenarioFiles)] = &[
    ("005 an empty patch", "*** Begin Patch\n*** End Patch\n", KEPT),
    (
        "006 lines that are not there",
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+3\n*** End Patch\n",
        KEPT,
    ),
    (
        "007 a file to delete that is not there",
        "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch\n",
        KEPT,
    ),
    ("008 an update without lines", "*** Begin Patch\n*** Update File: a.txt\n*** End Patch\n", KEPT),
    (
        "009 a file to update that is not there",
        "*** Begin Patch\n*** Update File: b.txt\n@@\n-one\n+1\n*** End Patch\n",
        KEPT,
    ),
    (
        "012 a directory to delete",
        "*** Begin Patch\n*** Delete File: dir\n*** End Patch\n",
        &[("dir/a.txt", "one\n")],
    ),
    (
        "013 a marker that means nothing",
        "*** Begin Patch\n*** Change File: a.txt\n@@\n-one\n+1\n*** End Patch\n",
        KEPT,
    ),
    (
        "015 a part that cannot be applied stops all (the peer keeps what came before)",
        "*** Begin Patch\n*** Add File: new.txt\n+made\n*** Update File: b.txt\n@@\n-one\n+1\n*** End Patch\n",
        KEPT,
    ),
];

#[test]
fn nothing_changes() {
    for (name, patch, tree) in ROWS {
        assert!(!PatchScenario { name, patch, before: tree, after: tree }.run(), "{name}");
    }
}
