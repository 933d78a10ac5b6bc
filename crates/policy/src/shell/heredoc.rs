//! Parses the texts of here-documents.

use crate::shell::ScriptWord;
use crate::shell::parser_cursor::{ParseResult, ParseStop, PendingHeredoc, ScriptParser};
use crate::shell::word_parser::WordBuilder;

/// The text of a here-document.
#[derive(Debug)]
pub(crate) struct HeredocBody {
    pub(crate) word: ScriptWord,
    /// The text, if it contains no expansions.
    pub(crate) verbatim: Option<String>,
}

impl ScriptParser<'_> {
    /// Reads the texts of the here-documents that begin on the line that just ended.
    pub(crate) fn read_heredoc_bodies(&mut self) -> ParseResult<()> {
        for pending in std::mem::take(&mut self.pending_heredocs) {
            let body = self.read_heredoc_body(&pending)?;
            self.heredoc_bodies.push(body);
        }
        Ok(())
    }

    fn read_heredoc_body(&mut self, pending: &PendingHeredoc) -> ParseResult<HeredocBody> {
        let mut text = String::new();
        // ends: each round steps over a line
        loop {
            let rest = &self.text[self.at..];
            let Some((line, _)) = rest.split_once('\n').or((!rest.is_empty()).then_some((rest, ""))) else {
                return Err(ParseStop("a here-document that does not end"));
            };
            self.at = (self.at + line.len() + 1).min(self.text.len());
            let line = if pending.strip_tabs { line.trim_start_matches('\t') } else { line };
            if line == pending.delimiter {
                break;
            }
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if !pending.quoted && backslashes % 2 == 1 {
                return Err(ParseStop("a continued line in a here-document"));
            }
            text.push_str(line);
            text.push('\n');
        }
        if pending.quoted || !text.contains(['$', '`', '\\']) {
            return Ok(HeredocBody { word: ScriptWord::Literal(text.clone()), verbatim: Some(text) });
        }
        let word = self.expand_heredoc(&text)?;
        Ok(HeredocBody { word, verbatim: None })
    }

    /// Parses a text that is expanded as in double quotes, except that a double quote is literal.
    fn expand_heredoc(&mut self, text: &str) -> ParseResult<ScriptWord> {
        self.one_level_deeper(|outer| {
            let mut parser = ScriptParser::new(text, outer.dialect, outer.depth);
            let mut builder = WordBuilder::default();
            // ends: each round steps on
            while let Some(next) = parser.peek() {
                match next {
                    '$' => parser.parse_dollar(&mut builder, true)?,
                    '`' => parser.parse_backtick(&mut builder, true)?,
                    '\\' => {
                        parser.bump();
                        match parser.bump_raw() {
                            Some(next @ ('$' | '`' | '\\')) => builder.push(next),
                            Some(next) => {
                                builder.push('\\');
                                builder.push(next);
                            }
                            None => return Err(ParseStop("it ends with a backslash")),
                        }
                    }
                    _ => {
                        parser.bump();
                        builder.push(next);
                    }
                }
            }
            outer.doubts.append(&mut parser.doubts);
            outer.findings.nested_scripts.append(&mut parser.findings.nested_scripts);
            outer.findings.facts.append(&mut parser.findings.facts);
            Ok(match builder.known_text() {
                Some(known) => ScriptWord::Literal(known.to_owned()),
                None => ScriptWord::Unknown(text.to_owned()),
            })
        })
    }
}
