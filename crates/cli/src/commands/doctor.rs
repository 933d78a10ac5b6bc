//! `toolgate doctor`: reports which sandbox tiers this machine can enforce.

use std::process::ExitCode;

use exec::sandbox::{MachineSupport, Scratch};
use runtime::{BuildFault, CommandSandbox};
use serde_json::{Value, json};

use crate::args::DoctorArgs;
use config::OperationFault;
use session::hints;
use terminal::{FAINT, NAME, escape_invisible, print_hint, print_styled, print_text};

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, OperationFault> {
    // Checked first and reported separately: without a scratch directory nothing can be started.
    let scratch =
        Scratch::new().map_err(|fault| OperationFault::unconfined(BuildFault::Scratch(fault).to_string()))?;
    let (tiers, fix) = super::block_on(async { Ok(CommandSandbox::probe().await?) })?;
    let full = tiers.first().is_some_and(|best| best.outcome.as_ref().is_ok_and(Vec::is_empty));
    if args.json {
        let tiers: Vec<Value> = tiers.iter().map(tier_json).collect();
        let private = json!({ "path": scratch.base_directory(), "taken": scratch.foreign_base() });
        let fix = fix.map(|fix| fix.to_string());
        let report = json!({ "full": full, "tiers": tiers, "fix": fix, "private": private });
        print_text(&report.to_string())?;
    } else {
        tiers.iter().try_for_each(print_tier)?;
        print_scratch(&scratch)?;
        if let Some(fix) = fix {
            let instead = hints::setup_hint(fix).map(|hint| format!(", {hint}")).unwrap_or_default();
            print_hint(&format!("fix: {fix}{instead}"));
        }
    }
    Ok(if full { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tier_json(probed: &MachineSupport) -> Value {
    let tier = probed.tier.as_str();
    match &probed.outcome {
        Ok(gaps) => {
            let gaps: Vec<&str> = gaps.iter().map(|gap| gap.sentence()).collect();
            json!({ "tier": tier, "works": true, "gaps": gaps })
        }
        Err(why) => json!({ "tier": tier, "works": false, "why": why }),
    }
}

fn print_tier(probed: &MachineSupport) -> Result<(), OperationFault> {
    let name = probed.tier.as_str();
    let tier = |result: &str| print_styled(&format!("{NAME}{name:<11}{NAME:#} {result}\n"));
    match &probed.outcome {
        Ok(gaps) if gaps.is_empty() => tier("works: everything is enforced")?,
        Ok(gaps) => {
            tier("works, but:")?;
            for gap in gaps {
                print_styled(&format!("{FAINT}            {}{FAINT:#}\n", gap.sentence()))?;
            }
        }
        Err(why) => tier(&format!("does not work: {}", escape_invisible(why)))?,
    }
    Ok(())
}

/// Prints the directory that holds the private `/tmp` of each session.
fn print_scratch(scratch: &Scratch) -> Result<(), OperationFault> {
    let private = scratch.base_directory().display().to_string();
    let private = escape_invisible(&private);
    print_styled(&format!(
        "{NAME}{:<11}{NAME:#} `{private}` holds the private `/tmp` of each session\n",
        "temporary"
    ))?;
    if let Some(taken) = scratch.foreign_base() {
        let taken = taken.display().to_string();
        let why = "is not a directory of yours alone, so another one is used";
        print_styled(&format!("{FAINT}            `{}` {why}{FAINT:#}\n", escape_invisible(&taken)))?;
    }
    Ok(())
}
