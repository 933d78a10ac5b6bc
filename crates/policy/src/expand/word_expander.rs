//! Scans the source text of a word and collects its possible expansions.

use super::parameter_expansion::{ExpandedValue, expand_parameter};
use super::script_variables::ScriptVariables;
use super::{MAX_EXPANSIONS, MAX_VALUE_BYTES, UnknownExpansion};
use crate::shell::{ScriptAnalysis, ScriptWord, analyse_script};

/// Maximum number of words that one word may become.
const MAX_SPLIT_WORDS: usize = 256;
/// Maximum number of words that braces may become.
const MAX_BRACE_WORDS: usize = 64;
/// Maximum nesting depth of substitutions.
const MAX_SUBSTITUTION_DEPTH: usize = 4;

/// A partial expansion: the finished words and the unfinished one.
#[derive(Debug, Clone, Default, PartialEq)]
struct PartialExpansion {
    finished: Vec<String>,
    unfinished: Option<String>,
}

impl PartialExpansion {
    fn push(&mut self, text: &str) {
        let open = self.unfinished.get_or_insert_default();
        // Drops text beyond the limit: values may be built from values.
        if open.len() + text.len() <= MAX_VALUE_BYTES {
            open.push_str(text);
        }
    }

    /// Adds an unquoted value, which is split at whitespace.
    fn push_split(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.finished.extend(self.unfinished.take());
        }
        let mut parts = text.split_whitespace();
        if let Some(first) = parts.next() {
            self.push(first);
        }
        for part in parts.take(MAX_SPLIT_WORDS.saturating_sub(self.finished.len())) {
            self.finished.extend(self.unfinished.replace(part.to_owned()));
        }
        if text.ends_with(char::is_whitespace) {
            self.finished.extend(self.unfinished.take());
        }
    }

    fn push_list(&mut self, items: &[String]) {
        for (at, item) in items.iter().enumerate().take(MAX_SPLIT_WORDS.saturating_sub(self.finished.len())) {
            if at > 0 {
                self.finished.extend(self.unfinished.take());
            }
            self.push(item);
        }
    }
}

/// The scan of one word.
pub(super) struct WordExpander<'a> {
    rest: &'a str,
    values: &'a ScriptVariables,
    missing: UnknownExpansion,
    expansions: Vec<PartialExpansion>,
}

impl<'a> WordExpander<'a> {
    pub(super) fn new(word: &'a str, values: &'a ScriptVariables, missing: UnknownExpansion) -> Self {
        Self { rest: word, values, missing, expansions: vec![PartialExpansion::default()] }
    }

    /// Returns the lists of words that the word may become.
    pub(super) fn expand_to_words(mut self) -> Vec<Vec<String>> {
        // ends: each round takes a letter
        while let Some(next) = self.bump() {
            match next {
                '\'' => self.read_single_quoted(),
                '"' => self.read_double_quoted(),
                '\\' => {
                    let escaped = self.bump().filter(|next| *next != '\n');
                    escaped.into_iter().for_each(|next| self.push_char(next));
                }
                '$' => self.read_dollar(false),
                '`' => self.read_backtick(false),
                _ => self.push_char(next),
            }
        }
        let expansions = self.expansions.into_iter().map(|mut way| {
            way.finished.extend(way.unfinished.take());
            way.finished
        });
        expansions.collect()
    }

