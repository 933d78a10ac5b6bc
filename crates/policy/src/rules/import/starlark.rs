//! Parses the subset of Starlark in Codex rule files: a sequence of calls with literal arguments.
//!
//! Anything else, or anything that is not fully understood, is [`StarlarkStatement::Other`]. An indented call belongs to a
//! larger statement, and so does a call with further text on its line.

/// Maximum nesting depth of lists; a pattern has lists in a list.
const MAX_DEPTH: usize = 4;

/// A literal value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StarlarkValue {
    Text(String),
    List(Vec<StarlarkValue>),
    None,
}

/// A call with its named or positional arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StarlarkCall {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) args: Vec<(Option<String>, StarlarkValue)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum StarlarkStatement {
    Call(StarlarkCall),
    /// Another statement, with its first line.
    Other {
        line: usize,
        text: String,
        /// The known name that the statement redefines.
        shadows: Option<&'static str>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StarlarkTokenKind {
    Name(String),
    /// `None` if the string is not a plain literal, or is not closed.
    Text(Option<String>),
    Mark(char),
}

#[derive(Debug)]
struct StarlarkToken {
    kind: StarlarkTokenKind,
    line: usize,
    /// The token is the first on its line.
    starts_line: bool,
    /// The token is not indented.
    at_margin: bool,
}

/// Parses the statements of `text`; `known` are the names of known functions.
pub(super) fn parse_statements(text: &str, known: &[&'static str]) -> Vec<StarlarkStatement> {
    let tokens = tokenize(text);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut rest = tokens.as_slice();
    let mut found = Vec::new();
    // ends: each round takes a token at least
    while let Some(token) = rest.first() {
        let mut parser = StarlarkParser { rest };
        let call = if token.at_margin { parser.parse_call() } else { None };
        // A loaded name may equal a known one.
        let plain = |call: &StarlarkCall| {
            call.name != "load" && parser.rest.first().is_none_or(|next| next.starts_line)
        };
        match call.filter(plain) {
            Some(call) => {
                found.push(StarlarkStatement::Call(call));
                rest = parser.rest;
            }
            None => {
                let line = token.line;
                let text = lines.get(line - 1).map(|line| line.trim().to_owned()).unwrap_or_default();
                let later = after_statement(rest);
                let shadows = shadowed_name(&rest[..rest.len() - later.len()], known);
                found.push(StarlarkStatement::Other { line, text, shadows });
                rest = later;
            }
        }
    }
    found
}

/// Returns the tokens after the first statement and its indented block.
fn after_statement(tokens: &[StarlarkToken]) -> &[StarlarkToken] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && token.at_margin && depth == 0 {
            return &tokens[at..];
        }
        match token.kind {
            StarlarkTokenKind::Mark('(' | '[' | '{') => depth += 1,
            StarlarkTokenKind::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            StarlarkTokenKind::Mark(_) | StarlarkTokenKind::Name(_) | StarlarkTokenKind::Text(_) => {}
        }
    }
    &[]
}

