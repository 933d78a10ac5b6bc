//! Tests of the OpenTelemetry export: the real binary, a scripted model, real tools, and a collector on this machine.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, and may unwrap"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::TestWorkspace;

/// Words in the prompt, in arguments, files and outputs, which must not be exported.
const SECRET: &str = "hunter2";

/// A request that a collector received.
struct CollectorRequest {
    path: String,
    headers: String,
    body: Value,
}

/// A collector that always gives the same answer, or none.
struct FakeCollector {
    url: String,
    got: Receiver<CollectorRequest>,
}

impl FakeCollector {
    fn answering(answer: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, got) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let tell = tell.clone();
                std::thread::spawn(move || attend(stream.unwrap(), answer, &tell));
            }
        });
        Self { url, got }
    }

    fn taking() -> Self {
        Self::answering(Some("200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"))
    }

    fn got(&self) -> Vec<CollectorRequest> {
        self.got.try_iter().collect()
    }
}

/// Reads one request after another from a connection.
fn attend(stream: TcpStream, answer: Option<&str>, tell: &Sender<CollectorRequest>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") {
            (reader.read_line(&mut headers).ok()? > 0).then_some(())?;
        }
        let headers = headers.to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        let path = headers.split(' ').nth(1).unwrap().to_owned();
        tell.send(CollectorRequest { path, headers, body: serde_json::from_slice(&body).unwrap() }).ok()?;
        match answer {
            Some(answer) => write!(reader.get_mut(), "HTTP/1.1 {answer}").ok()?,
            // The collector is reachable but never answers.
            None => std::thread::park(),
        }
    }
}

/// A home and a workspace without any of the developer's files.
struct OtlpFixture {
    home: TempDir,
    workspace: TestWorkspace,
}

/// The exit status and output of a run.
struct OtlpRun {
    code: Option<i32>,
    out: String,
    err: String,
}