    /// Returns the texts that the word may be as a value, without word splitting.
    pub(super) fn expand_to_texts(self) -> Vec<String> {
        self.expand_to_words().into_iter().map(|words| words.join(" ")).collect()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn push_char(&mut self, letter: char) {
        let mut buffer = [0; 4];
        let text: &str = letter.encode_utf8(&mut buffer);
        self.expansions.iter_mut().for_each(|way| way.push(text));
    }

    fn push_text(&mut self, text: &str) {
        self.expansions.iter_mut().for_each(|way| way.push(text));
    }

    fn read_single_quoted(&mut self) {
        let (inside, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.push_text(inside);
    }

    fn read_double_quoted(&mut self) {
        self.push_text("");
        // ends: each round takes a letter
        while let Some(next) = self.bump() {
            match next {
                '"' => return,
                '$' => self.read_dollar(true),
                '`' => self.read_backtick(true),
                '\\' if self.rest.starts_with(['$', '`', '"', '\\']) => {
                    self.bump().into_iter().for_each(|next| self.push_char(next));
                }
                _ => self.push_char(next),
            }
        }
    }

    /// Continues with each of `outcomes`, or with the `written` text if there is none.
    fn branch(&mut self, outcomes: &[ExpandedValue], written: &str, quoted: bool) {
        if outcomes.is_empty() {
            if self.missing == UnknownExpansion::Kept {
                self.push_text(written);
            } else if quoted {
                self.push_text("");
            }
            return;
        }
        let mut expansions = Vec::new();
        for way in &self.expansions {
            for outcome in outcomes {
                let mut way = way.clone();
                match outcome {
                    ExpandedValue::Text(text) if quoted => way.push(text),
                    ExpandedValue::Text(text) => way.push_split(text),
                    ExpandedValue::List(items) if quoted => way.push_list(items),
                    ExpandedValue::List(items) => way.push_split(&items.join(" ")),
                }
                if expansions.len() < MAX_EXPANSIONS && !expansions.contains(&way) {
                    expansions.push(way);
                }
            }
        }
        self.expansions = expansions;
    }

    /// Reads an expansion whose `$` was already consumed.
    fn read_dollar(&mut self, quoted: bool) {
        let from = self.rest;
        if !quoted && let Some(rest) = self.rest.strip_prefix('\'') {
            self.rest = rest;
            return self.read_ansi_quoted();
        }
        if !quoted && self.rest.starts_with('"') {
            return;
        }
        if self.rest.starts_with('(') {
            let end = closing_position(self.rest, '(', ')');
            let inside = self.rest.get(1..end).unwrap_or_default();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            let outcomes = substitution_output(inside, self.values);
            return self.branch(&outcomes, &format!("${}", consumed_text(from, self.rest)), quoted);
        }
        let (name, outcomes) = if self.rest.starts_with('{') {
            let end = closing_position(self.rest, '{', '}');
            let inside = self.rest.get(1..end).unwrap_or_default();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            (inside, expand_parameter(inside, self.values, self.missing))
        } else {
            let end = parameter_name_length(self.rest);
            let name = &self.rest[..end];
            self.rest = &self.rest[end..];
            (name, expand_parameter(name, self.values, self.missing))
        };
        if name.is_empty() {
            return self.push_char('$');
        }
        self.branch(&outcomes, &format!("${}", consumed_text(from, self.rest)), quoted);
    }

    fn read_backtick(&mut self, quoted: bool) {
        let from = self.rest;
        let (inside, rest) = self.rest.split_once('`').unwrap_or((self.rest, ""));
        self.rest = rest;
        let outcomes = substitution_output(inside, self.values);
        self.branch(&outcomes, &format!("`{}", consumed_text(from, self.rest)), quoted);
    }

    /// Reads the rest of `$'…'`.
    fn read_ansi_quoted(&mut self) {
        self.push_text("");
        // ends: each round takes a letter
        while let Some(next) = self.bump() {
            match next {
                '\'' => return,
                '\\' => {
                    let (letter, length) = super::parameter_expansion::decode_escape(self.rest);
                    self.rest = self.rest.get(length..).unwrap_or_default();
                    // Invisible characters are judged elsewhere.
                    let shown = letter.filter(|letter| !letter.is_control());
                    shown.into_iter().for_each(|letter| self.push_char(letter));
                }
                _ => self.push_char(next),
            }
        }
    }
}

/// Returns the part of `from` before `rest`.
fn consumed_text<'a>(from: &'a str, rest: &str) -> &'a str {
    &from[..from.len() - rest.len()]
}

