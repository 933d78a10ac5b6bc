//! `toolgate doctor`: says whether commands are fully sandboxed here, checks what a session needs, and can fix it.

mod apparmor;
mod checks;

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use exec::sandbox::{MachineSupport, Scratch, SetupFix};
use runtime::{CommandSandbox, Tier};
use serde_json::{Value, json};

use crate::args::DoctorArgs;
use crate::exit_status::{FAILED, UNCONFINED};
use checks::{CheckResult, MachineCheck};
use config::{Config, OperationFault, SettingSource};
use session::{confinement_check, hints};
use terminal::{FAINT, NAME, escape_invisible, print_styled, print_text};

const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();
/// The gaps that matter most, named in the verdict.
const MAX_VERDICT_GAPS: usize = 3;

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, OperationFault> {
    if args.fix {
        return apparmor::install_profile();
    }
    // Checked first and reported separately: without a scratch directory nothing can be started.
    let scratch = Scratch::new();
    let (tiers, fix, machine) = match &scratch {
        Ok(_) => probe_machine(),
        Err(_) => (Vec::new(), None, None),
    };
    let config = checks::load_config(args.require);
    let required = RequiredTier::from_config(config.as_ref().ok());
    let full = tiers.first().is_some_and(|best| best.outcome.as_ref().is_ok_and(Vec::is_empty));
    let checks = checks::run_all(&scratch, machine, config.as_ref());
    if args.json {
        let private = scratch.as_ref().ok();
        let private = private
            .map(|private| json!({ "path": private.base_directory(), "taken": private.foreign_base() }));
        print_text(&report_json((full, required), &tiers, fix, &checks, &private).to_string())?;
    } else {
        print_styled(&verdict(&tiers, fix, &checks, required))?;
        checks.iter().try_for_each(print_check)?;
        if args.verbose || !full {
            print_styled(&format!("\n{FAINT}Layers of the sandbox, the strongest first:{FAINT:#}\n"))?;
            tiers.iter().take(if args.verbose { usize::MAX } else { 2 }).try_for_each(print_tier)?;
        }
    }
    Ok(ExitCode::from(exit_status(&tiers, &checks, required)))
}

/// The weakest tier that commands run with.
#[derive(Debug, Clone, Copy)]
struct RequiredTier {
    tier: Tier,
    /// True if the user chose it.
    is_chosen: bool,
}

impl RequiredTier {
    fn from_config(config: Option<&Config>) -> Self {
        config.map_or(Self { tier: Tier::Namespaces, is_chosen: false }, |config| Self {
            tier: confinement_check::required_tier(config),
            is_chosen: config.confinement.require.source != SettingSource::BuiltIn,
        })
    }
}

/// Tries every tier. The last value is the fault of a sandbox that could not be tried.
fn probe_machine() -> (Vec<MachineSupport>, Option<SetupFix>, Option<String>) {
    match super::block_on(async { Ok(CommandSandbox::probe().await?) }) {
        Ok((tiers, fix)) => (tiers, fix, None),
        Err(fault) => (Vec::new(), None, Some(format!("the sandbox could not be tried: {fault}"))),
    }
}

/// Returns the exit status: of a machine that confines no command, else of a failed check, else of an incomplete
/// sandbox.
fn exit_status(tiers: &[MachineSupport], checks: &[MachineCheck], required: RequiredTier) -> u8 {
    let is_full = |best: &MachineSupport| best.outcome.as_ref().is_ok_and(Vec::is_empty);
    let is_enough = |tier: &MachineSupport| tier.outcome.is_ok() && tier.tier >= required.tier;
    let suffices = tiers.first().is_some_and(is_full) || required.is_chosen && tiers.iter().any(is_enough);
    if tiers.iter().all(|tier| tier.outcome.is_err()) {
        return UNCONFINED;
    }
    let failed = checks.iter().filter_map(|check| Some(check.fault()?.status)).max();
    failed.unwrap_or(if suffices { 0 } else { FAILED })
}

