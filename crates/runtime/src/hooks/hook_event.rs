//! Converts a call to the JSON that a hook reads.

use engine::PlannedCall;
use policy::{Effect, Escalation, ForeignToolCall, MemoryNote, ProgramInput, ToolTrust};
use serde_json::{Map, Value, json};
use tool::{ToolOutput, ToolPayload, replace_lone_surrogates, truncate_middle};

/// Maximum tokens of an answer for a hook: twice the limit of any model, so that nothing gets past the hook.
const TEXT_TOKENS: usize = 2_000_000;

/// Returns the event before the verdict.
pub(super) fn before_event(call: PlannedCall<'_>) -> Value {
    event_json("before_call", call)
}

/// Returns the event after the answer.
pub(super) fn after_event(call: PlannedCall<'_>, output: &ToolOutput) -> Value {
    let mut event = event_json("after_call", call);
    let (text, cut) = truncate_middle(&output.joined_text(), TEXT_TOKENS, "a hook gets no more");
    event["success"] = json!(output.success);
    event["error"] = json!(output.facts.error.map(tool::ToolErrorKind::as_str));
    event["text"] = json!(text);
    event["text_cut"] = json!(cut.is_some());
    event["exit_code"] = json!(output.facts.exit_code);
    event
}

fn event_json(name: &str, PlannedCall { tool, call, intent, working_dir }: PlannedCall<'_>) -> Value {
    json!({
        "event": name,
        "call_id": call.id.as_str(),
        "tool": tool,
        "arguments": arguments_json(&call.payload),
        "cwd": working_dir.cwd.to_string_lossy(),
        "effects": intent.effects.iter().map(effect_json).collect::<Vec<_>>(),
        "escalation": intent.escalation == Escalation::Required,
        "justification": intent.justification,
    })
}

/// Returns the arguments as the model wrote them; as `input` if they are not JSON.
fn arguments_json(payload: &ToolPayload) -> Value {
    let text = payload.arguments();
    let read = match payload {
        ToolPayload::Custom { .. } => None,
        _ if text.trim().is_empty() => Some(Value::Object(Map::new())),
        _ => serde_json::from_str(replace_lone_surrogates(&text).as_deref().unwrap_or(&text)).ok(),
    };
    read.unwrap_or_else(|| json!({ "input": text }))
}

fn effect_json(effect: &Effect) -> Value {
    match effect {
        Effect::Read(path) => json!({ "read": path.to_string_lossy() }),
        Effect::Write(path) => json!({ "write": path.to_string_lossy() }),
        Effect::Exec(exec) => {
            let cwd = exec.cwd().to_string_lossy();
            json!({ "run": { "argv": exec.line().argv(), "cwd": cwd, "terminal": exec.terminal } })
        }
        Effect::SendInput(ProgramInput { command_line: into, text, confined }) => {
            json!({ "type": { "into": into, "text": text, "confined": confined } })
        }
        Effect::Network(host) => json!({ "connect": host }),
        Effect::Foreign(ForeignToolCall { server, tool, trust, .. }) => {
            json!({ "foreign": { "server": server, "tool": tool, "read_only": *trust == ToolTrust::ReadOnly } })
        }
        Effect::Remember(MemoryNote { name, scope, text }) => {
            json!({ "remember": { "name": name, "scope": scope, "text": text } })
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use policy::{ExecEffect, Intent};
    use tool::{LocalShellCall, OutputFacts, ToolCall, ToolErrorKind, WorkingDir};

    use super::*;

    fn before_event_json(payload: ToolPayload, effects: Vec<Effect>) -> Value {
        let call = ToolCall { id: "c1".into(), name: "alias".to_owned(), payload };
        let intent =
            Intent::from_effects(effects).with_escalation(Escalation::Required, Some("why".to_owned()));
        let place = WorkingDir { cwd: "/w".into() };
        before_event(PlannedCall { tool: "shell", call: &call, intent: &intent, working_dir: &place })
    }

    #[test]
    fn a_hook_reads_what_a_call_would_do() {
        let typing =
            ProgramInput { command_line: "python3".to_owned(), text: "1\n".to_owned(), confined: true };
        let foreign = ForeignToolCall {
            server: "s".to_owned(),
            tool: "t".to_owned(),
            definition: "d".to_owned(),
            trust: ToolTrust::ReadOnly,
        };
        let effects = vec![
            Effect::Read("/w/a".into()),
            Effect::Write("/w/b".into()),
            Effect::Exec(ExecEffect::new(vec!["ls".to_owned()], "/w")),
            Effect::Network("example.org:443".to_owned()),
            Effect::SendInput(typing),
            Effect::Foreign(foreign),
        ];
        let arguments = r#"{"command": ["ls"], "emoji": "\ud83d\ude00 \ud83d \u0000"}"#.to_owned();
        let event = before_event_json(ToolPayload::Function { arguments }, effects);
        assert_snapshot!(format!("{event:#}"), @r#"
        {
          "arguments": {
            "command": [
              "ls"
            ],
            "emoji": "😀 � \u0000"
          },
          "call_id": "c1",
          "cwd": "/w",
          "effects": [
            {
              "read": "/w/a"
            },
            {
              "write": "/w/b"
            },
            {
              "run": {
                "argv": [
                  "ls"
                ],
                "cwd": "/w",
                "terminal": false
              }
            },
            {
              "connect": "example.org:443"
            },
            {
              "type": {
                "confined": true,
                "into": "python3",
                "text": "1\n"
              }
            },
            {
              "foreign": {
                "read_only": true,
                "server": "s",
                "tool": "t"
              }
            }
          ],
          "escalation": true,
          "event": "before_call",
          "justification": "why",
          "tool": "shell"
        }
        "#);
    }

    #[test]
    fn arguments_are_shown_for_every_payload() {
        let shown = |payload| before_event_json(payload, Vec::new())["arguments"].to_string();
        let function = |text: &str| ToolPayload::Function { arguments: text.to_owned() };
        assert_snapshot!(shown(function("")), @"{}");
        assert_snapshot!(shown(function("{")), @r#"{"input":"{"}"#);
        assert_snapshot!(shown(ToolPayload::Custom { input: "{}\0".to_owned() }), @r#"{"input":"{}\u0000"}"#);
        let shell = LocalShellCall { command: vec!["ls".to_owned()], ..LocalShellCall::default() };
        assert_snapshot!(shown(ToolPayload::LocalShell(shell)), @r#"{"command":["ls"]}"#);
    }

    #[test]
    fn a_hook_reads_the_answer_and_knows_when_that_is_not_all() {
        let call = ToolCall::function("c1", "shell", "{}");
        let (intent, place) = (Intent::nothing(), WorkingDir { cwd: "/w".into() });
        let planned = PlannedCall { tool: "shell", call: &call, intent: &intent, working_dir: &place };
        let facts = OutputFacts {
            error: Some(ToolErrorKind::TimedOut),
            exit_code: Some(3),
            ..OutputFacts::default()
        };
        let event = after_event(planned, &ToolOutput { facts, ..ToolOutput::failure("so far") });
        for (key, value) in [
            ("event", json!("after_call")),
            ("success", json!(false)),
            ("error", json!("timed_out")),
            ("text", json!("so far")),
            ("text_cut", json!(false)),
            ("exit_code", json!(3)),
        ] {
            assert_eq!(event[key], value, "{key}");
        }
        let long = after_event(planned, &ToolOutput::text("x".repeat(9_000_000)));
        assert_eq!(long["text_cut"], json!(true));
        assert!(
            long["text"].as_str().is_some_and(|text| text.len() <= 8_000_000 && text.contains("cut here"))
        );
    }
}
