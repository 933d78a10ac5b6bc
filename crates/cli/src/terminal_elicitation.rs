//! Elicits values for an MCP server at the terminal: asks for one line each, then for consent to send them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runtime::BoxFuture;
use runtime::mcp::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::termios::{self, QueueSelector};
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedMutexGuard, oneshot};

use crate::terminal_approver::{TerminalApprover, terminal_lock};
use session::approval::quote_lines;
use terminal::to_one_line;

/// Elicits values at the terminal.
pub(crate) struct TerminalElicitor;

/// Lines of a message that are shown.
const MAX_MESSAGE_LINES: usize = 20;
/// The keyboard must be idle this long before a line counts, so that type-ahead answers nothing.
const IDLE_BEFORE_LINE: Duration = Duration::from_millis(300);
/// Waits for an idle keyboard at most; then the user is asked anyway.
const MAX_IDLE_WAITS: usize = 20;

/// Set while a form is on the screen: then nothing else should be written.
static IS_ASKING: AtomicBool = AtomicBool::new(false);

impl TerminalElicitor {
    /// Reports whether a form is on the screen.
    pub(crate) fn is_asking() -> bool {
        IS_ASKING.load(Ordering::Acquire)
    }

    /// Returns an elicitor if there is a terminal.
    pub(crate) fn detect() -> Option<Arc<dyn Elicitor>> {
        open_terminal().ok().map(|_| Arc::new(Self) as Arc<dyn Elicitor>)
    }
}

fn open_terminal() -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open("/dev/tty", flags, Mode::empty())?.into())
}

impl Elicitor for TerminalElicitor {
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer> {
        let elicitation = elicitation.clone();
        Box::pin(async move {
            // One question at a time: a key meant for one must not answer another.
            let owner = terminal_lock().lock_owned().await;
            ask_on_thread(elicitation, owner).await
        })
    }
}

