//! `toolgate mcp test`: starts servers, lists their tools, and stops them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use runtime::mcp::{McpClientDeps, ServerEvent, ServerHealth, ServerObserver};
use serde_json::{Value, json};

use crate::args::McpTestArgs;
use config::OperationFault;
use config::UserDirs;
use session::compose::working_directory;
use session::hints::program_hints;
use session::mcp_servers;
use terminal::{FAINT, NAME};

/// The start-up time of each server.
#[derive(Default)]
struct StartTimes(Mutex<BTreeMap<String, Duration>>);

impl ServerObserver for StartTimes {
    fn on_server_event(&self, server: &str, event: &ServerEvent) {
        if let ServerEvent::Ready { took, .. } = event {
            self.0.lock().insert(server.to_owned(), *took);
        }
    }
}

pub(super) fn run(args: &McpTestArgs) -> Result<ExitCode, OperationFault> {
    let mut config = super::load_config(&args.place)?;
    for name in &args.names {
        super::find_by_name(&config, name)?;
    }
    if !args.names.is_empty() {
        config.servers.retain(|server| args.names.contains(&server.value.name));
        config.servers.iter_mut().for_each(|server| server.value.table.enabled = None);
    }
    let (cwd, dirs) = (working_directory(&args.place)?, UserDirs::from_env()?);
    let times = Arc::new(StartTimes::default());
    let health = super::super::block_on(async {
        let watch = Arc::clone(&times) as Arc<dyn ServerObserver>;
        let servers = mcp_servers::start(
            &config,
            &cwd,
            &dirs,
            McpClientDeps { observer: Some(watch), hints: program_hints(), ..McpClientDeps::default() },
        )?;
        session::mcp_servers::wait_until_settled(&servers).await;
        let health = servers.health();
        servers.close().await;
        Ok(health)
    })?;
    let times = times.0.lock().clone();
    let shown = if args.json { as_json(&health, &times).to_string() } else { String::new() };
    if args.json {
        terminal::print_text(&shown)?;
    } else {
        terminal::print_styled(&format_text(&health, &times))?;
    }
    let all = health.iter().all(|(_, health)| matches!(health, ServerHealth::Ready { .. }));
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn format_text(health: &[(String, ServerHealth)], times: &BTreeMap<String, Duration>) -> String {
    let width = health.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, health) in health {
        let _infallible = write!(text, "{NAME}{name:width$}{NAME:#}  ");
        match health {
            ServerHealth::Ready { about, tools, left_out, gaps } => {
                let took = times.get(name).map_or(0, Duration::as_millis);
                let who = format!("{} {}", about.name, about.version);
                let _infallible = writeln!(
                    text,
                    "{} tools in {took} ms  {FAINT}# {}, protocol {}{FAINT:#}",
                    tools.len(),
                    terminal::to_one_line(who.trim()),
                    terminal::to_one_line(&about.protocol)
                );
                for gap in gaps {
                    let _infallible = writeln!(text, "{:width$}  confined only in part: {gap}", "");
                }
                for why in left_out {
                    let _infallible =
                        writeln!(text, "{:width$}  left out: {}", "", terminal::to_one_line(why));
                }
            }
            ServerHealth::Starting => text.push_str("has not started\n"),
            ServerHealth::Failed(why) => {
                let _infallible = writeln!(text, "{}", terminal::to_one_line(why));
            }
        }
    }
    text
}

fn as_json(health: &[(String, ServerHealth)], times: &BTreeMap<String, Duration>) -> Value {
    let one = |(name, health): &(String, ServerHealth)| match health {
        ServerHealth::Ready { about, tools, left_out, gaps } => json!({
            "name": name,
            "usable": true,
            "protocol": about.protocol,
            "server": { "name": about.name, "version": about.version },
            "took_ms": times.get(name).map(|took| took.as_secs_f64() * 1000.0),
            "tools": tools,
            "left_out": left_out,
            "gaps": gaps,
        }),
        ServerHealth::Starting => json!({ "name": name, "usable": false, "why": "has not started" }),
        ServerHealth::Failed(why) => json!({ "name": name, "usable": false, "why": why }),
    };
    json!({ "servers": health.iter().map(one).collect::<Vec<_>>() })
}