impl OtlpFixture {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), workspace: TestWorkspace::new() }
    }

    fn toolgate(&self, env: &[(&str, &str)], args: &[&str]) -> OtlpRun {
        let output = Command::new(env!("CARGO_BIN_EXE_toolgate"))
            .args(args)
            .current_dir(self.workspace.path())
            .env_clear()
            .env("HOME", self.home.path())
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        OtlpRun { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Exports the last session.
    fn export(&self, url: &str) -> OtlpRun {
        self.toolgate(&[], &["log", "last", "--otlp", url])
    }

    fn sessions(&self) -> PathBuf {
        self.home.path().join(".local/state/toolgate/sessions")
    }

    /// Runs a session with two successful calls and one failing call, in two requests.
    fn session(&self, env: &[(&str, &str)]) -> OtlpRun {
        self.workspace.write_file("hunter2.txt", "hunter2\n");
        let call = |name: &str, arguments: Value| json!({"type": "function_call", "name": name, "arguments": arguments});
        let turns = [
            json!({"delay_ms": 30, "items": [
                {"type": "message", "text": "hunter2"},
                call("read_file", json!({"path": "hunter2.txt"})),
                call("exec_command", json!({"cmd": "sleep 0.05; echo hunter2"})),
                call("nonesuch", json!({"hunter2": "hunter2"})),
            ]}),
            json!({"items": [{"type": "message", "text": "hunter2"}]}),
        ];
        let script = self.home.path().join("script.jsonl");
        fs::write(&script, turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
        let script = script.display().to_string();
        let fixed = ["run", "--script", &script, "--model", "m", "--sandbox", "workspace-write", "--json"];
        self.toolgate(env, &[&fixed[..], &["say hunter2"]].concat())
    }
}

fn endpoint(url: &str) -> [(&str, &str); 1] {
    [("OTEL_EXPORTER_OTLP_ENDPOINT", url)]
}

fn spans(got: &[CollectorRequest]) -> Vec<&Value> {
    let traces = got.iter().filter(|got| got.path.ends_with("/v1/traces"));
    traces
        .flat_map(|got| got.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap())
        .collect()
}

/// Returns the value of an attribute as text.
fn attribute(of: &Value, key: &str) -> Option<String> {
    let found = of["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key)?;
    let value = &found["value"];
    Some(value["stringValue"].as_str().or(value["intValue"].as_str()).unwrap().to_owned())
}

fn number(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn a_run_tells_a_collector_what_it_did_and_nothing_of_what_was_said() {
    let (desk, collector) = (OtlpFixture::new(), FakeCollector::taking());
    let url = format!("{}/base/", collector.url);
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%20k,x-scope=ours"),
        ("OTEL_SERVICE_NAME", "ci"),
    ];
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let before = now();
    let ran = desk.session(&env);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let got = collector.got();
    let paths: Vec<&str> = got.iter().map(|got| got.path.as_str()).collect();
    assert_eq!(paths, ["/base/v1/traces", "/base/v1/metrics"]);
    for got in &got {
        for header in ["content-type: application/json\r\n", "api-key: k k\r\n", "x-scope: ours\r\n"] {
            assert!(got.headers.contains(header), "{}", got.headers);
        }
        let body = got.body.to_string();
        assert!(!body.contains(SECRET) && !body.contains(desk.workspace.path().to_str().unwrap()), "{body}");
    }
    assert_eq!(attribute(&got[0].body["resourceSpans"][0]["resource"], "service.name").unwrap(), "ci");
    let spans = spans(&got);
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names[0], "invoke_agent toolgate");
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let expected =
        ["chat m", "chat m", "execute_tool exec_command", "execute_tool nonesuch", "execute_tool read_file"];
    assert_eq!(sorted, [&expected[..], &["invoke_agent toolgate"]].concat());
    let whole = spans[0];
    let (from, to) = (number(&whole["startTimeUnixNano"]), number(&whole["endTimeUnixNano"]));
    // The journal has millisecond resolution.
    assert!(before / 1_000_000 * 1_000_000 <= from && from < to && to <= now(), "{before} {from} {to}");
    for span in &spans[1..] {
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&whole["traceId"], &whole["spanId"]));
        let (began, ended) = (number(&span["startTimeUnixNano"]), number(&span["endTimeUnixNano"]));
        assert!(from <= began && began <= ended && ended <= to, "{span}");
    }
    assert!(whole.get("parentSpanId").is_none());
}

#[test]
fn spans_are_named_and_described_as_the_conventions_ask() {
    let (desk, collector) = (OtlpFixture::new(), FakeCollector::taking());
    let ran = desk.session(&endpoint(&collector.url));
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err);
    let got = collector.got();
    let spans = spans(&got);
    let named = |name: &str| *spans.iter().find(|span| span["name"] == name).unwrap();
    let told = |span: &Value, keys: &[&str]| -> Vec<Option<String>> {
        keys.iter().map(|key| attribute(span, key)).collect()
    };
    let some = |values: &[&str]| -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    };
    let id = attribute(named("invoke_agent toolgate"), "gen_ai.conversation.id").unwrap();
    let keys = ["gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.provider.name", "gen_ai.request.model"];
    assert_eq!(
        told(named("invoke_agent toolgate"), &keys),
        some(&["invoke_agent", "toolgate", "openai", "m"])
    );
    assert!(desk.sessions().join(format!("{id}.jsonl")).exists());
    let chat = named("chat m");
    let keys = [
        "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.usage.output_tokens",
    ];
    assert_eq!(told(chat, &keys), some(&["chat", "openai", "m", "10"]));
    assert_eq!((&chat["kind"], chat.get("status")), (&json!(3), None));
    let took = number(&chat["endTimeUnixNano"]) - number(&chat["startTimeUnixNano"]);
    assert!((30_000_000..10_000_000_000).contains(&took), "{took}");
    let keys = [
        "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.id", "error.type",
    ];
    for (tool, call, error) in [
        ("read_file", "call_0000_01", None),
        ("exec_command", "call_0000_02", None),
        ("nonesuch", "call_0000_03", Some("unknown_tool")),
    ] {
        let span = named(&format!("execute_tool {tool}"));
        let mut expected = some(&["execute_tool", tool, "function", call]);
        expected.push(error.map(str::to_owned));
        assert_eq!(told(span, &keys), expected);
        assert_eq!(span["status"]["code"], error.map_or(Value::Null, |_| json!(2)));
        assert_eq!(span["kind"], json!(1));
    }
    let slept = named("execute_tool exec_command");
    assert!(number(&slept["endTimeUnixNano"]) - number(&slept["startTimeUnixNano"]) >= 50_000_000);
}

