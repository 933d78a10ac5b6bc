//! Colours source code for a terminal: comments, strings, numbers and keywords of common languages.

use anstyle::{AnsiColor, Style};

use crate::FAINT;

const STRING: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Yellow.on_default();
const KEYWORD: Style = AnsiColor::Magenta.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();
/// Longer lines stay plain.
const MAX_LINE_BYTES: usize = 4000;

/// Words that are keywords in at least one of the languages.
const KEYWORDS: &[&str] = &[
    "abstract", "and", "as", "assert", "async", "await", "begin", "break", "case", "catch", "class", "const",
    "continue", "crate", "def", "default", "defer", "delete", "do", "done", "elif", "else", "end", "enum",
    "esac", "except", "export", "extends", "false", "fi", "finally", "fn", "for", "from", "func", "function",
    "go", "if", "impl", "import", "in", "interface", "is", "lambda", "let", "local", "loop", "match", "mod",
    "module", "mut", "new", "nil", "not", "null", "or", "package", "pass", "private", "protected", "pub",
    "public", "raise", "return", "self", "static", "struct", "super", "switch", "then", "this", "throw",
    "trait", "true", "try", "type", "typeof", "undefined", "unsafe", "use", "var", "void", "where", "while",
    "with", "yield", "None", "True", "False", "SELECT", "FROM", "WHERE", "JOIN", "GROUP", "ORDER", "BY",
    "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "CREATE", "TABLE", "AND", "OR", "NOT", "NULL",
    "LIMIT", "AS", "ON",
];

/// The syntax of a group of languages.
#[derive(Clone, Copy)]
struct LanguageSyntax {
    line_comment: &'static str,
    /// Delimiters of text that may span lines: comments and strings.
    spans: &'static [(&'static str, &'static str, Style)],
    quotes: &'static str,
}

const C_SPANS: &[(&str, &str, Style)] = &[("/*", "*/", FAINT)];
const PYTHON_SPANS: &[(&str, &str, Style)] = &[("\"\"\"", "\"\"\"", STRING), ("'''", "'''", STRING)];

/// Highlights the lines of one code block, in order.
pub(crate) struct CodeHighlighter {
    language: CodeLanguage,
    /// The delimiter that closes the open span, and its style.
    open_span: Option<(&'static str, Style)>,
}

#[derive(Clone, Copy)]
enum CodeLanguage {
    Plain,
    Diff,
    Known(LanguageSyntax),
}

impl CodeHighlighter {
    /// Creates a highlighter for the info string of a code fence, e.g. `rust` or `python title="x"`.
    pub(crate) fn for_info(info: &str) -> Self {
        Self { language: language_named(info), open_span: None }
    }

    /// Returns the next line with styles.
    pub(crate) fn highlight(&mut self, line: &str) -> String {
        match self.language {
            _ if line.len() > MAX_LINE_BYTES => line.to_owned(),
            CodeLanguage::Plain => line.to_owned(),
            CodeLanguage::Diff => highlight_diff(line),
            CodeLanguage::Known(syntax) => self.highlight_code(syntax, line),
        }
    }

    fn highlight_code(&mut self, syntax: LanguageSyntax, line: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(line.len() * 2), line);
        // ends: each step shortens the rest
        while !rest.is_empty() {
            let (token, style) = self.next_token(syntax, rest);
            match style {
                Some(style) => out.push_str(&format!("{style}{token}{style:#}")),
                None => out.push_str(token),
            }
            rest = &rest[token.len()..];
        }
        out
    }

    /// Returns the first token of `rest`, which is not empty, and its style.
    fn next_token<'a>(&mut self, syntax: LanguageSyntax, rest: &'a str) -> (&'a str, Option<Style>) {
        if let Some((close, style)) = self.open_span {
            let end = rest.find(close).map(|at| at + close.len());
            if end.is_some() {
                self.open_span = None;
            }
            return (&rest[..end.unwrap_or(rest.len())], Some(style));
        }
        if let Some((open, close, style)) = syntax.spans.iter().find(|(open, ..)| rest.starts_with(open)) {
            self.open_span = Some((close, *style));
            return (&rest[..open.len()], Some(*style));
        }
        if !syntax.line_comment.is_empty() && rest.starts_with(syntax.line_comment) {
            return (rest, Some(FAINT));
        }
        let first = rest.chars().next().unwrap_or(' ');
        if syntax.quotes.contains(first)
            && let Some(end) = string_end(rest, first)
        {
            return (&rest[..end], Some(STRING));
        }
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let word = &rest[..rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())];
        if word.is_empty() {
            return (&rest[..first.len_utf8()], None);
        }
        let style = match first {
            '0'..='9' => Some(NUMBER),
            _ if KEYWORDS.contains(&word) => Some(KEYWORD),
            _ => None,
        };
        (word, style)
    }
}

