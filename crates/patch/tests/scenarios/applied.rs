//! Scenarios that change the tree.

use super::PatchScenario;

/// The scenarios, with the peer's numbers.
const ROWS: &[PatchScenario] = &[
    PatchScenario {
        name: "001 a file is added",
        patch: "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n",
        before: &[],
        after: &[("a.txt", "one\ntwo\n")],
    },
    PatchScenario {
        name: "002 one is added, one changed, one deleted",
        patch: "*** Begin Patch\n*** Add File: dir/new.txt\n+made\n*** Delete File: old.txt\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch\n",
        before: &[("a.txt", "one\ntwo\n"), ("old.txt", "gone\n")],
        after: &[("a.txt", "one\n2\n"), ("dir/new.txt", "made\n")],
    },
    PatchScenario {
        name: "003 several places of one file",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n@@\n-four\n+4\n*** End Patch\n",
        before: &[("a.txt", "one\ntwo\nthree\nfour\n")],
        after: &[("a.txt", "one\n2\nthree\n4\n")],
    },
    PatchScenario {
        name: "004 a file is moved to a new directory",
        patch: "*** Begin Patch\n*** Update File: old/a.txt\n*** Move to: new/dir/a.txt\n@@\n-old words\n+new words\n*** End Patch\n",
        before: &[("old/a.txt", "old words\n"), ("old/b.txt", "stays\n")],
        after: &[("new/dir/a.txt", "new words\n"), ("old/b.txt", "stays\n")],
    },
    PatchScenario {
        name: "010 a move writes over what is there",
        patch: "*** Begin Patch\n*** Update File: old/a.txt\n*** Move to: new/a.txt\n@@\n-from\n+to\n*** End Patch\n",
        before: &[("old/a.txt", "from\n"), ("old/b.txt", "stays\n"), ("new/a.txt", "other\n")],
        after: &[("new/a.txt", "to\n"), ("old/b.txt", "stays\n")],
    },
    PatchScenario {
        name: "011 an added file writes over what is there",
        patch: "*** Begin Patch\n*** Add File: a.txt\n+new\n*** End Patch\n",
        before: &[("a.txt", "old\nwords\n")],
        after: &[("a.txt", "new\n")],
    },
    PatchScenario {
        name: "014 a last line that is replaced ends with a newline",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n-bare\n+first\n+second\n*** End Patch\n",
        before: &[("a.txt", "bare")],
        after: &[("a.txt", "first\nsecond\n")],
    },
    PatchScenario {
        name: "016 lines that only come go to the end",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n+three\n+four\n*** End Patch\n",
        before: &[("a.txt", "one\ntwo\n")],
        after: &[("a.txt", "one\ntwo\nthree\nfour\n")],
    },
    PatchScenario {
        name: "017 blanks around a file's name",
        patch: "*** Begin Patch\n  *** Update File: a.txt  \n@@\n-one\n+1\n*** End Patch\n",
        before: &[("a.txt", "one\n")],
        after: &[("a.txt", "1\n")],
    },
    PatchScenario {
        name: "018 blanks around the patch's own marks",
        patch: "  *** Begin Patch  \n*** Update File: a.txt\n@@\n-one\n+1\n *** End Patch \n",
        before: &[("a.txt", "one\n")],
        after: &[("a.txt", "1\n")],
    },
    PatchScenario {
        name: "019 letters of all kinds",
        patch: "*** Begin Patch\n*** Update File: ü.txt\n@@\n naïve café\n-日本\n+日本語 ✅\n*** End Patch\n",
        before: &[("ü.txt", "naïve café\n日本\n")],
        after: &[("ü.txt", "naïve café\n日本語 ✅\n")],
    },
    PatchScenario {
        name: "020 a file is deleted",
        patch: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n",
        before: &[("a.txt", "one\n"), ("b.txt", "stays\n")],
        after: &[("b.txt", "stays\n")],
    },
    PatchScenario {
        name: "020 (again) blanks before a hunk's own marks",
        patch: "*** Begin Patch\n  *** Add File: b.txt\n+made\n  *** Delete File: c.txt\n*** Update File: a.txt  \n@@  \n-one\n+1\n*** End Patch\n",
        before: &[("a.txt", "one\n"), ("c.txt", "gone\n")],
        after: &[("a.txt", "1\n"), ("b.txt", "made\n")],
    },
    PatchScenario {
        name: "021 lines that only go",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n three\n*** End Patch\n",
        before: &[("a.txt", "one\ntwo\nthree\n")],
        after: &[("a.txt", "one\nthree\n")],
    },
    PatchScenario {
        name: "022 a place at the end of the file",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+last\n*** End of File\n*** End Patch\n",
        before: &[("a.txt", "one\ntwo\n\none\ntwo\n")],
        after: &[("a.txt", "one\ntwo\n\none\nlast\n")],
    },
    PatchScenario {
        name: "023 the file's line endings stay",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n+2.5\n three\n*** End Patch\n",
        before: &[("a.txt", "one\r\ntwo\r\nthree\r\n")],
        after: &[("a.txt", "one\r\n2\r\n2.5\r\nthree\r\n")],
    },
    PatchScenario {
        name: "024 mixed line endings stay line by line",
        patch: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n two\n*** End Patch\n",
        before: &[("a.txt", "one\r\ntwo\nthree\rfour\r\n")],
        after: &[("a.txt", "1\r\ntwo\nthree\rfour\r\n")],
    },
];

#[test]
fn the_tree_is_as_it_should_be() {
    for scenario in ROWS {
        assert!(scenario.run(), "{}", scenario.name);
    }
}
