//! `toolgate patch`: files changed as a patch says, at a shell prompt.

use std::fmt::Write as _;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use serde_json::json;
use toolgate::patch::{self, Disk, Format, Outcome, Plan, Recovered};

use crate::args::{self, PatchFormat};
use crate::config::Dirs;
use crate::fault::Fault;
use crate::{screen, turns};

/// The longest patch that is read.
const LONGEST: u64 = 64 << 20;

pub(crate) fn run(args: &args::Patch) -> Result<ExitCode, Fault> {
    let text = text(args)?;
    let directory = args.cwd.clone().unwrap_or_else(|| ".".into());
    let parsed = match format(args.format) {
        None => patch::parse(&text),
        Some(format) => patch::parse_as(format, &text),
    };
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(fault) => return refuse(args, &fault.to_string()),
    };
    let disk = Disk::at(&directory)
        .map_err(|fault| Fault::usage(format!("`{}` cannot be opened: {fault}", directory.display())))?
        .breaking_links(args.break_links);
    let root = disk.root().to_owned();
    let within = root.clone();
    let disk = disk.judged_by(Arc::new(move |real, _| judge(&within, real)));
    let records = records()?;
    for Recovered { files, outcome, record } in patch::recover(&records)? {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let what = match outcome {
            Outcome::Back => format!("an edit was stopped half-way; it was taken back: {}", names.join(", ")),
            Outcome::Forward => {
                format!("an edit was stopped half-way; it was finished: {}", names.join(", "))
            }
            Outcome::Left(why) => {
                format!("the record `{}` of an edit was left as it is: {why}", record.display())
            }
        };
        screen::hint(&what);
    }
    let plan = match Plan::of(&parsed, &disk) {
        Ok(plan) => plan,
        Err(failure) => return refuse(args, &failure.to_string()),
    };
    if !args.dry_run
        && let Err(refusal) = disk.commit(&plan.steps(), &records)
    {
        return refuse(args, &refusal.what);
    }
    if !args.dry_run {
        turns::keep(state()?.as_path(), &root, &plan.diff());
    }
    told(args, &plan)?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing outside the directory is touched, nor what git keeps for itself.
fn judge(root: &Path, real: &Path) -> Result<(), String> {
    let Ok(below) = real.strip_prefix(root) else {
        return Err(format!("`{}` is outside `{}`; use -C to work there", real.display(), root.display()));
    };
    match below.components().any(|part| part.as_os_str() == ".git") {
        true => Err(format!("`{}` is git's own; no patch changes that", below.display())),
        false => Ok(()),
    }
}

fn format(format: PatchFormat) -> Option<Format> {
    match format {
        PatchFormat::Auto => None,
        PatchFormat::Envelope => Some(Format::Envelope),
        PatchFormat::Unified => Some(Format::Unified),
        PatchFormat::Replace => Some(Format::Replace),
        PatchFormat::Files => Some(Format::Files),
    }
}

/// The text of the patch, from wherever it is.
fn text(args: &args::Patch) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    match &args.patch {
        Some(text) if text.as_bytes().contains(&b'\n') => bytes = text.as_bytes().to_vec(),
        Some(path) if path != "-" => {
            let path = Path::new(path);
            #[expect(clippy::disallowed_methods, reason = "the user names the file on the command line")]
            let opened =
                std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
            opened.map_err(|fault| Fault::usage(format!("`{}` cannot be read: {fault}", path.display())))?;
        }
        _ => {
            if std::io::stdin().is_terminal() {
                screen::hint("reading the patch from the terminal; end it with Ctrl-D");
            }
            std::io::stdin().take(LONGEST + 1).read_to_end(&mut bytes)?;
        }
    }
    if bytes.is_empty() {
        return Err(Fault::usage("there is no patch: the input is empty")
            .hint("give a file, or a patch on standard input"));
    }
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::usage(format!("the patch is longer than {} MiB", LONGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| Fault::usage("the patch is not UTF-8 text"))
}

/// Where it is written down what is about to be done.
fn records() -> Result<PathBuf, Fault> {
    Ok(state()?.join("edits"))
}

fn state() -> Result<PathBuf, Fault> {
    let state = Dirs::from_env()?.state;
    state.ok_or_else(|| Fault::usage("there is no home to keep records in; set HOME or TOOLGATE_HOME"))
}

fn refuse(args: &args::Patch, why: &str) -> Result<ExitCode, Fault> {
    if args.json {
        screen::text(&json!({"applied": false, "error": why}).to_string())?;
    } else {
        screen::error(&format!("nothing was changed: {why}"));
    }
    Ok(ExitCode::FAILURE)
}

fn told(args: &args::Patch, plan: &Plan) -> Result<(), Fault> {
    if args.json {
        let file = |change: &patch::Change| {
            let places: Vec<_> = change
                .landed
                .iter()
                .map(|(line, pass)| json!({"line": line, "overlooked": pass.overlooks()}))
                .collect();
            json!({"kind": change.letter().to_string(), "path": change.path, "from": change.from, "places": places})
        };
        let files: Vec<_> = plan.told().map(file).collect();
        let diff = args.dry_run.then(|| plan.diff());
        let all = json!({"applied": !args.dry_run, "changes": files, "already": plan.already, "diff": diff});
        return Ok(screen::text(&all.to_string())?);
    }
    if args.dry_run {
        let diff = plan.diff();
        if !diff.is_empty() {
            show(&diff)?;
        }
        for path in &plan.already {
            screen::hint(&format!("{path} is as the patch wants it already"));
        }
        return Ok(());
    }
    Ok(screen::text(&plan.to_string())?)
}

/// Prints a diff, in the colours that diffs have if a person reads it.
pub(crate) fn show(diff: &str) -> std::io::Result<()> {
    if !std::io::stdout().is_terminal() {
        return screen::text(diff);
    }
    let mut out = String::with_capacity(diff.len() * 2);
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => Style::new().bold(),
            [b'+', ..] => AnsiColor::Green.on_default(),
            [b'-', ..] => AnsiColor::Red.on_default(),
            [b'@', ..] => AnsiColor::Cyan.on_default(),
            [b' ', ..] => Style::new(),
            _ => Style::new().bold(),
        };
        let _ = writeln!(out, "{style}{}{style:#}", screen::visible(line));
    }
    screen::styled(&out)
}
