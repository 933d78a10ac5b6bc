//! The commands `/ps` and `/kill`: lists the processes that run in the background, and ends them.

use std::time::Duration;

use config::OperationFault;
use runtime::{Toolgate, Value, json};

use super::call_lines::format_duration;

/// The argument of `/kill` that ends every process.
const ALL: &str = "all";

/// Lists the processes that run in the background.
pub(super) async fn list_processes(toolgate: &Toolgate) -> String {
    let listed = toolgate.call("list_sessions", json!({})).await;
    let sessions = listed.structured.as_ref().and_then(|listed| listed["sessions"].as_array());
    process_table(sessions.map_or(&[], Vec::as_slice))
}

/// Ends the process with the number in `argument`, or all. Returns a line about each that ended.
pub(super) async fn kill_processes(
    toolgate: &Toolgate,
    argument: &str,
) -> Result<Vec<String>, OperationFault> {
    let ids = match argument {
        ALL => toolgate.process_ids(),
        number => vec![parse_id(number)?],
    };
    let mut ended = Vec::new();
    for id in ids {
        let command = toolgate.find_process(id).map(|process| process.origin().command.clone());
        let Some(command) = command else {
            return Err(OperationFault::failed(format!("no process has the number {id}"))
                .with_hint("`/ps` lists the processes that run in the background"));
        };
        let output = toolgate.call("kill_session", json!({ "session_id": id })).await;
        if !output.success {
            return Err(OperationFault::failed(format!("{id} has not ended: {}", output.joined_text())));
        }
        let first_line = command.lines().next().unwrap_or_default();
        ended.push(format!("ended {id}: {}", terminal::to_one_line(first_line)));
    }
    Ok(ended)
}

/// Returns what `/kill` takes: the numbers of the processes, and `all`.
pub(super) fn kill_arguments(toolgate: &Toolgate) -> Vec<String> {
    let ids = toolgate.process_ids();
    let all = (!ids.is_empty()).then(|| ALL.to_owned());
    ids.iter().map(u32::to_string).chain(all).collect()
}

fn parse_id(text: &str) -> Result<u32, OperationFault> {
    text.parse().map_err(|_| {
        OperationFault::usage("/kill takes the number of a process, or `all`")
            .with_hint("`/ps` lists the processes that run in the background")
    })
}

/// Formats the processes that run in the background.
fn process_table(sessions: &[Value]) -> String {
    if sessions.is_empty() {
        return "nothing runs in the background".to_owned();
    }
    let row = |number: &str, state: &str, time: &str, command: &str| {
        format!("{number:<8} {state:<12} {time:>10}   {command}")
    };
    let mut rows = vec![row("NUMBER", "STATE", "TIME", "COMMAND")];
    rows.extend(sessions.iter().map(|session| {
        let time = Duration::from_secs_f64(session["wall_time_seconds"].as_f64().unwrap_or_default());
        let command = terminal::to_one_line(session["command"].as_str().unwrap_or_default());
        let state = session["state"].as_str().unwrap_or_default();
        row(&session["session_id"].to_string(), state, &format_duration(time), &command)
    }));
    rows.push("`/kill NUMBER` ends one, `/kill all` ends all".to_owned());
    rows.join("\n")
}