/// Returns the verdict: what holds, what does not, and the one command that fixes it.
fn verdict(
    tiers: &[MachineSupport],
    fix: Option<SetupFix>,
    checks: &[MachineCheck],
    required: RequiredTier,
) -> String {
    let mut text = String::new();
    for fault in checks.iter().filter_map(MachineCheck::fault) {
        if text.is_empty() {
            text.push_str(&format!("{BAD}No session can start here:{BAD:#}\n"));
        }
        text.push_str(&format!("  {BAD}✗{BAD:#} {}\n", indent_further_lines(&fault.text)));
        if let Some(fix) = &fault.fix {
            text.push_str(&format!("    {NAME}Fix:{NAME:#} {}\n", escape_invisible(fix)));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if !tiers.is_empty() {
        text.push_str(&sandbox_verdict(tiers, fix, required.tier));
    }
    text
}

/// Makes foreign text visible, and indents its lines after the first.
fn indent_further_lines(text: &str) -> String {
    escape_invisible(text).replace('\n', "\n    ")
}

fn sandbox_verdict(tiers: &[MachineSupport], fix: Option<SetupFix>, required: Tier) -> String {
    let working = tiers.iter().find_map(|tier| Some((tier.tier, tier.outcome.as_ref().ok()?)));
    let mut text = match working {
        Some((Tier::Namespaces, gaps)) if gaps.is_empty() => {
            return format!(
                "{GOOD}Commands are fully sandboxed on this machine.{GOOD:#} They write only where you allow it, reach only the hosts\n\
                 that you allow, and do not see the usual secrets.\n\n"
            );
        }
        Some((tier, gaps)) => {
            let (runs, name) = (tier >= required, tier.as_str());
            let style = if runs { WARN } else { BAD };
            let mut text =
                format!("{style}Commands are not fully sandboxed on this machine{style:#} ({name} only):\n");
            for gap in gaps.iter().take(MAX_VERDICT_GAPS) {
                text.push_str(&format!("  {WARN}!{WARN:#} {}\n", gap.sentence()));
            }
            text.push_str(&match runs {
                true => format!("They run, since `confinement.require` is `{}`.\n", required.as_str()),
                false => format!("They do not run unless you accept that with `--require {name}`.\n"),
            });
            text
        }
        None => format!("{BAD}Commands cannot be sandboxed on this machine{BAD:#}, so none is run.\n"),
    };
    if let Some(fix) = fix {
        text.push_str(&format!("{NAME}Fix:{NAME:#} {fix}\n"));
        if let Some(instead) = hints::setup_hint(fix) {
            text.push_str(&format!("     {instead}\n"));
        }
    }
    text.push('\n');
    text
}

fn print_check(check: &MachineCheck) -> Result<(), OperationFault> {
    let (style, mark, text) = match &check.result {
        CheckResult::Good(text) => (GOOD, '✓', text),
        CheckResult::Missing(text) => (WARN, '!', text),
        CheckResult::Failed(fault) => (BAD, '✗', &fault.text),
    };
    let text = indent_further_lines(text).replace('\n', "\n         ");
    Ok(print_styled(&format!("  {:<10} {style}{mark}{style:#} {text}\n", check.name))?)
}

fn report_json(
    (full, required): (bool, RequiredTier),
    tiers: &[MachineSupport],
    fix: Option<SetupFix>,
    checks: &[MachineCheck],
    private: &Option<Value>,
) -> Value {
    let runs = tiers.iter().any(|probed| probed.outcome.is_ok() && probed.tier >= required.tier);
    let tiers: Vec<Value> = tiers.iter().map(tier_json).collect();
    let checks: Vec<Value> = checks.iter().map(check_json).collect();
    let fix = fix.map(|fix| fix.to_string());
    let can_start = !checks.iter().any(|check| check["failed"] == true);
    json!({
        "full": full, "require": required.tier.as_str(), "commands_run": runs, "can_start": can_start, "tiers": tiers, "fix": fix, "checks": checks, "private": private,
    })
}

fn check_json(check: &MachineCheck) -> Value {
    let (text, fix) = match &check.result {
        CheckResult::Good(text) | CheckResult::Missing(text) => (text, None),
        CheckResult::Failed(fault) => (&fault.text, fault.fix.as_ref()),
    };
    let is_good = matches!(check.result, CheckResult::Good(_));
    let is_failed = check.fault().is_some();
    json!({ "name": check.name, "ok": is_good, "failed": is_failed, "text": text, "fix": fix })
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
    let tier = |result: &str| print_styled(&format!("  {NAME}{name:<10}{NAME:#} {result}\n"));
    match &probed.outcome {
        Ok(gaps) if gaps.is_empty() => tier("works: everything is enforced")?,
        Ok(gaps) => {
            tier("works, but used alone:")?;
            for gap in gaps {
                print_styled(&format!("{FAINT}             {}{FAINT:#}\n", gap.sentence()))?;
            }
        }
        Err(why) => tier(&format!("does not work: {}", escape_invisible(why)))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use insta::assert_snapshot;
    use runtime::EnforcementGap;

    use super::*;

    fn said(tiers: Vec<(Tier, Result<Vec<EnforcementGap>, String>)>, fix: Option<SetupFix>) -> String {
        let tiers: Vec<MachineSupport> =
            tiers.into_iter().map(|(tier, outcome)| MachineSupport { tier, outcome }).collect();
        strip_str(&verdict(&tiers, fix, &[], RequiredTier::from_config(None))).to_string()
    }

    #[test]
    fn the_verdict_comes_first_and_names_the_fix() {
        let landlock = || (Tier::Landlock, Ok(vec![EnforcementGap::DenyRead, EnforcementGap::PrivateTmp]));
        let refused = || (Tier::Namespaces, Err("Operation not permitted".to_owned()));
        assert_snapshot!(said(vec![(Tier::Namespaces, Ok(Vec::new())), landlock()], None), @r"
        Commands are fully sandboxed on this machine. They write only where you allow it, reach only the hosts
        that you allow, and do not see the usual secrets.
        ");
        assert_snapshot!(said(vec![refused(), landlock()], Some(SetupFix::AppArmorProfile)), @r"
        Commands are not fully sandboxed on this machine (landlock only):
          ! secrets (`~/.ssh`, `.env` …) can be read by commands
          ! `/tmp` cannot be written; TMPDIR is a private directory
        They do not run unless you accept that with `--require landlock`.
        Fix: install an AppArmor profile that allows user namespaces to this program
             `sudo toolgate doctor --fix` does it
        ");
        let masked = (Tier::Namespaces, Ok(vec![EnforcementGap::OuterProc]));
        assert_snapshot!(said(vec![masked], Some(SetupFix::MaskedProc)), @r"
        Commands are not fully sandboxed on this machine (namespaces only):
          ! `/proc` shows the processes outside
        They run, since `confinement.require` is `namespaces`.
        Fix: start the container with --security-opt systempaths=unconfined (in Kubernetes: procMount: Unmasked)
        ");
        assert_snapshot!(said(vec![refused()], None), @"Commands cannot be sandboxed on this machine, so none is run.");
    }
}
