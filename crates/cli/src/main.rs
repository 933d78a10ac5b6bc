//! The `toolgate` command: parses the command line, sets up logging, runs a subcommand and reports its error.

mod args;
mod commands;
mod completion_candidates;
mod confined_command;
mod edit_config;
mod exit_status;
mod run_session;
mod staged_review;
mod terminal_approver;
mod terminal_elicitation;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::{Cli, CliCommand};

fn main() -> ExitCode {
    exec::process::raise_open_files();
    commands::completions::answer_shell();
    let cli = match Cli::try_parse_from(command_line()) {
        Ok(cli) => cli,
        Err(wrong) => return report_usage_error(wrong),
    };
    log_to_stderr();
    let done = match cli.command {
        CliCommand::Demo(args) => commands::demo::run(&args),
        CliCommand::Run(args) => commands::run::run(&args),
        CliCommand::Serve(args) => commands::serve::run(args),
        CliCommand::Acp(args) => commands::acp::run(*args),
        CliCommand::Call(args) => commands::call::run(&args),
        CliCommand::Tools(args) => commands::tools::run(&args),
        CliCommand::Pipe(args) => commands::pipe::run(&args),
        CliCommand::Sandbox(args) => commands::sandbox::run(args),
        CliCommand::Try(args) => commands::try_command::run(&args),
        CliCommand::Changes(args) => commands::changes::run(&args),
        CliCommand::Apply(args) => commands::changes::apply(&args),
        CliCommand::Discard(args) => commands::changes::discard(&args),
        CliCommand::Undo(args) => commands::changes::undo(&args),
        CliCommand::Redo(args) => commands::changes::redo(&args),
        CliCommand::Checkpoints(args) => commands::changes::checkpoints(&args),
        CliCommand::Patch(args) => commands::patch::run(&args),
        CliCommand::Diff(args) => commands::diff::run(&args),
        CliCommand::Mcp(args) => match &args.command {
            Some(command) => commands::mcp_servers::run(command),
            None => commands::mcp::run(*args),
        },
        CliCommand::Approve(args) => commands::approve::run(&args),
        CliCommand::Log(args) => commands::log::run(&args),
        CliCommand::Stats(args) => commands::stats::run(&args),
        CliCommand::Policy(args) => commands::policy::run(&args),
        CliCommand::Doctor(args) => commands::doctor::run(&args),
        CliCommand::Config(args) => commands::config::run(&args),
        CliCommand::Replay(args) => commands::replay::run(&args),
        CliCommand::ScriptServer(args) => commands::script_server::run(&args),
        CliCommand::Completions(args) => commands::completions::run(&args),
        CliCommand::Man(args) => commands::man::run(&args),
    };
    match done {
        Ok(code) => exit_status::of_output(code),
        Err(fault) => exit_status::report_fault(&fault),
    }
}

/// Returns the command line. A program name of `apply_patch` or `applypatch` stands for `toolgate patch`.
fn command_line() -> Vec<std::ffi::OsString> {
    let mut words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let name = words.first().and_then(|name| std::path::Path::new(name).file_name());
    if name.is_some_and(|name| name == "apply_patch" || name == "applypatch") {
        words.splice(..1, ["toolgate".into(), "patch".into()]);
    }
    words
}

/// Values that give up protection. A typo is no reason to recommend them.
const WEAK_VALUES: &[&str] = &["external", "danger-full-access", "disabled", "auto", "nothing", "on"];

/// Prints clap's error, and a hint if a tool's or a command's arguments were given as Toolgate's own.
fn report_usage_error(mut wrong: clap::Error) -> ExitCode {
    if let Some(ContextValue::String(value)) = wrong.get(ContextKind::SuggestedValue)
        && WEAK_VALUES.contains(&value.as_str())
    {
        wrong.remove(ContextKind::SuggestedValue);
    }
    let _nobody_reads = wrong.print();
    let words: Vec<String> = std::env::args().skip(1).take(2).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (wrong.kind(), &words[..]) {
        (ErrorKind::UnknownArgument, ["call", ..]) => {
            terminal::print_hint(r#"a tool's arguments go into --json, e.g. --json '{"path": "README.md"}'"#);
        }
        (ErrorKind::UnknownArgument, ["policy", "explain"]) => {
            terminal::print_hint("put -- before the command: toolgate policy explain -- rm -rf src");
        }
        (ErrorKind::UnknownArgument, ["sandbox", ..]) => {
            terminal::print_hint("put -- before the command: toolgate sandbox -- cargo test");
        }
        _ => {}
    }
    ExitCode::from(u8::try_from(wrong.exit_code()).unwrap_or(exit_status::USAGE))
}

/// Sets up logging: `TOOLGATE_LOG=debug toolgate …` shows spans and events; the default is warnings only. rmcp is off
/// by default: its warnings report each client action, which the client knows already.
fn log_to_stderr() {
    let asked = std::env::var("TOOLGATE_LOG").unwrap_or_else(|_| "warn,rmcp=off".to_owned());
    let filter = tracing_subscriber::EnvFilter::try_new(&asked).unwrap_or_else(|_| {
        terminal::print_hint(&format!(
            "TOOLGATE_LOG is `{asked}`, which is not a filter; try `debug` or `toolgate_engine=debug`"
        ));
        tracing_subscriber::EnvFilter::new("warn")
    });
    let colours = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}
