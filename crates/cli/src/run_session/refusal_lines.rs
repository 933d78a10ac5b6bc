//! The lines about accesses that the sandbox refused, with the flag or the command that allows them.

use anstyle::{AnsiColor, Style};
use runtime::{Denial, ToolErrorKind, ToolOutput};

use session::hints::{Remedy, remedy};
use terminal::{to_one_line, wrap_words};

pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
/// Refusals shown of a running call.
const MAX_LIVE_REFUSALS: usize = 2;

/// The form in which a remedy is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RemedyForm {
    /// As the command `/allow`, which the user can type.
    AllowCommand,
    /// As a flag of the command line.
    #[default]
    Flag,
}

/// The accesses that the sandbox has refused to a running call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LiveRefusals<'a> {
    pub(super) denials: &'a [Denial],
    pub(super) form: RemedyForm,
}

impl LiveRefusals<'_> {
    /// Returns the rows about the first refusals, without styles, wrapped to `room` columns.
    pub(super) fn rows(&self, room: usize) -> Vec<String> {
        let rows = |denial| refusal_rows("the sandbox refused", denial, room, self.form);
        let mut rows: Vec<String> = self.denials.iter().take(MAX_LIVE_REFUSALS).flat_map(rows).collect();
        match self.denials.len().saturating_sub(MAX_LIVE_REFUSALS) {
            0 => {}
            more => rows.push(format!("  and {more} more")),
        }
        rows
    }
}

/// Returns the lines about what the sandbox refused to an answered call, and about hosts that could not be reached. A
/// refused call of another tool has its message above, so only the remedy follows.
pub(super) fn refusal_lines(output: &ToolOutput, room: usize, form: RemedyForm) -> Vec<String> {
    let facts = &output.facts;
    let styled = |row: String| format!("  {WARN}{row}{WARN:#}");
    if facts.enforcement.is_none() {
        let is_refused = matches!(facts.error, Some(ToolErrorKind::Forbidden | ToolErrorKind::Blocked));
        let denials = facts.denials.iter().filter(|_| is_refused);
        return denials
            .filter_map(|denial| remedy_line(denial, form))
            .map(|row| styled(format!("⊘ {row}")))
            .collect();
    }
    if matches!(facts.error, Some(ToolErrorKind::Forbidden | ToolErrorKind::Denied)) {
        return Vec::new();
    }
    let reported = facts.denials.iter().map(|denial| ("the sandbox refused", denial));
    let suspected = facts.suspected_denial.iter().map(|denial| ("the sandbox probably refused", denial));
    let refused = reported.chain(suspected).flat_map(|(says, denial)| refusal_rows(says, denial, room, form));
    let unreachable = facts
        .unreachable_hosts
        .iter()
        .flat_map(|host| marked_rows(wrap_words(&to_one_line(&host.to_string()), room)));
    refused.chain(unreachable).map(styled).collect()
}

/// Returns the rows about one refusal: the fact, wrapped, and the remedy, whole so that it can be copied.
fn refusal_rows(says: &str, denial: &Denial, room: usize, form: RemedyForm) -> Vec<String> {
    let mut rows = wrap_words(&to_one_line(&format!("{says}: {denial}")), room);
    rows.extend(remedy_line(denial, form));
    marked_rows(rows)
}

/// Puts the mark before the first row, and its width before the others.
fn marked_rows(rows: Vec<String>) -> Vec<String> {
    let mark = |number: usize| if number == 0 { '⊘' } else { ' ' };
    rows.into_iter().enumerate().map(|(number, row)| format!("{} {row}", mark(number))).collect()
}

fn remedy_line(denial: &Denial, form: RemedyForm) -> Option<String> {
    let Remedy::Allow { prepare, flag } = remedy(denial)? else {
        return Some("you may not write there yourself".to_owned());
    };
    let first = prepare.map(|command| format!("{command}, then ")).unwrap_or_default();
    let command = match form {
        RemedyForm::AllowCommand => "/allow ",
        RemedyForm::Flag => "",
    };
    Some(to_one_line(&format!("to allow it: {first}{command}{flag}")))
}
