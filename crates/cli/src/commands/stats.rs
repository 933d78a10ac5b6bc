//! `toolgate stats`: prints statistics over recorded sessions.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use journal::{JournalEnding, SessionTimeline, TextBudget};

use crate::args::StatsArgs;
use config::OperationFault;
use report::resolve_session::{self, ResolvedSession};
use report::stats::{self, SessionTotals, TableStyle};

const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn run(args: &StatsArgs) -> Result<ExitCode, OperationFault> {
    let directory = resolve_session::sessions_directory()?;
    let sessions = select_sessions(&directory, args)?;
    let mut totals = SessionTotals::default();
    let mut code = ExitCode::SUCCESS;
    for session in &sessions {
        match SessionTimeline::read(&session.path, TextBudget::names_only()) {
            Ok(timeline) => {
                if let JournalEnding::Broken(fault) = &timeline.ending {
                    terminal::print_error(&format!(
                        "`{}` counts only as far as it is as it was written: {}",
                        session.name,
                        fault.without_path()
                    ));
                    code = ExitCode::FAILURE;
                }
                totals.add(&timeline);
            }
            // The fault of an explicitly named session is an error.
            Err(fault) if !args.sessions.is_empty() => return Err(OperationFault::usage(fault.to_string())),
            Err(fault) => {
                terminal::print_error(&format!(
                    "`{}` does not count: {}",
                    session.name,
                    fault.without_path()
                ));
                code = ExitCode::FAILURE;
            }
        }
    }
    if args.json {
        terminal::print_text(&totals.to_json().to_string())?;
    } else if sessions.is_empty() {
        terminal::print_hint(&format!("there are no such sessions in `{}`", directory.display()));
    } else {
        let style = terminal::terminal_width().map_or(TableStyle::Plain, TableStyle::Charts);
        terminal::print_styled(&stats::render(&totals, style))?;
    }
    Ok(code)
}

fn select_sessions(directory: &Path, args: &StatsArgs) -> Result<Vec<ResolvedSession>, OperationFault> {
    if !args.sessions.is_empty() {
        return args.sessions.iter().map(|word| resolve_session::resolve(directory, word)).collect();
    }
    let mut all = resolve_session::all_sessions(directory)?;
    if let Some(days) = args.since {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = now.saturating_sub(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)));
        all.retain(|session| start_millis(&session.name).is_some_and(|began| began >= first.as_millis()));
    }
    Ok(all)
}

/// Returns the start of a session in milliseconds since 1970, from its name.
fn start_millis(name: &str) -> Option<u128> {
    let (date, time) = (name.get(..8)?, name.get(9..15)?);
    let at = format!(
        "{}-{}-{}T{}:{}:{}.000Z",
        date.get(..4)?,
        date.get(4..6)?,
        date.get(6..)?,
        time.get(..2)?,
        time.get(2..4)?,
        time.get(4..)?
    );
    journal::parse_millis(&at).map(u128::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_began_when_its_name_says() {
        assert_eq!(start_millis("20261116-213602-4f9a1c"), Some(1_794_864_962_000));
        assert_eq!(start_millis("./x"), None);
        assert_eq!(start_millis("2026111é-213602-4f9a1c"), None);
    }
}
