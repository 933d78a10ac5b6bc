//! Saves an assistant turn as JSON for the session journal, and loads it.

use serde_json::{Value, json};
use tool::{LocalShellCall, ToolCall, ToolPayload};

use super::{AssistantTurn, TurnContent, TurnPiece};
use crate::Dialect;

/// The error for JSON that [`AssistantTurn::to_saved_json`] did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a saved response cannot be read at `{path}`; was the file changed, or written by a newer version?")]
pub struct UnreadableTurn {
    path: String,
}

impl AssistantTurn {
    /// Returns the turn as JSON in Toolgate's own format, for [`from_saved_json`](Self::from_saved_json). No API
    /// accepts it.
    pub fn to_saved_json(&self) -> Value {
        let pieces: Vec<Value> = self.pieces().iter().map(save_piece).collect();
        json!({ "dialect": self.dialect().as_str(), "pieces": pieces })
    }

    /// Loads JSON that [`to_saved_json`](Self::to_saved_json) wrote.
    ///
    /// # Errors
    /// If the JSON has another form; the error contains the path.
    pub fn from_saved_json(json: &Value) -> Result<Self, UnreadableTurn> {
        let fault = |path: &str| UnreadableTurn { path: path.to_owned() };
        let dialect = json["dialect"].as_str().and_then(|name| name.parse::<Dialect>().ok());
        let mut turn = Self::new(dialect.ok_or_else(|| fault("dialect"))?);
        let pieces = json["pieces"].as_array().ok_or_else(|| fault("pieces"))?;
        for (at, piece) in pieces.iter().enumerate() {
            turn.push(load_piece(piece).ok_or_else(|| fault(&format!("pieces[{at}]")))?);
        }
        Ok(turn)
    }
}

fn save_piece(piece: &TurnPiece) -> Value {
    let mut saved = match &piece.content {
        TurnContent::Text(text) => json!({ "text": text }),
        TurnContent::Call(call) => json!({ "call": save_call(call) }),
        TurnContent::Unread(call, why) => json!({ "unread": save_call(call), "why": why }),
        TurnContent::Lost(why) => json!({ "lost": why }),
        TurnContent::Item => json!({}),
    };
    if let Some(raw) = &piece.raw {
        saved["raw"] = raw.clone();
    }
    saved
}

fn load_piece(json: &Value) -> Option<TurnPiece> {
    let text = |name: &str| json[name].as_str().map(str::to_owned);
    let raw = json.get("raw").cloned();
    let content = if json["text"].is_string() {
        TurnContent::Text(text("text")?)
    } else if json["call"].is_object() {
        TurnContent::Call(load_call(&json["call"])?)
    } else if json["unread"].is_object() {
        TurnContent::Unread(load_call(&json["unread"])?, text("why")?)
    } else if json["lost"].is_string() {
        TurnContent::Lost(text("lost")?)
    } else {
        raw.as_ref()?;
        TurnContent::Item
    };
    Some(TurnPiece { content, raw })
}

fn save_call(call: &ToolCall) -> Value {
    let payload = match &call.payload {
        ToolPayload::Function { arguments } => json!({ "arguments": arguments }),
        ToolPayload::Custom { input } => json!({ "input": input }),
        ToolPayload::LocalShell(LocalShellCall { command, workdir, timeout_ms, other_fields: more }) => {
            let mut saved = json!({ "command": command, "workdir": workdir, "timeout_ms": timeout_ms });
            if !more.is_empty() {
                saved["more"] = json!(more);
            }
            saved
        }
        ToolPayload::Mcp { server, tool, arguments } => {
            json!({ "server": server, "tool": tool, "arguments": arguments })
        }
    };
    json!({ "id": call.id.as_str(), "name": call.name, "payload": payload })
}

fn load_call(json: &Value) -> Option<ToolCall> {
    let payload = &json["payload"];
    let text = |name: &str| payload[name].as_str().map(str::to_owned);
    let payload = if let Some(words) = payload["command"].as_array() {
        let command = words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
        let timeout_ms = payload["timeout_ms"].as_u64();
        let more = payload["more"].as_object().cloned().unwrap_or_default();
        ToolPayload::LocalShell(LocalShellCall {
            command,
            workdir: text("workdir"),
            timeout_ms,
            other_fields: more,
        })
    } else if let Some(input) = text("input") {
        ToolPayload::Custom { input }
    } else {
        let arguments = text("arguments")?;
        match (text("server"), text("tool")) {
            (Some(server), Some(tool)) => ToolPayload::Mcp { server, tool, arguments },
            (Some(_), None) | (None, _) => ToolPayload::Function { arguments },
        }
    };
    Some(ToolCall { id: json["id"].as_str()?.into(), name: json["name"].as_str()?.to_owned(), payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_turn_is_loaded_unchanged() {
        let (server, tool, arguments) = ("s".to_owned(), "t".to_owned(), "{".to_owned());
        let workdir = Some("/w".to_owned());
        let payloads = [
            ToolPayload::Function { arguments: "{}".to_owned() },
            ToolPayload::Custom { input: "x".to_owned() },
            ToolPayload::LocalShell(LocalShellCall {
                command: vec!["ls".to_owned()],
                workdir,
                timeout_ms: Some(5),
                other_fields: serde_json::Map::from_iter([("user".to_owned(), json!("me"))]),
            }),
            ToolPayload::Mcp { server, tool, arguments },
        ];
        let mut turn = AssistantTurn::new(Dialect::Responses);
        for (payload, at) in payloads.into_iter().zip(0..) {
            let call = ToolCall { id: format!("c{at}").into(), name: "n".to_owned(), payload };
            turn.push(TurnPiece { content: TurnContent::Call(call), raw: Some(json!({"at": at})) });
        }
        let unread = ToolCall::function("u", "read", "{}");
        for content in [
            TurnContent::Text("hi".to_owned()),
            TurnContent::Unread(unread, "why".to_owned()),
            TurnContent::Lost("no".to_owned()),
        ] {
            turn.push(TurnPiece { content, raw: None });
        }
        turn.push(TurnPiece { content: TurnContent::Item, raw: Some(json!({"type": "reasoning"})) });
        assert_eq!(AssistantTurn::from_saved_json(&turn.to_saved_json()), Ok(turn));
    }

    #[test]
    fn foreign_json_is_refused_with_its_path() {
        let fault = AssistantTurn::from_saved_json(
            &json!({"dialect": "chat", "pieces": [{"text": "a"}, {"call": {}}]}),
        );
        insta::assert_snapshot!(fault.unwrap_err(), @"a saved response cannot be read at `pieces[1]`; was the file changed, or written by a newer version?");
    }
}
