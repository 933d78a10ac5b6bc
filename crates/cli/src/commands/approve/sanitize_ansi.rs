//! Sanitizes the text of a server's question: only our own styles reach the terminal unescaped.

use runtime::is_invisible;

/// The styles of our own pages. None of them hides a character.
const STYLES: &[&str] =
    &["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m"];

/// Escapes every invisible character in `text` except newlines and the styles in `STYLES`.
pub(super) fn sanitize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // ends: each step takes a character or a style
    while let Some(letter) = rest.chars().next() {
        let style = STYLES.iter().find(|style| rest.starts_with(**style));
        match style {
            Some(style) => out.push_str(style),
            None if is_invisible(letter) => out.extend(letter.escape_unicode()),
            None => out.push(letter),
        }
        rest = &rest[style.map_or(letter.len_utf8(), |style| style.len())..];
    }
    out
}

#[cfg(test)]
mod tests {
    use runtime::{ApprovalPolicy, Escalation};

    use super::*;
    use session::approval::{PromptScope, ScreenSize, render_question, render_rule};
    use testkit::{question_for, script_intent};

    #[test]
    fn our_own_pages_are_shown_as_they_are() {
        let size = ScreenSize { width: 80, height: 10 };
        let why = Some("Because.\u{1b}[8m".to_owned());
        let hidden = script_intent("rm -rf \u{202e}x \"$y\"").with_escalation(Escalation::Required, why);
        for question in [
            question_for(ApprovalPolicy::OnRequest, &hidden),
            question_for(
                ApprovalPolicy::Untrusted,
                &script_intent("apply_patch <<'E'\n*** Begin Patch\n-a\n+b\n@@\nE\n"),
            ),
        ] {
            let text = render_question(&question, size, PromptScope::Server);
            assert_eq!(sanitize(&text), text);
        }
        let ruled = question_for(ApprovalPolicy::Untrusted, &script_intent("cargo test"));
        let rule = render_rule(ruled.proposal.as_ref().unwrap(), size);
        assert_eq!(sanitize(&rule), rule);
    }

    #[test]
    fn nothing_else_reaches_the_terminal() {
        for (text, expected) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[8mhidden\u{1b}[0m", "\\u{1b}[8mhidden\u{1b}[0m"),
            ("\u{1b}[30m\u{1b}[1;8m", "\\u{1b}[30m\\u{1b}[1;8m"),
            ("x\u{202e}y\rz\n", "x\\u{202e}y\\u{d}z\n"),
        ] {
            assert_eq!(sanitize(text), expected);
        }
    }
}