#[test]
fn tokens_and_times_are_counted() {
    let (desk, collector) = (OtlpFixture::new(), FakeCollector::taking());
    desk.session(&endpoint(&collector.url));
    let got = collector.got();
    let metrics = got[1].body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let points = |name: &str| {
        let metric = metrics.iter().find(|metric| metric["name"] == name).unwrap();
        assert_eq!(metric["histogram"]["aggregationTemporality"], 2);
        metric["histogram"]["dataPoints"].as_array().unwrap().clone()
    };
    let tokens = points("gen_ai.client.token.usage");
    let output =
        tokens.iter().find(|point| attribute(point, "gen_ai.token.type").unwrap() == "output").unwrap();
    assert_eq!((&output["count"], &output["sum"]), (&json!("2"), &json!(20.0)));
    assert_eq!((tokens.len(), output["bucketCounts"][2].as_str()), (2, Some("2")));
    let requests = points("gen_ai.client.operation.duration");
    assert_eq!((requests.len(), requests[0]["count"].as_str()), (1, Some("2")));
    let calls = points("gen_ai.execute_tool.duration");
    let of = |tool: &str| {
        calls.iter().find(|point| attribute(point, "gen_ai.tool.name").unwrap() == tool).unwrap()
    };
    assert!(of("exec_command")["sum"].as_f64().unwrap() >= 0.05);
    assert_eq!(attribute(of("nonesuch"), "error.type").unwrap(), "unknown_tool");
    let counts = of("read_file")["bucketCounts"].as_array().unwrap();
    assert_eq!(counts.len(), of("read_file")["explicitBounds"].as_array().unwrap().len() + 1);
}

#[test]
fn a_session_that_is_sent_again_is_the_same() {
    let (desk, collector) = (OtlpFixture::new(), FakeCollector::taking());
    desk.session(&endpoint(&collector.url));
    let first = collector.got();
    let ran = desk.export(&collector.url);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.starts_with("sent 6 spans of 2"), "{}", ran.out);
    let again = collector.got();
    assert_eq!(first.len(), 2);
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((&first.path, &first.body), (&again.path, &again.body));
    }
}

#[test]
fn a_collector_that_is_away_is_one_line_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (url, why, lines) in [
        (away.as_str(), "Connection refused", 1),
        // The second line is the hint.
        ("http://collector.example.com:4318", "use https\nhint: a collector in your own network", 2),
        ("nowhere", "is not a URL", 1),
    ] {
        let desk = OtlpFixture::new();
        let ran = desk.session(&endpoint(url));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.starts_with("the session was not sent to the collector: "), "{}", ran.err);
        assert!(ran.err.contains(why) && ran.err.lines().count() == lines, "{}", ran.err);
    }
}

#[test]
fn a_collector_that_never_answers_is_not_waited_for() {
    let (desk, collector) = (OtlpFixture::new(), FakeCollector::answering(None));
    let began = Instant::now();
    let ran = desk.session(&endpoint(&collector.url));
    let took = began.elapsed();
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.err, "the session was not sent to the collector: it took longer than 2 s\n");
    assert!(took < Duration::from_secs(9), "{took:?}");
    assert_eq!(collector.got().len(), 1);
}

