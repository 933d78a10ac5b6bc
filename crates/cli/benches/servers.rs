//! Benchmarks of MCP servers: a call against bare `rmcp` and against Codex, and the first turn with ten servers.
//!
//! `just bench` runs it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark runs peers, prints, and may unwrap"
)]

mod scripted_model;

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use runtime::mcp::{CallApproval, McpClientDeps, McpServerConfig, McpServers, ServerTransport};
use runtime::{ConfinedServerProgram, ToolSource, Toolgate, json};
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;

const SERVER: &str = env!("CARGO_BIN_EXE_toolgate");
const ROUNDS: usize = 2_000;
const TURNS: usize = 15;
const CALLS: usize = 40;

fn main() {
    println!("| work | us | peer | ratio |\n|---|--:|--:|--:|");
    let runtime = Runtime::new().unwrap();
    call("many threads", &runtime);
    call("one thread", &tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    through_codex();
    first_turn(&runtime);
}

/// Measures the time from a model's call to its answer, in Codex and in a Toolgate session.
fn through_codex() {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let arguments = plan().to_string();
    let calls = (0..CALLS).map(|number| {
        json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("c{number}"),
            "namespace": "mcp__t", "name": "update_plan", "arguments": arguments})
    });
    let model =
        scripted_model::ScriptedModel::start(calls.chain([scripted_model::message_item("over")]).collect());
    let provider = format!(
        "model_providers.fake={{name=\"fake\",base_url=\"http://{}/v1\",wire_api=\"responses\",env_key=\"FAKE_KEY\"}}",
        model.address()
    );
    let server = format!("mcp_servers.t={{command={},args=[\"mcp\"]}}", json!(SERVER));
    let settings = ["model_provider=fake", "model=gpt-5", &provider, &server];
    let ran = Command::new(testkit::node::node_binary())
        .arg(testkit::node::codex_script())
        .args(["exec", "--skip-git-repo-check", "--sandbox", "read-only", "--json"])
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .arg("measure")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CODEX_HOME", home.path())
        .env("FAKE_KEY", "x")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(model.request_bodies().len(), CALLS + 1, "{}", String::from_utf8_lossy(&ran.stdout));
    row(
        "the same call in `toolgate pipe`, from word to answer / in Codex",
        median(in_pipe()),
        median(model.turnarounds()),
    );
}

fn in_pipe() -> Vec<Duration> {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/toolgate/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    // The user's own files are hidden from a server, so a server that is Toolgate itself gets its own home.
    let theirs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let table = format!(
        "[mcp_servers.t]\ncommand = {}\nargs = [\"mcp\"]\nenv = {{ TOOLGATE_HOME = {} }}\napproval = \"allow\"\n",
        json!(SERVER),
        json!(theirs.path())
    );
    std::fs::write(&config, table).unwrap();
    let mut child = Command::new(SERVER)
        .arg("pipe")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("HOME", home.path())
        .env_remove("TOOLGATE_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut lines) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    let arguments = plan().to_string();
    let times = (0..=CALLS).map(|number| {
        let call = json!({"type": "function_call", "call_id": format!("c{number}"), "name": "mcp__t__update_plan", "arguments": arguments});
        let began = Instant::now();
        writeln!(input, "{call}").unwrap();
        let answer = lines.next().unwrap().unwrap();
        assert!(answer.contains("Plan updated"), "{answer}");
        began.elapsed()
    });
    // The first call waits for the server.
    let times = times.skip(1).collect();
    drop(input);
    child.wait().unwrap();
    times
}

/// A call to a tool that does almost nothing.
fn plan() -> runtime::Value {
    json!({"steps": [{"description": "measure", "status": "pending"}]})
}

fn server(name: &str, argv: &[&str]) -> McpServerConfig {
    let argv = argv.iter().map(|&word| word.to_owned()).collect();
    let transport =
        ServerTransport::Program(Arc::new(ConfinedServerProgram::new(argv, env!("CARGO_MANIFEST_DIR"))));
    McpServerConfig { approval: CallApproval::Allow, ..McpServerConfig::new(name, transport) }
}

fn call(threads: &str, runtime: &Runtime) {
    let (servers, toolgate) = runtime.block_on(async {
        let servers = McpServers::start(vec![server("t", &[SERVER, "mcp"])], &McpClientDeps::default());
        servers.wait_until_settled(None).await;
        let source = Arc::clone(&servers) as Arc<dyn ToolSource>;
        (servers, Toolgate::at(env!("CARGO_MANIFEST_DIR")).with_tools().tool_source(source).build().unwrap())
    });
    let (bare, mut child) = runtime.block_on(bare());
    let mut us = || {
        let output = runtime.block_on(toolgate.call("mcp__t__update_plan", plan()));
        assert!(output.success, "{}", output.joined_text());
    };
    let mut peer = || {
        let arguments = plan().as_object().unwrap().clone();
        let params = CallToolRequestParams::new("update_plan").with_arguments(arguments);
        assert!(runtime.block_on(bare.call_tool(params)).unwrap().is_error != Some(true));
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(timed(&mut us));
        theirs.push(timed(&mut peer));
    }
    row(
        &format!("{threads}: a call of a confined server's tool / the same by bare `rmcp`, not confined"),
        median(ours),
        median(theirs),
    );
    drop((servers, bare));
    child.kill().unwrap();
    child.wait().unwrap();
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn row(work: &str, us: Duration, peer: Duration) {
    let ratio = us.as_secs_f64() / peer.as_secs_f64();
    println!("| {work} | {us:.2?} | {peer:.2?} | {ratio:.2} |");
}

/// A client of plain `rmcp` that speaks the same protocol revision.
async fn bare() -> (RunningService<RoleClient, ()>, Child) {
    let mut child = Command::new(SERVER)
        .arg("mcp")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = pipe::Sender::from_owned_fd(OwnedFd::from(child.stdin.take().unwrap())).unwrap();
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(child.stdout.take().unwrap())).unwrap();
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    (().serve_with_lifecycle((output, input), mode).await.unwrap(), child)
}

/// Measures from a cold start to the first answer and the model's tool list.
fn turn(runtime: &Runtime, servers: &dyn Fn() -> Vec<McpServerConfig>) -> Duration {
    runtime.block_on(async {
        let began = Instant::now();
        let servers = McpServers::start(servers(), &McpClientDeps::default());
        let source = Arc::clone(&servers) as Arc<dyn ToolSource>;
        let toolgate =
            Toolgate::at(env!("CARGO_MANIFEST_DIR")).with_tools().tool_source(source).build().unwrap();
        let told = toolgate.router().registry().offered_specs().len();
        let output = toolgate.call("update_plan", plan()).await;
        assert!(output.success && told > 0);
        began.elapsed()
    })
}

fn first_turn(runtime: &Runtime) {
    let ten = || -> Vec<McpServerConfig> {
        let nine = (0..9).map(|number| server(&format!("s{number}"), &[SERVER, "mcp"]));
        nine.chain([server("hangs", &["/bin/sleep", "1000"])]).collect()
    };
    let turns = |servers: &dyn Fn() -> Vec<McpServerConfig>| {
        median((0..TURNS).map(|_| turn(runtime, servers)).collect())
    };
    let (with, without) = (turns(&ten), turns(&Vec::new));
    row("the first turn beside ten servers, one of which hangs / without any", with, without);
    println!(
        "\nTen servers delay the first turn by {:.2?}; 50 ms are the most.",
        with.saturating_sub(without)
    );
}
