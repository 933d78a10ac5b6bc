//! A scripted model over real HTTP: the Responses API, streamed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Answers each request with one item, in order.
pub(crate) struct ScriptedModel {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<TimedRequest>>>,
}

/// A request with the times of its arrival and its answer.
struct TimedRequest {
    body: Value,
    came: Instant,
    answered: Instant,
}

/// An item that ends a turn.
pub(crate) fn message_item(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
}

impl ScriptedModel {
    pub(crate) fn start(items: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::<Mutex<Vec<TimedRequest>>>::default();
        let (kept, items) = (Arc::clone(&heard), Arc::new(Mutex::new(items.into_iter())));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (kept, items) = (Arc::clone(&kept), Arc::clone(&items));
                let Ok(stream) = stream else { continue };
                thread::spawn(move || {
                    // ends: when the client hangs up
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some((path, body)) = request(&mut reader) {
                        if !path.ends_with("/responses") {
                            answer(&stream, "404 Not Found", "application/json", "{}");
                            continue;
                        }
                        let came = Instant::now();
                        let item = items.lock().next();
                        let events = events(&item.unwrap_or_else(|| message_item("over")));
                        kept.lock().push(TimedRequest { body, came, answered: Instant::now() });
                        answer(&stream, "200 OK", "text/event-stream", &events);
                    }
                });
            }
        });
        Self { address, heard }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the bodies of all requests so far.
    pub(crate) fn request_bodies(&self) -> Vec<Value> {
        self.heard.lock().iter().map(|heard| heard.body.clone()).collect()
    }

    /// Returns the time from each answer to the next request.
    pub(crate) fn turnarounds(&self) -> Vec<Duration> {
        let heard = self.heard.lock();
        heard.windows(2).map(|pair| pair[1].came - pair[0].answered).collect()
    }
}

/// Reads the path and the body of the next request.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    // ends: with the empty line after the head
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &str) {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    // A client that has hung up reads nothing.
    let _gone = stream.write_all((head + body).as_bytes());
}

fn events(item: &Value) -> String {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}});
    let response = |output: Value| json!({"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage});
    let all = [
        json!({"type": "response.created", "response": response(json!([]))}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response(json!([item]))}),
    ];
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    all.iter().map(event).collect()
}
