//! Prints a case in full, to examine its verdict.

use similar::TextDiff;

use crate::case_draft::{CaseDraft, DraftLine, DraftLineEnd};
use crate::cases::{CaseVerdict, EditCase, ReapplyVerdict};

/// Prints the patch, and the difference between actual and expected result.
pub(crate) fn print_case(number: usize, case: &EditCase, verdict: &CaseVerdict) {
    let path = &case.draft.path;
    let file = String::from_utf8_lossy(&case.draft.file()).into_owned();
    println!("\n━━━ case {number}: {}, {:?}, {path}", case.kind.name, case.draft.manner.format);
    println!("{}", printable(&case.patch));
    println!("--- what it should do");
    println!("{}", diff(&file, &wanted(&case.draft)));
    match verdict {
        CaseVerdict::Right => {}
        CaseVerdict::Refused(why) => println!("--- REFUSED ({:?})\n{why}", case.evidence),
        CaseVerdict::Wrong(bytes) => {
            println!("--- WRONG ({:?}): what it does", case.evidence);
            let (got, wanted) = (String::from_utf8_lossy(bytes), wanted(&case.draft));
            println!("{}", diff(&file, &got));
            println!("--- what should be there (-), and what is (+)\n{}", diff(&wanted, &got));
        }
    }
}

/// Prints the patch, and why it is not recognised when it is applied again.
pub(crate) fn print_reapplied(number: usize, case: &EditCase, again: Option<&ReapplyVerdict>) {
    println!("\n━━━ case {number}: {}, {:?}", case.kind.name, case.draft.manner.format);
    println!("{}", printable(&case.patch));
    match again {
        Some(ReapplyVerdict::Refused(why)) => println!("--- REFUSED THE SECOND TIME\n{why}"),
        _ => println!("--- CHANGED THE SECOND TIME"),
    }
}

/// Formats a patch in JSON as its plain texts.
fn printable(patch: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(patch) else { return patch.to_owned() };
    let field = |(name, value): (&String, &serde_json::Value)| {
        format!("<{name}>\n{}\n</{name}>", value.as_str().unwrap_or_default())
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}

fn wanted(draft: &CaseDraft) -> String {
    let lines = draft.expected_lines(false);
    let ending = |cell: &&DraftLine| if cell.ending == DraftLineEnd::Windows { "\r\n" } else { "\n" };
    lines.iter().map(|cell| cell.text.clone() + ending(cell)).collect()
}

fn diff(before: &str, after: &str) -> String {
    let (before, after) = (before.replace('\r', "␍"), after.replace('\r', "␍"));
    TextDiff::from_lines(&before, &after).unified_diff().context_radius(5).to_string()
}
