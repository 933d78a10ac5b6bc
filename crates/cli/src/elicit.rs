//! What servers want to know, asked at the terminal: a line for each value, and at the end whether to send them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedMutexGuard, oneshot};
use toolgate::BoxFuture;
use toolgate::mcp::{Elicit, Elicitation, Elicited, Wants};

use crate::approve::terminal_owner;
use crate::screen::visible;

/// Asks at the terminal.
pub(crate) struct TerminalElicit;

/// Lines of a message that are shown.
const MOST_LINES: usize = 20;

/// Whether a form stands: nothing else should be written.
static ASKS: AtomicBool = AtomicBool::new(false);

impl TerminalElicit {
    /// Whether a form stands.
    pub(crate) fn asks() -> bool {
        ASKS.load(Ordering::Acquire)
    }

    /// Somebody who can be asked, if there is a terminal.
    pub(crate) fn here() -> Option<Arc<dyn Elicit>> {
        terminal().ok().map(|_| Arc::new(Self) as Arc<dyn Elicit>)
    }
}

fn terminal() -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open("/dev/tty", flags, Mode::empty())?.into())
}

impl Elicit for TerminalElicit {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, Elicited> {
        let elicitation = elicitation.clone();
        Box::pin(async move {
            // One question at a time: a key that is meant for one must not answer another.
            let owner = terminal_owner().lock_owned().await;
            asked_apart(elicitation, owner).await
        })
    }
}

/// Asks on a thread of its own, which owns the terminal until it is answered: reading a terminal blocks.
async fn asked_apart(elicitation: Elicitation, owner: OwnedMutexGuard<()>) -> Elicited {
    let (tell, told) = oneshot::channel();
    let thread = std::thread::Builder::new().name("elicitation".to_owned());
    let begun = thread.spawn(move || {
        let _owner = owner;
        ASKS.store(true, Ordering::Release);
        let asked = terminal().and_then(|terminal| {
            let mut lines = BufReader::new(terminal.try_clone()?).lines();
            asked(&elicitation, &mut || lines.next().transpose(), &mut { terminal })
        });
        ASKS.store(false, Ordering::Release);
        let _given_up = tell.send(asked.unwrap_or(Elicited::Cancelled));
    });
    match begun {
        Ok(_) => told.await.unwrap_or(Elicited::Cancelled),
        Err(_) => Elicited::Cancelled,
    }
}

/// Asks, reading answers with `line`; no line is no answer.
fn asked(
    elicitation: &Elicitation,
    line: &mut dyn FnMut() -> io::Result<Option<String>>,
    out: &mut dyn Write,
) -> io::Result<Elicited> {
    let Elicitation { server, message, wants } = elicitation;
    writeln!(out, "\r\x1b[KThe server `{}` asks:", visible(server))?;
    // Each line of it shows whose it is.
    for line in message.lines().take(MOST_LINES) {
        writeln!(out, "  | {}", visible(line))?;
    }
    match wants {
        Wants::Visit(url) => {
            writeln!(out, "It wants you to open {} (host `{}`)", visible(url), visible(&host(url)))?;
            write!(out, "Open it yourself if you trust it. Have you done what it asks? [y/N] ")?;
            out.flush()?;
            Ok(if yes(line()?) { Elicited::Accepted(None) } else { Elicited::Declined })
        }
        Wants::Form(schema) => {
            let Some(values) = filled(schema, line, out)? else { return Ok(Elicited::Cancelled) };
            write!(
                out,
                "Send {} to `{}`? [y/N] ",
                visible(&Value::Object(values.clone()).to_string()),
                visible(server)
            )?;
            out.flush()?;
            let content = Some(Value::Object(values));
            Ok(if yes(line()?) { Elicited::Accepted(content) } else { Elicited::Declined })
        }
    }
}

fn yes(line: Option<String>) -> bool {
    line.is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes"))
}

