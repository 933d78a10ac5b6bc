//! Formats an analysis for display.

use std::fmt;

use crate::shell::{ScriptAnalysis, ScriptCommand, ScriptRedirect, ScriptWord};

impl fmt::Display for ScriptAnalysis {
    /// Formats one command per line. Unknown words are shown as ‹…›.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.commands.iter().map(ToString::to_string).collect();
        lines.extend(self.assigned.iter().map(|(name, value)| format!("sets {name}={value}")));
        lines.extend(self.defined.iter().map(|name| format!("defines {name}")));
        lines.extend(
            self.undecided.iter().map(|it| format!("undecided: {}: {}", it.why, escape_invisible(&it.text))),
        );
        f.write_str(&lines.join("\n"))
    }
}

impl ScriptCommand {
    /// Formats the command without its wrappers and input.
    pub fn command_text(&self) -> String {
        let bare = Self { wrappers: Vec::new(), has_piped_input: false, ..self.clone() };
        bare.to_string()
    }
}

impl fmt::Display for ScriptCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={value} ")?;
        }
        let words: Vec<String> = self.words.iter().map(ToString::to_string).collect();
        f.write_str(&words.join(" "))?;
        if self.more_args {
            f.write_str(" ‹more›")?;
        }
        for redirect in &self.redirects {
            write!(f, " {redirect}")?;
        }
        let mut notes = Vec::new();
        if !self.wrappers.is_empty() {
            notes.push(format!("through {}", self.wrappers.join(", ")));
        }
        if self.has_piped_input {
            notes.push("fed".to_owned());
        }
        if notes.is_empty() { Ok(()) } else { write!(f, "  [{}]", notes.join("; ")) }
    }
}

impl fmt::Display for ScriptRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(word) => write!(f, "<{word}"),
            Self::Write(word) => write!(f, ">{word}"),
            Self::Append(word) => write!(f, ">>{word}"),
            Self::ReadWrite(word) => write!(f, "<>{word}"),
            Self::Text(word) => write!(f, "<<<{word}"),
        }
    }
}

impl fmt::Display for ScriptWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let simple = |c: char| c.is_alphanumeric() || "_-./=:,+@%^[]{}!#".contains(c);
        match self {
            Self::Literal(text) if !text.is_empty() && text.chars().all(simple) => f.write_str(text),
            Self::Literal(text) => write!(f, "'{}'", escape_invisible(text)),
            Self::Unknown(text) => write!(f, "‹{}›", escape_invisible(text)),
        }
    }
}

/// Escapes every character that could change how the rest is displayed.
fn escape_invisible(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            _ if c == '\t' || crate::invisible_chars::is_deceptive(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}