/// Returns the length in bytes of the parameter name at the start of `text`.
pub(super) fn parameter_name_length(text: &str) -> usize {
    match text.chars().next() {
        Some(first) if first == '_' || first.is_ascii_alphabetic() => {
            text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())
        }
        Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => 1,
        _ => 0,
    }
}

/// Returns the position of the bracket that closes the first one of `text`, or its end.
fn closing_position(text: &str, opens: char, closes: char) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if letter == opens => depth += 1,
            (None, _) if letter == closes => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            (None, _) => {}
        }
    }
    text.len()
}

/// Returns the certain output of the script `inside`: one `echo` or `printf` with known words.
fn substitution_output(inside: &str, values: &ScriptVariables) -> Vec<ExpandedValue> {
    let Some(values) = values.one_level_deeper(MAX_SUBSTITUTION_DEPTH) else { return Vec::new() };
    let ScriptAnalysis { commands, .. } = analyse_script(inside);
    let [command] = &commands[..] else { return Vec::new() };
    let lists = super::expand_words(&command.words, &values, UnknownExpansion::Empty);
    lists.iter().filter_map(|words| printed_output(words)).map(ExpandedValue::Text).collect()
}

/// Returns the output of `echo` or `printf` with these words.
pub(super) fn printed_output(words: &[String]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    match name.as_str() {
        "echo" => {
            let options =
                rest.iter().take_while(|word| matches!(word.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"));
            let escapes = rest.iter().take(options.clone().count()).any(|option| option.contains('e'));
            let text = rest[options.count()..].join(" ");
            Some(if escapes { resolve_escapes(&text) } else { text })
        }
        "printf" => {
            let rest = rest.strip_prefix(&["--".to_owned()][..]).unwrap_or(rest);
            let (format, values) = rest.split_first()?;
            let mut values = values.iter();
            let mut text = resolve_escapes(format);
            // ends: each round replaces one
            while let Some(at) = text.find("%s") {
                let value = values.next().map(String::as_str).unwrap_or_default().replace("%s", "");
                text.replace_range(at..at + 2, &value);
            }
            Some(text.replace("%%", "%"))
        }
        _ => None,
    }
}

/// Resolves the escape sequences of a text.
fn resolve_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    // ends: each round takes a part
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (letter, length) = super::parameter_expansion::decode_escape(after);
        out.extend(letter);
        rest = after.get(length..).unwrap_or_default();
    }
    out + rest
}

/// Expands the braces of a word, and returns the resulting source words.
pub(super) fn expand_braces(raw: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    // ends: each round takes one, and there are so many at the most
    while let Some(word) = open.pop() {
        match first_brace(&word) {
            Some((from, to)) if done.len() + open.len() < MAX_BRACE_WORDS => {
                let (before, inside, after) = (&word[..from], &word[from + 1..to], &word[to + 1..]);
                let items = inside.split(',').rev().map(|item| format!("{before}{item}{after}"));
                open.extend(items);
            }
            _ => done.push(word),
        }
    }
    done
}

/// Finds the first innermost brace list, outside quotes and parameters.
fn first_brace(word: &str) -> Option<(usize, usize)> {
    let mut from = None;
    let (mut quote, mut before, mut parameter) = (None, ' ', 0_usize);
    for (at, letter) in word.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '{') if before == '$' => parameter += 1,
            (None, '}') if parameter > 0 => parameter -= 1,
            (None, '{') if before != '\\' => from = Some(at),
            (None, '}') => {
                if let Some(from) = from.take()
                    && word[from..at].contains(',')
                {
                    return Some((from, at));
                }
            }
            (None, '(') if before == '$' => return None,
            (None, _) => {}
        }
        before = letter;
    }
    None
}

/// Splits the source text of an array literal into words.
pub(super) fn split_array_words(raw: &str) -> Vec<ScriptWord> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in raw.chars() {
        match (quote, letter) {
            (None, _) if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(ScriptWord::Unknown(std::mem::take(&mut word)));
                }
                continue;
            }
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
        word.push(letter);
    }
    if !word.is_empty() {
        words.push(ScriptWord::Unknown(word));
    }
    words
}
