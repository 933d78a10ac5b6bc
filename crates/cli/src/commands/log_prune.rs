//! `toolgate log prune`: removes old sessions.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::time::SystemTime;

use config::{OperationFault, UserDirs};
use report::prune_list;
use session::prune::{PrunePlan, PruneRule, SessionFamily, SessionRemoval, SessionStore};

use crate::args::LogPruneArgs;

/// Bytes of an answer to the question at most.
const MAX_ANSWER_BYTES: u64 = 80;

pub(super) fn run(args: &LogPruneArgs) -> Result<ExitCode, OperationFault> {
    let store = SessionStore::new(&UserDirs::from_env()?)?;
    let rule = PruneRule { older_than: args.older_than, keep: args.keep, max_bytes: args.max_size };
    let plan = store.plan(&rule, SystemTime::now())?;
    for family in &plan.running {
        print_session(family, "running", None, args.json)?;
    }
    if args.dry_run {
        for family in &plan.remove {
            print_session(family, "would_remove", None, args.json)?;
        }
        print_stuck(&plan, args)?;
        print_total(args, ("would remove", &prune_list::total(&plan.remove)), &plan, plan.stuck.len())?;
        return Ok(if plan.stuck.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if !plan.remove.is_empty() && !args.yes && !confirm(&plan)? {
        terminal::print_hint("nothing is removed");
        return Ok(ExitCode::FAILURE);
    }
    remove_all(&store, &plan, args)
}

fn remove_all(
    store: &SessionStore,
    plan: &PrunePlan,
    args: &LogPruneArgs,
) -> Result<ExitCode, OperationFault> {
    let others: Vec<&SessionFamily> = plan.others().collect();
    let (mut removed, mut failed) = (Vec::new(), plan.stuck.len());
    // The oldest first: an interruption leaves the newest.
    for family in plan.remove.iter().rev() {
        match store.remove(family, &others) {
            SessionRemoval::Removed => {
                print_session(family, "removed", None, args.json)?;
                removed.push(family);
            }
            SessionRemoval::Running => print_session(family, "running", None, args.json)?,
            SessionRemoval::Failed(why) => {
                print_session(family, "failed", Some(&why), args.json)?;
                terminal::print_error(&format!("`{}` stays: {why}", family.id));
                failed += 1;
            }
        }
    }
    print_stuck(plan, args)?;
    print_total(args, ("removed", &prune_list::total(removed)), plan, failed)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the sessions that this user cannot remove.
fn print_stuck(plan: &PrunePlan, args: &LogPruneArgs) -> Result<(), OperationFault> {
    for family in &plan.stuck {
        let why = family.fault.as_deref().unwrap_or_default();
        print_session(family, "failed", Some(why), args.json)?;
        terminal::print_error(&format!("`{}` stays: {why}", family.id));
    }
    Ok(())
}

fn print_session(
    family: &SessionFamily,
    state: &'static str,
    why: Option<&str>,
    json: bool,
) -> Result<(), OperationFault> {
    let line = if json {
        prune_list::as_json(family, state, why).to_string()
    } else {
        prune_list::format_line(family, state)
    };
    Ok(terminal::print_text(&line)?)
}

/// Prints the total for people; `failed` sessions could not be removed.
fn print_total(
    args: &LogPruneArgs,
    (verb, total): (&str, &str),
    plan: &PrunePlan,
    failed: usize,
) -> Result<(), OperationFault> {
    if args.json {
        return Ok(());
    }
    let kept = prune_list::total(plan.stay.iter().chain(&plan.running));
    let failed = match failed as u64 {
        0 => String::new(),
        count => format!("; {} cannot be removed", report::format_amount::pluralize(count, "session")),
    };
    Ok(terminal::print_text(&format!("{verb} {total}; kept {kept}{failed}"))?)
}

/// Asks the user at the terminal.
fn confirm(plan: &PrunePlan) -> Result<bool, OperationFault> {
    let total = prune_list::total(&plan.remove);
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(OperationFault::usage(format!(
            "{total} would be removed, and there is no terminal to ask at"
        ))
        .with_hint("--yes removes them, --dry-run lists them"));
    }
    let mut err = io::stderr().lock();
    write!(err, "Remove {total} for good? [y/N] ")?;
    err.flush()?;
    let mut answer = Vec::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_until(b'\n', &mut answer)?;
    Ok(["y", "yes"].contains(&String::from_utf8_lossy(&answer).trim().to_lowercase().as_str()))
}
