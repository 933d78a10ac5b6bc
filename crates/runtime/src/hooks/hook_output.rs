//! Parses the output and exit status of a hook's program.

use engine::{HookDecision, HookResponse};
use exec::run_to_end::OneShotOutput;
use exec::session::ProcessExit;
use serde::Deserialize;
use tool::truncate_middle;

/// The exit code that denies a call, with the reason on standard error. Hooks of other agents use it too.
const DENY_EXIT_CODE: i32 = 2;
/// Maximum characters of a reason, which is one line among others.
const MAX_REASON_CHARS: usize = 1000;
/// Maximum characters of invalid output in an error message.
const MAX_SHOWN_CHARS: usize = 200;
/// Maximum tokens of a note, which accompanies an answer and does not replace it.
const NOTE_TOKENS: usize = 1000;

/// The JSON that a hook prints. Other fields are reserved for later versions.
#[derive(Deserialize)]
struct PrintedDecision {
    decision: Option<String>,
    reason: Option<String>,
    note: Option<String>,
}

/// Returns the hook's decision, or one sentence about the invalid output.
pub(super) fn parse_output(ran: &OneShotOutput) -> Result<HookResponse, String> {
    match ran.exit {
        ProcessExit::Code(0) => parse_printed(&ran.stdout),
        ProcessExit::Code(DENY_EXIT_CODE) => {
            let reason = String::from_utf8_lossy(&ran.stderr);
            Ok(HookResponse {
                decision: HookDecision::Deny(reason_text(Some(&reason))),
                ..HookResponse::default()
            })
        }
        ProcessExit::Code(code) => {
            Err(format!("it ended with exit code {code}{}", last_stderr_line(&ran.stderr)))
        }
        ProcessExit::Signal(signal) => {
            Err(format!("it was ended by signal {signal}{}", last_stderr_line(&ran.stderr)))
        }
    }
}

fn parse_printed(stdout: &[u8]) -> Result<HookResponse, String> {
    let text = std::str::from_utf8(stdout).map_err(|_| "what it printed is not UTF-8".to_owned())?.trim();
    if text.is_empty() {
        return Ok(HookResponse::default());
    }
    let wrong = |why: &str| {
        format!("its output is not an answer: {why}; it printed `{}`", truncate_chars(text, MAX_SHOWN_CHARS))
    };
    if !text.starts_with('{') {
        return Err(wrong("it is not a JSON object"));
    }
    let PrintedDecision { decision, reason, note } =
        serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let reason = reason_text(reason.as_deref());
    let wants = match decision.as_deref() {
        None => HookDecision::NoObjection,
        Some("ask") => HookDecision::Ask(reason),
        Some("deny") => HookDecision::Deny(reason),
        Some(_) => {
            return Err(wrong("a decision is \"deny\", \"ask\" or null: a hook cannot allow anything"));
        }
    };
    let note = note.filter(|note| !note.trim().is_empty());
    let note = note.map(|note| truncate_middle(note.trim_end(), NOTE_TOKENS, "a note may be no longer").0);
    Ok(HookResponse { decision: wants, note, warning: None })
}

fn reason_text(reason: Option<&str>) -> String {
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => truncate_chars(reason, MAX_REASON_CHARS),
        None => "it gave no reason".to_owned(),
    }
}

/// Returns the last line of standard error, where a program reports its failure.
fn last_stderr_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map(|line| format!(": {}", truncate_chars(line, MAX_SHOWN_CHARS))).unwrap_or_default()
}

