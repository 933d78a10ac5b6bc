//! `toolgate doctor`: reports which sandbox tiers this machine can enforce.

use std::process::ExitCode;

use exec::sandbox::Scratch;
use serde_json::json;
use toolgate::{BuildFault, CommandSandbox, EnforcementGap};

use crate::args::DoctorArgs;
use crate::cli_fault::CliFault;
use crate::terminal_output::{self, FAINT, NAME};

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, CliFault> {
    // Checked first and reported separately: without a scratch directory nothing can be started.
    let scratch =
        Scratch::new().map_err(|fault| CliFault::unconfined(BuildFault::Scratch(fault).to_string()))?;
    let (able, fix) = super::block_on(async { Ok(CommandSandbox::probe().await?) })?;
    let full = able.first().is_some_and(|best| best.outcome.as_ref().is_ok_and(Vec::is_empty));
    let code = if full { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if args.json {
        let tiers: Vec<_> = able
            .iter()
            .map(|able| match &able.outcome {
                Ok(gaps) => {
                    let gaps: Vec<&str> = gaps.iter().map(|gap| gap.sentence()).collect();
                    json!({ "tier": able.tier.as_str(), "works": true, "gaps": gaps })
                }
                Err(why) => json!({ "tier": able.tier.as_str(), "works": false, "why": why }),
            })
            .collect();
        let private = json!({ "path": scratch.base_directory(), "taken": scratch.foreign_base() });
        terminal_output::print_text(
            &json!({ "full": full, "tiers": tiers, "fix": fix, "private": private }).to_string(),
        )?;
        return Ok(code);
    }
    for able in &able {
        let name = able.tier.as_str();
        match &able.outcome {
            Ok(gaps) if gaps.is_empty() => {
                terminal_output::print_styled(&format!(
                    "{NAME}{name:<11}{NAME:#} works: everything is enforced\n"
                ))?;
            }
            Ok(gaps) => {
                terminal_output::print_styled(&format!("{NAME}{name:<11}{NAME:#} works, but:\n"))?;
                for gap in gaps {
                    terminal_output::print_styled(&format!(
                        "{FAINT}            {}{FAINT:#}\n",
                        EnforcementGap::sentence(*gap)
                    ))?;
                }
            }
            Err(why) => terminal_output::print_styled(&format!(
                "{NAME}{name:<11}{NAME:#} does not work: {}\n",
                terminal_output::escape_invisible(why)
            ))?,
        }
    }
    let private =
        terminal_output::escape_invisible(&scratch.base_directory().display().to_string()).into_owned();
    terminal_output::print_styled(&format!(
        "{NAME}{:<11}{NAME:#} `{private}` holds the private `/tmp` of each session\n",
        "temporary"
    ))?;
    if let Some(taken) = scratch.foreign_base() {
        let taken = taken.display().to_string();
        let why = "is not a directory of yours alone, so another one is used";
        terminal_output::print_styled(&format!(
            "{FAINT}            `{}` {why}{FAINT:#}\n",
            terminal_output::escape_invisible(&taken)
        ))?;
    }
    if let Some(fix) = fix {
        terminal_output::print_hint(&format!("what mends it: {fix}"));
    }
    Ok(code)
}
