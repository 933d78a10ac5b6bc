//! Parser properties: any text is handled, a printed patch parses back, and half a patch is never applied.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toolgate_patch::{EditAction, FileEdit, Hunk, HunkLine, ParsedPatch, UpdateTarget};
use toolgate_patch::{PatchTextFormat, parse, parse_as};

/// Fragments of patches, including invalid ones.
const PIECES: &[&str] = &[
    "*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: b", "*** Update File: c",
    "*** Move to: d", "*** End of File", "***", "@@", "@@ x", "@@ -1,2 +1,2 @@ x", "@@ -0,0 +1 @@", "@@@",
    "diff --git a/f b/f", "--- a/f", "+++ b/f", "--- ", "+++ ", "--- /dev/null", "new file mode 100755",
    "deleted file mode 100644", "rename from x", "rename to y", "index 1..2 100644",
    "\\ No newline at end of file", "\\ ", "-- ", "2.43.0", "```", "<<EOF", "EOF", "apply_patch <<'EOF'",
    "{\"input\": \"", "{", "[", "\"}", "From 0123", "Binary files a and b differ", " x", "+x", "-x", "x",
    " ", "", "\t", "\"a/\\303\\274\"", "é", "\u{feff}", "\0",
];

/// Generates text from fragments, with or without line ends.
fn pieces() -> impl Strategy<Value = String> {
    let end = select(vec!["\n", "\n", "\n", "\r\n", "", " ", "\r"]);
    vec((select(PIECES), end), 0..40)
        .prop_map(|pieces| pieces.iter().map(|(piece, end)| format!("{piece}{end}")).collect())
}

/// Generates content that is easily mistaken for patch syntax.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c \t@*+-]{0,8}",
        select(PIECES).prop_map(str::to_owned).prop_filter("one line", |text| !text.contains('\0'))
    ]
}

fn path() -> impl Strategy<Value = String> {
    "[a-z]{1,5}(/[a-z .]{0,4}[a-z]){0,2}"
}

fn lines() -> impl Strategy<Value = Vec<HunkLine>> {
    let line = prop_oneof![
        text().prop_map(HunkLine::Keep),
        text().prop_map(HunkLine::Drop),
        text().prop_map(HunkLine::Add)
    ];
    vec(line, 1..6)
}

fn hunk() -> impl Strategy<Value = Hunk> {
    (vec("[a-z]{1,4}", 0..3), lines(), any::<bool>()).prop_map(|(headers, lines, at_end)| Hunk {
        headers,
        lines,
        at_end,
        ..Hunk::default()
    })
}

fn action() -> impl Strategy<Value = EditAction> {
    let content = vec(text(), 0..5).prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect());
    let target = prop_oneof![Just(UpdateTarget::Same), path().prop_map(UpdateTarget::Moved)];
    prop_oneof![
        content.prop_map(|content| EditAction::Write { content, executable: None }),
        Just(EditAction::Delete { hunks: Vec::new() }),
        (vec(hunk(), 1..4), target).prop_map(|(hunks, target)| EditAction::Update {
            hunks,
            target,
            executable: None
        }),
    ]
}

fn patch() -> impl Strategy<Value = ParsedPatch> {
    let edit =
        (path(), action()).prop_map(|(path, action)| FileEdit { path, line: 0, action, blob_ids: None });
    vec(edit, 1..4).prop_map(|edits| ParsedPatch { edits })
}

/// Prints the patch as a strict envelope.
fn envelope(patch: &ParsedPatch) -> String {
    let mut out = "*** Begin Patch\n".to_owned();
    for FileEdit { path, action, .. } in &patch.edits {
        match action {
            EditAction::Write { content, .. } | EditAction::Create { content, .. } => {
                out += &format!("*** Add File: {path}\n");
                content.lines().for_each(|line| out += &format!("+{line}\n"));
            }
            EditAction::Delete { .. } => out += &format!("*** Delete File: {path}\n"),
            EditAction::Update { hunks, target, .. } => {
                out += &format!("*** Update File: {path}\n");
                if let UpdateTarget::Moved(to) = target {
                    out += &format!("*** Move to: {to}\n");
                }
                hunks.iter().for_each(|hunk| places(&mut out, hunk));
            }
            EditAction::Replace { .. } => unreachable!("no envelope says that"),
        }
    }
    out + "*** End Patch\n"
}

