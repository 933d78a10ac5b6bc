//! A model loop of your own: a streamed response in, calls run while it streams, answers out, until the model is done.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(clippy::disallowed_methods, reason = "an example starts the server that stands for the model")]

use std::error::Error;

use futures_util::StreamExt;
use toolgate::Toolgate;
use toolgate::agent::{ModelBackend, ModelEndpoint, ScriptedBackend, ScriptedModelServer, ScriptedTurn};
use toolgate::wire::{ApiCompat, Dialect, ModelRequest, ModelStreamEvent, ResponseEnd};

const WIRE: Dialect = Dialect::Anthropic;
const SCRIPT: &str = r#"
{"items": [{"type": "function_call", "name": "shell_command", "arguments": {"command": "uname"}}]}
{"items": [{"type": "message", "text": "This is Linux."}]}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A real HTTP server plays the model. For a real one: "https://api.anthropic.com/v1" and your key.
    let script = ScriptedBackend::new(WIRE, ScriptedTurn::parse_script(SCRIPT)?);
    let server = ScriptedModelServer::bind(0, script).await?;
    let url = format!("http://{}/v1", server.local_addr()?);
    tokio::spawn(server.serve(|path, body| println!("POST {path}, {} bytes", body.len())));
    let model = ModelEndpoint::new(WIRE, &url, Some("my-key"))?;

    let toolgate = Toolgate::at(".").with_tools().build()?;
    let specs = toolgate.router().registry().offered_specs();
    let tools = WIRE.tools(&specs.iter().collect::<Vec<_>>(), &ApiCompat::default()).to_string();
    let mut items = vec![WIRE.serialize_item(&WIRE.user_message("What is here?", &[]))];
    for _ in 0..50 {
        let request = ModelRequest { tools: &tools, ..ModelRequest::new("claude-sonnet-4-5", &items) };
        let mut stream = model.respond(WIRE.request_body(&request)).await?;
        let (mut decoder, mut calls, mut end) = (WIRE.stream_decoder(), toolgate.call_runtime(), None);
        while end.is_none() {
            let events = match stream.next().await {
                Some(json) => decoder.push(&json?),
                None => decoder.finish(),
            };
            for event in events {
                match event {
                    ModelStreamEvent::Text(text) => println!("{text}"),
                    // The call runs from now on, beside the stream and other calls.
                    ModelStreamEvent::Call(call) => calls.start(call)?,
                    ModelStreamEvent::End(ResponseEnd::Failed(error)) => return Err(error.into()),
                    ModelStreamEvent::End(_) => end = Some(()),
                    // Thoughts, token usage, and calls that cannot be parsed: these are answered below.
                    _ => {}
                }
            }
        }
        let mut answers = Vec::new();
        while let Some(answered) = calls.next_answer().await {
            println!("{}: {} bytes", answered.call.name, answered.output.joined_text().len());
            answers.push((answered.call.id, answered.output));
        }
        let turn = decoder.into_turn();
        let replies = WIRE.turn_replies(&turn, answers.iter().map(|(id, output)| (id, output)));
        if replies.is_empty() {
            return Ok(());
        }
        let more = [WIRE.assistant_turn(&turn), replies].concat();
        items.extend(more.iter().map(|item| WIRE.serialize_item(item)));
    }
    Err("the model does not come to an end".into())
}