#[test]
fn rejected_export_is_explained() {
    let desk = OtlpFixture::new();
    let ran = desk.session(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for (answer, code, why) in [
        (
            "503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
            1,
            "it answered with 503 Service Unavailable",
        ),
        ("307 Elsewhere\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", 1, "307"),
        (
            "200 OK\r\ncontent-length: 60\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"6\",\"errorMessage\":\"no\"}} ",
            1,
            "it did not take 6 of them: no",
        ),
    ] {
        let collector = FakeCollector::answering(Some(answer));
        let ran = desk.export(&collector.url);
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    let ran = desk.export("http://example.com");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("use https"), "{}", ran.err);
}

#[test]
fn a_session_that_was_changed_is_sent_as_far_as_it_holds() {
    let desk = OtlpFixture::new();
    desk.session(&[]);
    let file = fs::read_dir(desk.sessions()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"success\":false", "\"success\":true")).unwrap();
    let collector = FakeCollector::taking();
    let ran = desk.export(&collector.url);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("was sent only in part: line "), "{}", ran.err);
    let got = collector.got();
    let failed = spans(&got).into_iter().find(|span| span["name"] == "execute_tool nonesuch").unwrap();
    assert_eq!(attribute(failed, "error.type").unwrap(), "unanswered");
}

/// A collector at a private address, in a network of its own: prints the paths that it got.
const PRIVATE_COLLECTOR: &str = r#"
import http.server, sys
class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        print(self.path, flush=True)
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("10.9.8.7", 4318), Collector)
open(sys.argv[1], "w").close()
server.serve_forever()
"#;

/// Starts the collector, and a program beside it once the collector listens on the FIFO `$2`.
const BESIDE_COLLECTOR: &str = r#"
ip link set lo up && ip addr add 10.9.8.7/32 dev lo || exit 90
mkfifo "$2"
python3 "$1" "$2" & collector=$!
read -r line < "$2"
shift 2
"$@"; status=$?
kill $collector
exit $status
"#;

#[test]
fn plain_http_to_a_private_address_needs_the_flag_or_the_setting() {
    let able = Command::new("unshare").args(["-rn", "ip", "link", "set", "lo", "up"]).output();
    if !able.is_ok_and(|ran| ran.status.success()) {
        testkit::not_run("a collector at a private address", "no network namespace can be made");
        return;
    }
    let desk = OtlpFixture::new();
    assert_eq!(desk.session(&[]).code, Some(0));
    let program = desk.home.path().join("collector.py");
    fs::write(&program, PRIVATE_COLLECTOR).unwrap();
    let url = "http://10.9.8.7:4318";
    let (fifo, script) = (desk.home.path().join("ready"), desk.home.path().join("script.jsonl"));
    let beside = |env: &[(&str, &str)], args: &[&str]| {
        let _from_before = fs::remove_file(&fifo);
        let ran = Command::new("unshare")
            .args(["-rn", "sh", "-c", BESIDE_COLLECTOR, "sh"])
            .args([&program, &fifo])
            .arg(env!("CARGO_BIN_EXE_toolgate"))
            .args(args)
            .current_dir(desk.workspace.path())
            .env("HOME", desk.home.path())
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    };
    let hint = "hint: a collector in your own network needs --insecure-http, or `insecure_http = true` in your configuration\n";
    let log = ["log", "last", "--otlp", url];
    let (code, out, err) = beside(&[], &log);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("use https") && err.ends_with(hint), "{err}");
    let (code, out, err) = beside(&[], &[&log[..], &["--insecure-http"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("/v1/traces\n") && out.contains("spans of"), "{out}");
    // A run needs the flag too: the variable alone is no consent.
    let run = ["run", "--script", script.to_str().unwrap(), "--model", "m", "go"];
    let (code, out, err) = beside(&endpoint(url), &run);
    assert!(code == Some(0) && err.contains("use https") && err.contains(hint), "{out}{err}");
    let (code, out, err) = beside(&endpoint(url), &[&run[..], &["--insecure-http"]].concat());
    assert!(code == Some(0) && out.contains("/v1/traces\n"), "{out}{err}");
    let config = desk.home.path().join(".config/toolgate");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "insecure_http = true\n").unwrap();
    for (env, args) in [(&endpoint(url)[..], &run[..]), (&[], &log)] {
        let (code, out, err) = beside(env, args);
        assert!(code == Some(0) && out.contains("/v1/traces\n"), "{out}{err}");
    }
}