fn places(out: &mut String, hunk: &Hunk) {
    if hunk.headers.is_empty() {
        *out += "@@\n";
    }
    hunk.headers.iter().for_each(|header| *out += &format!("@@ {header}\n"));
    body(out, hunk);
    if hunk.at_end {
        *out += "*** End of File\n";
    }
}

fn body(out: &mut String, hunk: &Hunk) {
    for line in &hunk.lines {
        *out += &match line {
            HunkLine::Keep(text) => format!(" {text}\n"),
            HunkLine::Drop(text) => format!("-{text}\n"),
            HunkLine::Add(text) => format!("+{text}\n"),
        };
    }
}

/// Prints the updates of the patch as git would.
fn diff(patch: &ParsedPatch) -> String {
    let mut out = String::new();
    for FileEdit { path, action, .. } in &patch.edits {
        let EditAction::Update { hunks, .. } = action else { continue };
        out += &format!("diff --git a/{path} b/{path}\n--- a/{path}\t\n+++ b/{path}\t\n");
        for hunk in hunks {
            let (old, new) = (hunk.old_lines().count(), hunk.new_lines().count());
            out += &format!("@@ -7,{old} +7,{new} @@ {}\n", hunk.headers.first().map_or("", String::as_str));
            body(&mut out, hunk);
        }
    }
    out
}

/// Removes line numbers, which depend on the printed text.
fn bare(mut patch: ParsedPatch) -> ParsedPatch {
    for edit in &mut patch.edits {
        edit.line = 0;
        if let EditAction::Update { hunks, .. } = &mut edit.action {
            hunks.iter_mut().for_each(|hunk| (hunk.line, hunk.old_start, hunk.new_start) = (0, None, None));
        }
    }
    patch
}

/// Returns the updates alone, reduced to what a diff can express.
fn updates(patch: &ParsedPatch) -> ParsedPatch {
    let mut patch = bare(patch.clone());
    patch.edits.retain(|edit| matches!(edit.action, EditAction::Update { .. }));
    for edit in &mut patch.edits {
        let EditAction::Update { hunks, target, .. } = &mut edit.action else { continue };
        *target = UpdateTarget::Same;
        for hunk in hunks {
            hunk.headers.truncate(1);
            hunk.at_end = false;
        }
    }
    patch
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_too_strange(text in prop_oneof![".*", "(?s).{0,200}", pieces()]) {
        let _ = parse(&text);
        for format in PatchTextFormat::ALL {
            let _ = parse_as(format, &text);
        }
    }

    #[test]
    fn pieces_of_an_envelope_never_panic(text in pieces()) {
        let _ = parse(&format!("*** Begin Patch\n*** Update File: a\n{text}\n*** End Patch"));
        let _ = parse(&format!("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n{text}"));
    }

    #[test]
    fn a_printed_envelope_is_read_back(patch in patch()) {
        let text = envelope(&patch);
        prop_assert_eq!(parse(&text).map(bare), Ok(patch.clone()), "{}", text);
        let returns = text.replace('\n', "\r\n");
        prop_assert_eq!(parse(&returns).map(bare), Ok(patch.clone()));
        let fenced = format!("```\n{text}```\n");
        prop_assert_eq!(parse(&fenced).map(bare), Ok(patch));
    }

    #[test]
    fn a_printed_diff_is_read_back(patch in patch()) {
        let wanted = updates(&patch);
        prop_assume!(!wanted.edits.is_empty());
        let text = diff(&patch);
        prop_assert_eq!(parse(&text).map(bare), Ok(wanted), "{}", text);
    }

}

proptest! {
    // Each case parses every prefix of a text.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn half_an_envelope_is_an_error(patch in patch()) {
        let text = envelope(&patch);
        let whole = text.trim_end().len();
        // A last line that may be the end marker is taken for it.
        let ends = |text: &str| text.trim_end().lines().last().is_some_and(|line| line.trim() == "*** End Patch");
        for end in (0..whole).filter(|end| text.is_char_boundary(*end) && !ends(&text[..*end])) {
            prop_assert!(parse(&text[..end]).is_err(), "{}", &text[..end]);
            prop_assert!(parse(&format!("```\n{}", &text[..end])).is_err(), "{}", &text[..end]);
        }
        prop_assert!(parse(&text[..whole]).is_ok());
    }
}