/// Asks on a thread of its own, which holds the terminal lock until the answer, because reading a terminal blocks.
async fn ask_on_thread(elicitation: Elicitation, owner: OwnedMutexGuard<()>) -> ElicitationAnswer {
    let (answer_sender, answer_receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("elicitation".to_owned());
    let begun = thread.spawn(move || {
        let _owner = owner;
        IS_ASKING.store(true, Ordering::Release);
        let answer = open_terminal().and_then(|mut terminal| {
            let lines = BufReader::new(terminal.try_clone()?).lines();
            let mut typed = TerminalLineReader { terminal: terminal.try_clone()?, lines };
            let width = TerminalApprover::size()?.width;
            ElicitationDialogue { lines: &mut typed, out: &mut terminal, width }.run(&elicitation)
        });
        IS_ASKING.store(false, Ordering::Release);
        let _given_up = answer_sender.send(answer.unwrap_or(ElicitationAnswer::Cancelled));
    });
    match begun {
        Ok(_) => answer_receiver.await.unwrap_or(ElicitationAnswer::Cancelled),
        Err(_) => ElicitationAnswer::Cancelled,
    }
}

/// A source of typed lines.
trait LineSource {
    /// Returns the next line; `None` means no answer.
    fn next_line(&mut self) -> io::Result<Option<String>>;
    /// Discards everything typed until now.
    fn discard_typed(&mut self) -> io::Result<()>;
}

/// Lines typed at a terminal.
struct TerminalLineReader {
    terminal: File,
    /// The terminal delivers one line at a time, so this reader holds none back.
    lines: io::Lines<BufReader<File>>,
}

impl LineSource for TerminalLineReader {
    fn next_line(&mut self) -> io::Result<Option<String>> {
        self.lines.next().transpose()
    }

    fn discard_typed(&mut self) -> io::Result<()> {
        let quiet = Timespec { tv_sec: 0, tv_nsec: IDLE_BEFORE_LINE.subsec_nanos().into() };
        for _ in 0..MAX_IDLE_WAITS {
            termios::tcflush(&self.terminal, QueueSelector::IFlush)?;
            let mut watched = [PollFd::new(&self.terminal, PollFlags::IN)];
            if retry_on_intr(|| poll(&mut watched, Some(&quiet)))? == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// The dialogue about a server's request.
struct ElicitationDialogue<'a> {
    lines: &'a mut dyn LineSource,
    out: &'a mut dyn Write,
    width: usize,
}

impl ElicitationDialogue<'_> {
    fn run(&mut self, elicitation: &Elicitation) -> io::Result<ElicitationAnswer> {
        let Elicitation { server, message, kind: wants } = elicitation;
        writeln!(self.out, "\r\x1b[KThe server `{}` asks:", to_one_line(server))?;
        self.quote(message)?;
        match wants {
            ElicitationKind::Visit(url) => {
                writeln!(
                    self.out,
                    "It wants you to open this, at the host `{}`:",
                    to_one_line(&url_host(url))
                )?;
                // Unbroken, so that it can be copied; without blanks it cannot imitate a sentence of Toolgate's.
                writeln!(self.out, "  │ {}", to_one_line(url).replace([' ', '\t'], "%20"))?;
                self.lines.discard_typed()?;
                let question = "Open it yourself if you trust it. Have you done what it asks? [y/N] ";
                Ok(if self.confirm(question)? {
                    ElicitationAnswer::Accepted(None)
                } else {
                    ElicitationAnswer::Declined
                })
            }
            ElicitationKind::Form(schema) => {
                self.lines.discard_typed()?;
                let Some(values) = self.fill_form(schema)? else { return Ok(ElicitationAnswer::Cancelled) };
                let content = Value::Object(values);
                writeln!(self.out, "This would be sent:")?;
                // Shown in full: a user cannot agree to unseen values.
                for line in quote_lines(&content.to_string(), self.width) {
                    writeln!(self.out, "{line}")?;
                }
                self.lines.discard_typed()?;
                let agrees = self.confirm(&format!("Send it to `{}`? [y/N] ", to_one_line(server)))?;
                Ok(if agrees {
                    ElicitationAnswer::Accepted(Some(content))
                } else {
                    ElicitationAnswer::Declined
                })
            }
        }
    }

    /// Shows foreign text: each line behind a bar, and omitted lines are counted.
    fn quote(&mut self, text: &str) -> io::Result<()> {
        let lines = quote_lines(text, self.width);
        for line in lines.iter().take(MAX_MESSAGE_LINES) {
            writeln!(self.out, "{line}")?;
        }
        match lines.len().saturating_sub(MAX_MESSAGE_LINES) {
            0 => Ok(()),
            more => writeln!(self.out, "… and {more} more lines, which are not shown"),
        }
    }

    fn confirm(&mut self, question: &str) -> io::Result<bool> {
        write!(self.out, "{question}")?;
        self.out.flush()?;
        Ok(is_yes(self.lines.next_line()?))
    }

    /// Asks for a value of each property; `None` if the user gives up.
    fn fill_form(&mut self, schema: &Value) -> io::Result<Option<Map<String, Value>>> {
        let mut values = Map::new();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let needed = required.contains(&name.as_str());
            self.quote(&to_one_line(&property_prompt(name, property, needed)))?;
            // ends: with a value that fits, or none
            loop {
                write!(self.out, "Value: ")?;
                self.out.flush()?;
                let Some(text) = self.lines.next_line()? else { return Ok(None) };
                match parse_value(text.trim(), property) {
                    Ok(Some(value)) => {
                        values.insert(name.clone(), value);
                        break;
                    }
                    Ok(None) if !needed => break,
                    Ok(None) => writeln!(self.out, "This field is required; Ctrl-D cancels.")?,
                    Err(why) => writeln!(self.out, "{}", to_one_line(&why))?,
                }
            }
        }
        Ok(Some(values))
    }
}

fn is_yes(line: Option<String>) -> bool {
    line.is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Returns the host of a URL. Characters other than ASCII are escaped, because they may imitate others.
fn url_host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.chars()
        .map(
            |letter| if letter.is_ascii() { letter.to_string() } else { letter.escape_unicode().to_string() },
        )
        .collect()
}

/// Formats the prompt of a property: `name (integer; how many) [3]`.
fn property_prompt(name: &str, property: &Value, needed: bool) -> String {
    let text = |key: &str| property[key].as_str().unwrap_or_default();
    let title = if text("title").is_empty() { name } else { text("title") };
    let mut about: Vec<String> = Vec::new();
    let choices = property_choices(property);
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
    format!("{title} ({}){default}", about.join("; "))
}

/// Returns the permitted values with their titles.
fn property_choices(property: &Value) -> Vec<(String, Option<String>)> {
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

/// Parses a line as a value; `None` if the line is empty and the schema has no default.
fn parse_value(text: &str, property: &Value) -> Result<Option<Value>, String> {
    if text.is_empty() {
        return Ok(Some(property["default"].clone()).filter(|value| !value.is_null()));
    }
    let choices = property_choices(property);
    let chosen = |word: &str| {
        let found = choices.iter().find(|(value, _)| value == word);
        found.map(|(value, _)| json!(value)).ok_or_else(|| format!("`{word}` is none of them."))
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
            _ => Err("Say yes or no.".to_owned()),
        },
        "integer" => text
            .parse::<i64>()
            .map(|number| Some(json!(number)))
            .map_err(|_| "Say a whole number.".to_owned()),
        "number" => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(json!(number))),
            _ => Err("Say a number.".to_owned()),
        },
        _ => Ok(Some(json!(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripted lines; the first `early` ones were typed before the question.
    struct ScriptedLines {
        early: usize,
        lines: Vec<String>,
    }

    impl LineSource for ScriptedLines {
        fn next_line(&mut self) -> io::Result<Option<String>> {
            Ok((!self.lines.is_empty()).then(|| self.lines.remove(0)))
        }

        fn discard_typed(&mut self) -> io::Result<()> {
            self.lines.drain(..std::mem::take(&mut self.early));
            Ok(())
        }
    }

    fn asked(message: &str, wants: ElicitationKind, early: usize, lines: &[&str]) -> String {
        let elicitation = Elicitation { server: "s".to_owned(), message: message.to_owned(), kind: wants };
        let mut typed = ScriptedLines { early, lines: lines.iter().map(|&line| line.to_owned()).collect() };
        let mut out = Vec::new();
        let talk =
            ElicitationDialogue { lines: &mut typed, out: &mut out, width: 80 }.run(&elicitation).unwrap();
        // Typed input ends the line.
        let out = String::from_utf8(out).unwrap().replace("\r\x1b[K", "");
        format!("{}\n-> {talk:?}", out.replace("Value: ", "Value:\n"))
    }

    fn transcript(wants: ElicitationKind, lines: &[&str]) -> String {
        asked("Who are\u{202e} you?", wants, 0, lines)
    }

    fn form() -> ElicitationKind {
        ElicitationKind::Form(json!({"type": "object", "required": ["name", "level"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "as on the door"},
            "age": {"type": "integer"},
            "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
            "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b"}]}},
            "sure": {"type": "boolean"},
        }}))
    }

    #[test]
    fn a_form_is_filled_in_line_by_line() {
        insta::assert_snapshot!(transcript(form(), &["x", "", "", "Ada", "", "yes", "a, b", "y"]), @r#"
        The server `s` asks:
          │ Who are\u{202e} you?
          │ age (integer; may be left empty)
        Value:
        Say a whole number.
        Value:
          │ level (one of low, high) [low]
        Value:
          │ Your name (string; as on the door)
        Value:
          │ sure (boolean; may be left empty)
        Value:
          │ tags (some of, with commas: a (First), b; may be left empty)
        Value:
        `yes` is none of them.
        Value:
        This would be sent:
          │ {"level":"low","name":"Ada","tags":["a","b"]}
        Send it to `s`? [y/N] 
        -> Accepted(Some(Object {"level": String("low"), "name": String("Ada"), "tags": Array [String("a"), String("b")]}))
        "#);
        insta::assert_snapshot!(transcript(form(), &["old", "36", "top", "high", "", "Ada", "maybe", "no", "c", "b", "n"]), @r#"
        The server `s` asks:
          │ Who are\u{202e} you?
          │ age (integer; may be left empty)
        Value:
        Say a whole number.
        Value:
          │ level (one of low, high) [low]
        Value:
        `top` is none of them.
        Value:
          │ Your name (string; as on the door)
        Value:
        This field is required; Ctrl-D cancels.
        Value:
          │ sure (boolean; may be left empty)
        Value:
        Say yes or no.
        Value:
          │ tags (some of, with commas: a (First), b; may be left empty)
        Value:
        `c` is none of them.
        Value:
        This would be sent:
          │ {"age":36,"level":"high","name":"Ada","sure":false,"tags":["b"]}
        Send it to `s`? [y/N] 
        -> Declined
        "#);
        insta::assert_snapshot!(transcript(form(), &["1"]), @r"
        The server `s` asks:
          │ Who are\u{202e} you?
          │ age (integer; may be left empty)
        Value:
          │ level (one of low, high) [low]
        Value:

        -> Cancelled
        ");
    }

    #[test]
    fn visit_request_shows_the_real_host() {
        let visit = |url: &str| ElicitationKind::Visit(url.to_owned());
        insta::assert_snapshot!(transcript(visit("https://github.com@evil.example/login"), &["n"]), @r"
        The server `s` asks:
          │ Who are\u{202e} you?
        It wants you to open this, at the host `evil.example`:
          │ https://github.com@evil.example/login
        Open it yourself if you trust it. Have you done what it asks? [y/N] 
        -> Declined
        ");
        insta::assert_snapshot!(transcript(visit("https://gіthub.com/x"), &["y"]), @r"
        The server `s` asks:
          │ Who are\u{202e} you?
        It wants you to open this, at the host `g\u{456}thub.com`:
          │ https://gіthub.com/x
        Open it yourself if you trust it. Have you done what it asks? [y/N] 
        -> Accepted(None)
        ");
    }

    #[test]
    fn server_text_cannot_imitate_our_prompt() {
        let fake = "Name\n\nToolgate asks: may shell_command do this?\n\u{1b}[2J";
        let wide = format!("x{}Answer (y n): ", " ".repeat(200));
        let wants = ElicitationKind::Form(json!({"properties": {
            "a": {"type": "string", "title": fake, "description": "d\ne", "default": "f\ng"},
            "b\nc": {"type": "string", "enum": ["h\ni"], "description": wide},
        }}));
        insta::assert_snapshot!(asked("a\nb\r", wants, 0, &["", "", "n"]), @r#"
        The server `s` asks:
          │ a
          │ b\u{d}
          │ Name\n\nToolgate asks: may shell_command do this?\n\u{1b}[2J (string; d\ne;
          ┊  may be left empty) [f\ng]
        Value:
          │ b\nc (one of h\ni; x … 200 blanks … Answer (y n): ; may be left empty)
        Value:
        This would be sent:
          │ {"a":"f\ng"}
        Send it to `s`? [y/N] 
        -> Declined
        "#);
    }

    #[test]
    fn omitted_lines_of_a_message_are_counted() {
        let message: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let text = asked(&message, ElicitationKind::Visit("https://x.example".to_owned()), 0, &["n"]);
        assert!(text.contains("line 19\n… and 30 more lines, which are not shown\n"), "{text}");
    }

    #[test]
    fn type_ahead_does_not_answer_a_question() {
        let visit = || ElicitationKind::Visit("https://x.example".to_owned());
        assert!(asked("Go.", visit(), 2, &["y", "y"]).ends_with("-> Declined"));
        assert!(asked("Go.", visit(), 2, &["y", "y", "y"]).ends_with("-> Accepted(None)"));
        assert!(asked("Go.", form(), 1, &["y"]).ends_with("-> Cancelled"));
    }
}
