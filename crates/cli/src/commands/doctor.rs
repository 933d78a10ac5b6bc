//! `toolgate doctor`: what this machine can enforce.

use std::process::ExitCode;

use serde_json::json;
use toolgate::{Gap, Sandbox};

use crate::args::Doctor;
use crate::fault::Fault;
use crate::screen::{self, FAINT, NAME};

pub(crate) fn run(args: &Doctor) -> Result<ExitCode, Fault> {
    let (able, fix) = super::block_on(async { Ok(Sandbox::probe().await?) })?;
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
        screen::text(&json!({ "full": full, "tiers": tiers, "fix": fix }).to_string())?;
        return Ok(code);
    }
    for able in &able {
        let name = able.tier.as_str();
        match &able.outcome {
            Ok(gaps) if gaps.is_empty() => {
                screen::styled(&format!("{NAME}{name:<11}{NAME:#} works: everything is enforced\n"))?;
            }
            Ok(gaps) => {
                screen::styled(&format!("{NAME}{name:<11}{NAME:#} works, but:\n"))?;
                for gap in gaps {
                    screen::styled(&format!("{FAINT}            {}{FAINT:#}\n", Gap::sentence(*gap)))?;
                }
            }
            Err(why) => screen::styled(&format!(
                "{NAME}{name:<11}{NAME:#} does not work: {}\n",
                screen::visible(why)
            ))?,
        }
    }
    if let Some(fix) = fix {
        screen::hint(&format!("what mends it: {fix}"));
    }
    Ok(code)
}
