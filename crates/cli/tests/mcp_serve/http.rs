//! Tests of the HTTP transport: token, host and origin checks, session ids, refused flags, limits and disconnects.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::server_process::{McpFixture, PATIENCE, file_mode, result_text, stateless_meta, wait_until_runs};

const TOKEN: &str = "a-canary-that-must-not-appear-anywhere-0123456789";

/// A server over HTTP.
struct McpHttpServer {
    child: Child,
    port: u16,
    /// Its messages until it listened.
    said: String,
    rest: Option<BufReader<std::process::ChildStderr>>,
}

impl McpHttpServer {
    fn start(world: &McpFixture, args: &[&str]) -> Self {
        let mut command = world.command(&[&["mcp", "--http", "127.0.0.1:0"], args].concat());
        command.env("TOKEN", TOKEN).env("TOOLGATE_LOG", "trace");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("claude mcp add") {
            assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let port =
            said.split("http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
        Self { child, port, said, rest: Some(errors) }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sends the bytes of a request, and returns the whole response.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // A rejected request need not be read to its end.
        let _refused = stream.write_all(request);
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request with these headers, and returns the status and the whole response.
    fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut head = format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let answer = self.raw(format!("{head}\r\n{body}").as_bytes());
        (status(&answer), answer)
    }

    /// Posts a message of the stateless era with valid headers, except for the `changed` ones.
    fn post(&self, message: &Value, changed: &[(&str, &str)]) -> (u16, String) {
        let (host, bearer) = (self.host(), format!("Bearer {TOKEN}"));
        let method = message["method"].as_str().unwrap();
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let mut headers = vec![
            ("host", host.as_str()),
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", name));
        }
        for (name, value) in changed {
            headers.retain(|(known, _)| known != name);
            if !value.is_empty() {
                headers.push((name, value));
            }
        }
        self.send("POST /mcp", &headers, &message.to_string())
    }

    /// Stops the server, and returns the rest of its messages.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut said = self.said.clone();
        self.rest.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for McpHttpServer {
    fn drop(&mut self) {
        let _over = self.child.kill();
        let _over = self.child.wait();
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn read() -> Value {
    let arguments = json!({ "path": "a.txt" });
    let params = json!({ "_meta": stateless_meta(&json!({})), "name": "read_file", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// Returns the JSON in a response, which may be an event.
fn message(answer: &str) -> Value {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: ").or(Some(line)));
    data.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(Value::is_object).expect(answer)
}

#[test]
fn only_requests_with_the_token_are_served() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    let (status, answer) = server.post(&read(), &[]);
    assert_eq!((status, result_text(&message(&answer)["result"])), (200, "1| one\n2| two"), "{answer}");
    let wrong = TOKEN.replace('9', "8");
    let wrong = format!("Bearer {wrong}");
    for (changed, expected) in [
        (("authorization", ""), 401),
        (("authorization", "Bearer "), 401),
        (("authorization", wrong.as_str()), 401),
        (("authorization", TOKEN), 401),
        (("host", ""), 403),
        (("host", "evil.example"), 403),
        (("host", "evil.example:80"), 403),
        (("host", "127.0.0.1"), 403),
        (("host", "localhost:1"), 403),
        (("origin", "http://evil.example"), 403),
        (("origin", "https://localhost.evil.example"), 403),
        (("origin", "null"), 403),
        (("content-type", "text/plain"), 415),
        (("content-type", ""), 415),
        (("origin", "http://localhost:5173"), 200),
    ] {
        let (status, answer) = server.post(&read(), &[changed]);
        // Without a `Host` header, the request is invalid HTTP/1.1.
        let expected = if changed == ("host", "") && status == 400 { 400 } else { expected };
        assert_eq!(status, expected, "{changed:?}: {answer}");
        assert!(!answer.to_ascii_lowercase().contains("access-control-allow"), "{answer}");
    }
    // The log does not contain the token.
    let said = server.end();
    assert!(said.contains("a request was rejected"), "{said}");
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn foreign_host_or_origin_is_refused_before_the_body() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    for head in ["host: evil.example", &format!("host: {}\r\norigin: http://evil.example", server.host())] {
        let request = format!("POST /mcp HTTP/1.1\r\n{head}\r\ncontent-length: 1000000000\r\n\r\n");
        let answer = server.raw(request.as_bytes());
        assert_eq!(status(&answer), 403, "{answer}");
    }
    let request =
        format!("POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-length: 1000000000\r\n\r\n", server.host());
    assert_eq!(status(&server.raw(request.as_bytes())), 401);
}

#[test]
fn malformed_or_oversized_requests_are_rejected() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    let mut long = read();
    long["params"]["arguments"]["path"] = json!("x".repeat(5 << 20));
    assert_eq!(server.post(&long, &[]).0, 413);
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    let mut deeper = read();
    deeper["params"]["arguments"]["path"] = deep;
    assert_eq!(server.post(&deeper, &[]).0, 400);
    let (host, bearer) = (server.host(), format!("Bearer {TOKEN}"));
    let headers = [("host", host.as_str()), ("authorization", bearer.as_str())];
    for line in ["POST //mcp", "POST /mcp/", "POST /%6dcp", "POST /mcp%2e", "POST /x/../mcp", "GET /"] {
        assert_eq!(server.send(line, &headers, "").0, 404, "{line}");
    }
    let smuggled = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: {bearer}\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"
    );
    assert_eq!(status(&server.raw(smuggled.as_bytes())), 400);
    let long = "x".repeat(400 << 10);
    let status = server.send("POST /mcp", &[("host", &host), ("x-long", &long)], "").0;
    assert!(status == 431 || status == 0, "{status}");
    assert_eq!(server.post(&read(), &[]).0, 200);
}

#[test]
fn older_era_session_ids_are_unguessable() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let older = ("mcp-protocol-version", "2025-11-25");
    let session = || {
        let (status, answer) = server.post(&hello, &[older]);
        assert_eq!(status, 200, "{answer}");
        let header = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        header.expect(&answer).to_owned()
    };
    let (one, other) = (session(), session());
    assert!(one != other && one.len() >= 32, "{one} {other}");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    assert_eq!(server.post(&list, &[older, ("mcp-session-id", &one)]).0, 200);
    let guessed = one.replace(|letter: char| letter.is_ascii_digit(), "0");
    assert_eq!(server.post(&list, &[older, ("mcp-session-id", &guessed)]).0, 404);
    let stolen = [older, ("mcp-session-id", &one), ("authorization", "Bearer nothing")];
    assert_eq!(server.post(&list, &stolen).0, 401);
    // A client that disconnects ends the session.
    let (host, bearer) = (server.host(), format!("Bearer {TOKEN}"));
    let headers = [("host", host.as_str()), ("authorization", &bearer), ("mcp-session-id", &one), older];
    assert_eq!(server.send("DELETE /mcp", &headers, "").0, 204);
    assert_eq!(server.post(&list, &[older, ("mcp-session-id", &one)]).0, 404);
}

#[test]
fn a_token_is_made_once_and_only_its_user_reads_it() {
    let world = McpFixture::new();
    let file = world.home.path().join(".local/state/toolgate/mcp/token");
    let server = McpHttpServer::start(&world, &[]);
    let token = std::fs::read_to_string(&file).unwrap();
    assert_eq!((token.len(), file_mode(&file), file_mode(file.parent().unwrap())), (64, 0o600, 0o700));
    assert!(server.said.contains(file.to_str().unwrap()) && !server.said.contains(&token), "{}", server.said);
    let bearer = format!("Bearer {token}");
    assert_eq!(server.post(&read(), &[("authorization", &bearer)]).0, 200);
    drop(server);
    let server = McpHttpServer::start(&world, &[]);
    assert_eq!(server.post(&read(), &[("authorization", &bearer)]).0, 200);
}

#[test]
fn no_command_reads_the_token() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--sandbox", "workspace-write", "--read-root", "/"]);
    let file = world.home.path().join(".local/state/toolgate/mcp/token");
    let bearer = format!("Bearer {}", std::fs::read_to_string(&file).unwrap());
    for (tool, arguments) in [
        ("exec_command", json!({ "cmd": format!("cat {}; echo over", file.display()) })),
        ("read_file", json!({ "path": file })),
    ] {
        let mut call = read();
        call["params"]["name"] = json!(tool);
        call["params"]["arguments"] = arguments;
        let (status, answer) = server.post(&call, &[("authorization", &bearer)]);
        assert_eq!(status, 200, "{answer}");
        assert!(!answer.contains(&bearer["Bearer ".len()..]), "{answer}");
    }
}

#[test]
fn unsafe_http_flags_are_refused() {
    let world = McpFixture::new();
    for (args, says) in [
        (&["--http", "0.0.0.0:0"][..], "can be reached from other machines"),
        (&["--http", "[::]:0"], "can be reached from other machines"),
        (&["--http", "127.0.0.1:0", "--token-env", "NONE"], "there is no token in the variable `NONE`"),
        (&["--http", "127.0.0.1:0", "--token-env", "SHORT"], "could be guessed"),
        (&["--token-env", "SHORT"], "--http"),
        (&["--http", "localhost"], "an address of this machine and a port"),
        (&["--http", "0.0.0.0:0", "--allow-remote", ""], "the name or address by which clients reach"),
        (&["--root", "/nowhere"], "/nowhere"),
    ] {
        let mut command = world.command(&[&["mcp"], args].concat());
        let ran = command.env("SHORT", "secret").stdin(Stdio::null()).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
}

#[test]
fn beyond_this_machine_it_answers_to_the_names_it_was_given() {
    let world = McpFixture::new();
    let server =
        McpHttpServer::start(&world, &["--token-env", "TOKEN", "--allow-remote", "build.example.org"]);
    for (host, expected) in [("build.example.org", 200), ("other.example.org", 403)] {
        assert_eq!(server.post(&read(), &[("host", host)]).0, expected, "{host}");
    }
    assert_eq!(server.post(&read(), &[]).0, 200);
    let line = format!("toolgate http://build.example.org:{}/mcp --header", server.port);
    assert!(server.said.contains(&line), "{}", server.said);
}

#[test]
fn the_name_of_this_machine_is_an_address_and_an_empty_token_is_made_anew() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &[]);
    let file = world.home.path().join(".local/state/toolgate/mcp/token");
    drop(server);
    std::fs::write(&file, "").unwrap();
    let serve = || {
        let mut command = world.command(&["mcp", "--http", "localhost:0"]);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let refused = serve().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).replace(world.home.path().to_str().unwrap(), "~");
    insta::assert_snapshot!(said, @"
    error: the token in ~/.local/state/toolgate/mcp/token is empty
    hint: remove it, and it is made anew
    ");
    std::fs::remove_file(&file).unwrap();
    let mut child = serve();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("serving at http://127.0.0.1:"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn slow_request_head_times_out() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    let began = std::time::Instant::now();
    let answer = server.raw(format!("POST /mcp HTTP/1.1\r\nhost: {}\r\n", server.host()).as_bytes());
    assert!(began.elapsed() < PATIENCE && [0, 408].contains(&status(&answer)), "{answer}");
}

#[test]
fn a_client_that_hangs_up_gives_its_call_up() {
    let world = McpFixture::new();
    let server = McpHttpServer::start(&world, &["--token-env", "TOKEN"]);
    let marker = format!("33{}", std::process::id());
    let mut call = read();
    call["params"]["name"] = json!("exec_command");
    call["params"]["arguments"] =
        json!({ "cmd": format!("echo begun; sleep {marker}"), "yield_time_ms": 30000 });
    call["params"]["_meta"]["progressToken"] = json!(1);
    let body = call.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
         mcp-name: exec_command\r\ncontent-length: {}\r\n\r\n{body}",
        server.host(),
        body.len()
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("begun")));
    wait_until_runs(&marker, true);
    drop(lines);
    wait_until_runs(&marker, false);
}