/// Returns the end of the string at the start of `text`, if it ends on this line.
fn string_end(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, letter)| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at + letter.len_utf8())
    })
}

fn highlight_diff(line: &str) -> String {
    let style = match line.as_bytes().first() {
        Some(b'+') => ADDED,
        Some(b'-') => REMOVED,
        Some(b'@') => HUNK,
        _ => return line.to_owned(),
    };
    format!("{style}{line}{style:#}")
}

fn language_named(info: &str) -> CodeLanguage {
    let name = info.split([' ', ',', '{', ':']).next().unwrap_or_default().to_ascii_lowercase();
    let syntax =
        |line_comment, spans, quotes| CodeLanguage::Known(LanguageSyntax { line_comment, spans, quotes });
    match name.as_str() {
        // A single quote also begins a lifetime.
        "rust" | "rs" => syntax("//", C_SPANS, "\""),
        "c" | "h" | "cpp" | "c++" | "cc" | "java" | "kotlin" | "kt" | "swift" | "cs" | "csharp" | "go"
        | "golang" | "scala" | "dart" | "php" | "javascript" | "js" | "jsx" | "mjs" | "typescript" | "ts"
        | "tsx" | "json" | "jsonc" | "json5" | "proto" | "zig" => syntax("//", C_SPANS, "\"'`"),
        "css" | "scss" => syntax("", C_SPANS, "\"'"),
        "python" | "py" => syntax("#", PYTHON_SPANS, "\"'"),
        "sh" | "bash" | "zsh" | "shell" | "fish" | "ruby" | "rb" | "perl" | "yaml" | "yml" | "toml"
        | "ini" | "conf" | "make" | "makefile" | "dockerfile" | "containerfile" | "nix" | "r" | "elixir"
        | "powershell" => syntax("#", &[], "\"'"),
        "sql" | "lua" | "haskell" | "hs" => syntax("--", &[], "\"'"),
        "diff" | "patch" => CodeLanguage::Diff,
        _ => CodeLanguage::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes styles as `{k:…}`, so that they can be read.
    fn highlighted(info: &str, lines: &[&str]) -> Vec<String> {
        let mut highlighter = CodeHighlighter::for_info(info);
        let names = [(STRING, "s"), (NUMBER, "n"), (KEYWORD, "k"), (FAINT, "c"), (REMOVED, "-"), (HUNK, "@")];
        lines
            .iter()
            .map(|line| {
                names.iter().fold(highlighter.highlight(line), |text, (style, name)| {
                    text.replace(&style.render().to_string(), &format!("{{{name}:"))
                })
            })
            .map(|text| text.replace("\x1b[0m", "}"))
            .collect()
    }

    #[test]
    fn code_is_coloured_by_language() {
        assert_eq!(
            highlighted("rust", &["let x: &'a str = \"fn \\\" {}\"; // 12", "/* one", "two */ return 0x1f;"]),
            [
                "{k:let} x: &'a str = {s:\"fn \\\" {}\"}; {c:// 12}",
                "{c:/*}{c: one}",
                "{c:two */} {k:return} {n:0x1f};"
            ]
        );
        assert_eq!(
            highlighted("python title=x", &["def f(): # 'no'", "  '''doc", "  end''' if x else 'y'"]),
            ["{k:def} f(): {c:# 'no'}", "  {s:'''}{s:doc}", "{s:  end'''} {k:if} x {k:else} {s:'y'}"]
        );
        assert_eq!(highlighted("diff", &["-a", "+b", "@@ 1", " c"]), ["{-:-a}", "{s:+b}", "{@:@@ 1}", " c"]);
        assert_eq!(highlighted("", &["let it be"]), ["let it be"]);
    }

    #[test]
    fn highlighting_keeps_the_text() {
        for line in ["\"open", "é'ü'", "/*/", "'''", "", "#", "0", "`x", "漢字 = \"字\""] {
            for info in ["rust", "python", "js", "sh", "sql", "css"] {
                let shown = CodeHighlighter::for_info(info).highlight(line);
                assert_eq!(anstream::adapter::strip_str(&shown).to_string(), line, "{info}");
            }
        }
    }
}