/// Returns the name of `known` that `tokens` use other than by a call: defined, assigned or loaded.
fn shadowed_name(tokens: &[StarlarkToken], known: &[&'static str]) -> Option<&'static str> {
    let loads =
        matches!(tokens, [StarlarkToken { kind: StarlarkTokenKind::Name(first), .. }, ..] if first == "load");
    let is_known = |name: &str| known.iter().copied().find(|known| *known == name);
    tokens.iter().enumerate().find_map(|(at, token)| {
        let defined = at > 0 && tokens[at - 1].kind == StarlarkTokenKind::Name("def".to_owned());
        let called = tokens.get(at + 1).is_some_and(|next| next.kind == StarlarkTokenKind::Mark('('));
        match &token.kind {
            StarlarkTokenKind::Name(name) if defined || !called => is_known(name),
            StarlarkTokenKind::Text(Some(name)) if loads => is_known(name),
            StarlarkTokenKind::Name(_) | StarlarkTokenKind::Text(_) | StarlarkTokenKind::Mark(_) => None,
        }
    })
}

struct StarlarkParser<'a> {
    rest: &'a [StarlarkToken],
}

impl StarlarkParser<'_> {
    fn next(&mut self) -> Option<&StarlarkTokenKind> {
        let (token, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(&token.kind)
    }

    /// Consumes the mark if it is next.
    fn eat(&mut self, mark: char) -> bool {
        let is = self.rest.first().is_some_and(|token| token.kind == StarlarkTokenKind::Mark(mark));
        if is {
            self.rest = &self.rest[1..];
        }
        is
    }

    fn parse_call(&mut self) -> Option<StarlarkCall> {
        let line = self.rest.first()?.line;
        let Some(StarlarkTokenKind::Name(name)) = self.next() else { return None };
        let name = name.clone();
        let mut args = Vec::new();
        if !self.eat('(') {
            return None;
        }
        // ends: each round takes a token or returns
        while !self.eat(')') {
            args.push(self.parse_argument()?);
            if !self.eat(',') {
                return self.eat(')').then_some(StarlarkCall { name, line, args });
            }
        }
        Some(StarlarkCall { name, line, args })
    }

    fn parse_argument(&mut self) -> Option<(Option<String>, StarlarkValue)> {
        let [one, two, ..] = self.rest else { return None };
        match (&one.kind, &two.kind) {
            (StarlarkTokenKind::Name(name), StarlarkTokenKind::Mark('=')) => {
                self.rest = &self.rest[2..];
                Some((Some(name.clone()), self.parse_value(0)?))
            }
            (
                StarlarkTokenKind::Name(_) | StarlarkTokenKind::Text(_) | StarlarkTokenKind::Mark(_),
                StarlarkTokenKind::Name(_) | StarlarkTokenKind::Text(_) | StarlarkTokenKind::Mark(_),
            ) => Some((None, self.parse_value(0)?)),
        }
    }

    fn parse_value(&mut self, depth: usize) -> Option<StarlarkValue> {
        match self.next()? {
            StarlarkTokenKind::Text(text) => Some(StarlarkValue::Text(text.clone()?)),
            StarlarkTokenKind::Name(name) if name == "None" => Some(StarlarkValue::None),
            StarlarkTokenKind::Mark('[') if depth < MAX_DEPTH => {
                let mut list = Vec::new();
                // ends: each round takes a token or returns
                while !self.eat(']') {
                    list.push(self.parse_value(depth + 1)?);
                    if !self.eat(',') {
                        return self.eat(']').then_some(StarlarkValue::List(list));
                    }
                }
                Some(StarlarkValue::List(list))
            }
            StarlarkTokenKind::Name(_) | StarlarkTokenKind::Mark(_) => None,
        }
    }
}

fn tokenize(text: &str) -> Vec<StarlarkToken> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    let (mut line, mut first, mut at_margin) = (1, true, true);
    // ends: each round takes a letter at least
    while let Some(letter) = rest.chars().next() {
        if letter == '\n' {
            (line, first, at_margin, rest) = (line + 1, true, true, &rest[1..]);
            continue;
        }
        if letter == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        if letter.is_whitespace() {
            (at_margin, rest) = (false, &rest[letter.len_utf8()..]);
            continue;
        }
        let (kind, length) = read_token(rest, letter);
        tokens.push(StarlarkToken { kind, line, starts_line: first, at_margin });
        line += rest[..length].matches('\n').count();
        (first, at_margin, rest) = (false, false, &rest[length..]);
    }
    tokens
}

/// Returns the first token of `rest`, and its length.
fn read_token(rest: &str, letter: char) -> (StarlarkTokenKind, usize) {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    if !is_name(letter) {
        return match letter {
            '"' | '\'' => read_string(rest, ""),
            _ => (StarlarkTokenKind::Mark(letter), letter.len_utf8()),
        };
    }
    let length = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
    match rest[length..].chars().next() {
        Some('"' | '\'') => read_string(&rest[length..], &rest[..length]),
        Some(_) | None => (StarlarkTokenKind::Name(rest[..length].to_owned()), length),
    }
}

/// Parses the string at the start of `rest`, after `prefix`.
fn read_string(rest: &str, prefix: &str) -> (StarlarkTokenKind, usize) {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let (quote, is_long) = if rest.starts_with(&triple) { (triple.as_str(), true) } else { (quote, false) };
    let body = &rest[quote.len()..];
    let mut escaped = false;
    for (at, letter) in body.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == '\n' && !is_long {
            return (StarlarkTokenKind::Text(None), prefix.len() + quote.len() + at);
        } else if body[at..].starts_with(quote) {
            let text = match prefix {
                "" => resolve_escapes(&body[..at]),
                "r" => Some(body[..at].to_owned()),
                _ => None,
            };
            return (StarlarkTokenKind::Text(text), prefix.len() + quote.len() + at + quote.len());
        }
    }
    (StarlarkTokenKind::Text(None), prefix.len() + rest.len())
}

/// Resolves escape sequences; `None` for an unknown one.
fn resolve_escapes(body: &str) -> Option<String> {
    let mut out = String::with_capacity(body.len());
    let mut letters = body.chars();
    // ends: each round takes a letter
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            letter @ ('\\' | '\'' | '"') => out.push(letter),
            '\n' => {}
            'x' => out.push(read_code_point(&mut letters, 2).filter(char::is_ascii)?),
            'u' => out.push(read_code_point(&mut letters, 4)?),
            'U' => out.push(read_code_point(&mut letters, 8)?),
            _ => return None,
        }
    }
    Some(out)
}

fn read_code_point(letters: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let digits = letters.as_str().get(..digits)?;
    *letters = letters.as_str()[digits.len()..].chars();
    let number = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)?;
    char::from_u32(u32::from_str_radix(number, 16).ok()?)
}