/// The host of a URL, as it is: letters that only look like others are shown as they are sent.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.chars()
        .map(
            |letter| if letter.is_ascii() { letter.to_string() } else { letter.escape_unicode().to_string() },
        )
        .collect()
}

/// A value for each property that somebody gives one; `None`: they give up.
fn filled(
    schema: &Value,
    line: &mut dyn FnMut() -> io::Result<Option<String>>,
    out: &mut dyn Write,
) -> io::Result<Option<Map<String, Value>>> {
    let mut values = Map::new();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.contains(&name.as_str());
        // ends: with a value that fits, or none
        loop {
            write!(out, "  {} ", visible(&prompt(name, property, needed)))?;
            out.flush()?;
            let Some(text) = line()? else { return Ok(None) };
            match read(text.trim(), property) {
                Ok(Some(value)) => {
                    values.insert(name.clone(), value);
                    break;
                }
                Ok(None) if !needed => break,
                Ok(None) => writeln!(out, "  it is needed; Ctrl-D gives up")?,
                Err(why) => writeln!(out, "  {why}")?,
            }
        }
    }
    Ok(Some(values))
}

/// `name (integer, e.g. how many) [3]:`
fn prompt(name: &str, property: &Value, needed: bool) -> String {
    let text = |key: &str| property[key].as_str().unwrap_or_default();
    let title = if text("title").is_empty() { name } else { text("title") };
    let mut about: Vec<String> = Vec::new();
    let choices = choices(property);
    if choices.is_empty() {
        about.push(text("type").to_owned());
    } else {
        let shown: Vec<String> = choices
            .iter()
            .map(|(value, title)| match title {
                Some(title) if title != value => format!("{value} ({title})"),
                _ => value.clone(),
            })
            .collect();
        let many = if text("type") == "array" { "some of, with commas: " } else { "one of " };
        about.push(format!("{many}{}", shown.join(", ")));
    }
    about.extend(Some(text("description").to_owned()).filter(|text| !text.is_empty()));
    if !needed {
        about.push("may be left empty".to_owned());
    }
    let default = match &property["default"] {
        Value::Null => String::new(),
        Value::String(text) => format!(" [{text}]"),
        other => format!(" [{other}]"),
    };
    format!("{title} ({}){default}:", about.join("; "))
}

/// What can be chosen, and what each is called.
fn choices(property: &Value) -> Vec<(String, Option<String>)> {
    let from = if property["type"] == "array" { &property["items"] } else { property };
    if let Some(values) = from["enum"].as_array() {
        let names = from["enumNames"].as_array();
        let name = |at: usize| Some(names?.get(at)?.as_str()?.to_owned());
        return values
            .iter()
            .enumerate()
            .filter_map(|(at, value)| Some((value.as_str()?.to_owned(), name(at))))
            .collect();
    }
    let titled = from["oneOf"].as_array().or(from["anyOf"].as_array());
    let choice =
        |one: &Value| Some((one["const"].as_str()?.to_owned(), one["title"].as_str().map(str::to_owned)));
    titled.into_iter().flatten().filter_map(choice).collect()
}