fn truncate_chars(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use policy::Enforcement;
    use proptest::prelude::{any, proptest};

    use super::*;

    fn parse_run(code: i32, stdout: &str, stderr: &str) -> Result<HookResponse, String> {
        parse_output(&output(ProcessExit::Code(code), stdout, stderr))
    }

    fn output(exit: ProcessExit, stdout: impl Into<Vec<u8>>, stderr: &str) -> OneShotOutput {
        let (stdout, stderr) = (stdout.into(), stderr.into());
        let (enforcement, denials, notes) = (Enforcement::Full, Vec::new(), Vec::new());
        OneShotOutput { exit, stdout, stderr, enforcement, denials, notes }
    }

    #[test]
    fn valid_output_is_parsed() {
        let deny = |reason: &str| HookDecision::Deny(reason.to_owned());
        let ask = |reason: &str| HookDecision::Ask(reason.to_owned());
        for (stdout, wants, note) in [
            ("", HookDecision::NoObjection, None),
            (" \n", HookDecision::NoObjection, None),
            ("{}", HookDecision::NoObjection, None),
            (r#"{"decision": null, "note": " "}"#, HookDecision::NoObjection, None),
            (r#"{"decision": "deny"}"#, deny("it gave no reason"), None),
            (r#"{"decision": "deny", "reason": " no\n"}"#, deny("no"), None),
            (r#"{"decision": "ask", "reason": "look", "note": "n", "later": 1}"#, ask("look"), Some("n")),
            ("{\"note\": \"a\\nb\\n\"}\n", HookDecision::NoObjection, Some("a\nb")),
        ] {
            let expected = HookResponse { decision: wants, note: note.map(str::to_owned), warning: None };
            assert_eq!(parse_run(0, stdout, "noise"), Ok(expected), "{stdout}");
        }
        assert_eq!(parse_run(2, r#"{"note": "n"}"#, " no push \n").unwrap().decision, deny("no push"));
        assert_eq!(parse_run(2, "", "").unwrap().decision, deny("it gave no reason"));
        let long = parse_run(2, "", &"x".repeat(5000)).unwrap().decision;
        assert_eq!(long, deny(&format!("{}…", "x".repeat(1000))));
    }

    #[test]
    fn invalid_output_is_a_failure() {
        let wrong = |code, stdout: &str, stderr: &str| parse_run(code, stdout, stderr).unwrap_err();
        insta::assert_snapshot!(wrong(0, r#"{"decision": "allow"}"#, ""), @r#"its output is not an answer: a decision is "deny", "ask" or null: a hook cannot allow anything; it printed `{"decision": "allow"}`"#);
        insta::assert_snapshot!(wrong(0, r#"{"decision": true}"#, ""), @r#"its output is not an answer: invalid type: boolean `true`, expected a string at line 1 column 17; it printed `{"decision": true}`"#);
        insta::assert_snapshot!(wrong(0, r#"{"decision": "deny", "decision": null}"#, ""), @r#"its output is not an answer: duplicate field `decision` at line 1 column 31; it printed `{"decision": "deny", "decision": null}`"#);
        insta::assert_snapshot!(wrong(0, r#"["deny"]"#, ""), @r#"its output is not an answer: it is not a JSON object; it printed `["deny"]`"#);
        insta::assert_snapshot!(wrong(0, "null", ""), @"its output is not an answer: it is not a JSON object; it printed `null`");
        insta::assert_snapshot!(wrong(0, "{} {}", ""), @"its output is not an answer: trailing characters at line 1 column 4; it printed `{} {}`");
        insta::assert_snapshot!(wrong(0, "all is well\n", ""), @"its output is not an answer: it is not a JSON object; it printed `all is well`");
        insta::assert_snapshot!(wrong(1, "", "Traceback\n  x\nKeyError: 'a'\n\n"), @"it ended with exit code 1: KeyError: 'a'");
        insta::assert_snapshot!(wrong(127, "", ""), @"it ended with exit code 127");
        let bytes = output(ProcessExit::Code(0), [b'{', 0xff], "");
        insta::assert_snapshot!(parse_output(&bytes).unwrap_err(), @"what it printed is not UTF-8");
        let killed = OneShotOutput { exit: ProcessExit::Signal(9), ..bytes };
        insta::assert_snapshot!(parse_output(&killed).unwrap_err(), @"it was ended by signal 9");
    }

    proptest! {
        /// Output either tightens the verdict or is a failure, and its length is limited.
        #[test]
        fn whatever_it_prints(code in any::<i32>(), stdout in any::<Vec<u8>>(), decision in ".{0,8}", text in ".{0,5000}") {
            let object = serde_json::json!({ "decision": decision, "reason": text, "note": text }).to_string();
            for stdout in [stdout, object.into_bytes()] {
                match parse_output(&output(ProcessExit::Code(code), stdout, &text)) {
                    Ok(HookResponse { decision, note, .. }) => {
                        assert!(code == 0 || matches!(decision, HookDecision::Deny(_)));
                        assert!(note.is_none_or(|note| note.len() <= 4 * NOTE_TOKENS));
                    }
                    Err(why) => assert!(why.chars().count() < 1000),
                }
            }
        }
    }
}