/// The value that a line says; `None`: it says nothing, and neither does the schema.
fn read(text: &str, property: &Value) -> Result<Option<Value>, String> {
    if text.is_empty() {
        return Ok(Some(property["default"].clone()).filter(|value| !value.is_null()));
    }
    let choices = choices(property);
    let chosen = |word: &str| {
        let found = choices.iter().find(|(value, _)| value == word);
        found.map(|(value, _)| json!(value)).ok_or_else(|| format!("`{word}` is none of them"))
    };
    match property["type"].as_str().unwrap_or("string") {
        "array" if !choices.is_empty() => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(chosen).collect::<Result<Vec<Value>, String>>().map(|all| Some(Value::Array(all)))
        }
        "string" if !choices.is_empty() => chosen(text).map(Some),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Some(json!(true))),
            "n" | "no" | "false" => Ok(Some(json!(false))),
            _ => Err("say yes or no".to_owned()),
        },
        "integer" => {
            text.parse::<i64>().map(|number| Some(json!(number))).map_err(|_| "say a whole number".to_owned())
        }
        "number" => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(json!(number))),
            _ => Err("say a number".to_owned()),
        },
        _ => Ok(Some(json!(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(wants: Wants, lines: &[&str]) -> String {
        let elicitation =
            Elicitation { server: "s".to_owned(), message: "Who are\u{202e} you?".to_owned(), wants };
        let mut lines = lines.iter().map(|&line| line.to_owned());
        let mut out = Vec::new();
        let elicited = asked(&elicitation, &mut || Ok(lines.next()), &mut out).unwrap();
        format!("{}\n-> {elicited:?}", String::from_utf8(out).unwrap().replace("\r\x1b[K", ""))
    }

    fn form() -> Wants {
        Wants::Form(json!({"type": "object", "required": ["name", "level"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "as on the door"},
            "age": {"type": "integer"},
            "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
            "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b"}]}},
            "sure": {"type": "boolean"},
        }}))
    }

    #[test]
    fn a_form_is_filled_in_line_by_line() {
        insta::assert_snapshot!(told(form(), &["x", "", "", "Ada", "", "yes", "a, b", "y"]), @r#"
        The server `s` asks:
          | Who are\u{202e} you?
          age (integer; may be left empty):   say a whole number
          age (integer; may be left empty):   level (one of low, high) [low]:   Your name (string; as on the door):   sure (boolean; may be left empty):   tags (some of, with commas: a (First), b; may be left empty):   `yes` is none of them
          tags (some of, with commas: a (First), b; may be left empty): Send {"level":"low","name":"Ada","tags":["a","b"]} to `s`? [y/N] 
        -> Accepted(Some(Object {"level": String("low"), "name": String("Ada"), "tags": Array [String("a"), String("b")]}))
        "#);
        insta::assert_snapshot!(told(form(), &["old", "36", "top", "high", "", "Ada", "maybe", "no", "c", "b", "n"]), @r#"
        The server `s` asks:
          | Who are\u{202e} you?
          age (integer; may be left empty):   say a whole number
          age (integer; may be left empty):   level (one of low, high) [low]:   `top` is none of them
          level (one of low, high) [low]:   Your name (string; as on the door):   it is needed; Ctrl-D gives up
          Your name (string; as on the door):   sure (boolean; may be left empty):   say yes or no
          sure (boolean; may be left empty):   tags (some of, with commas: a (First), b; may be left empty):   `c` is none of them
          tags (some of, with commas: a (First), b; may be left empty): Send {"age":36,"level":"high","name":"Ada","sure":false,"tags":["b"]} to `s`? [y/N] 
        -> Declined
        "#);
        insta::assert_snapshot!(told(form(), &["1"]), @r"
        The server `s` asks:
          | Who are\u{202e} you?
          age (integer; may be left empty):   level (one of low, high) [low]: 
        -> Cancelled
        ");
    }

    #[test]
    fn nobody_is_sent_anywhere_unseen() {
        let visit = |url: &str| Wants::Visit(url.to_owned());
        insta::assert_snapshot!(told(visit("https://github.com@evil.example/login"), &["n"]), @r"
        The server `s` asks:
          | Who are\u{202e} you?
        It wants you to open https://github.com@evil.example/login (host `evil.example`)
        Open it yourself if you trust it. Have you done what it asks? [y/N] 
        -> Declined
        ");
        insta::assert_snapshot!(told(visit("https://gіthub.com/x"), &["y"]), @r"
        The server `s` asks:
          | Who are\u{202e} you?
        It wants you to open https://gіthub.com/x (host `g\u{456}thub.com`)
        Open it yourself if you trust it. Have you done what it asks? [y/N] 
        -> Accepted(None)
        ");
    }
}
