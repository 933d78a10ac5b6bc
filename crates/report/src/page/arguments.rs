//! Writes the arguments of a call: a patch as a diff, an object as a list of its members.

use journal::{RecordedCall, RecordedCallForm};
use serde_json::{Map, Value};

use super::diff::write_diff;
use super::html::HtmlWriter;
use crate::format_amount;

/// The tool whose text is a patch, and its argument if the call has JSON arguments.
const PATCH_TOOL: &str = "apply_patch";
const PATCH_ARGUMENT: &str = "input";
/// Members and list elements that are shown.
const MAX_MEMBERS: usize = 100;

/// Writes the arguments of `call`, of which `omitted_bytes` are left out.
pub(super) fn write_arguments(html: &mut HtmlWriter, call: &RecordedCall, omitted_bytes: usize) {
    let text = &call.arguments;
    match call.form {
        RecordedCallForm::Custom | RecordedCallForm::ClientText if call.tool == PATCH_TOOL => {
            write_diff(html, text, omitted_bytes);
        }
        RecordedCallForm::Custom | RecordedCallForm::ClientText => html.quote(text, omitted_bytes),
        RecordedCallForm::Function
        | RecordedCallForm::LocalShell
        | RecordedCallForm::Mcp
        | RecordedCallForm::Client => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(members)) => write_members(html, call, &members),
            // The arguments of a model need not be JSON, and may be cut.
            _ => html.quote(text, omitted_bytes),
        },
    }
}

fn write_members(html: &mut HtmlWriter, call: &RecordedCall, members: &Map<String, Value>) {
    if members.is_empty() {
        return;
    }
    html.tag("<dl>\n");
    for (name, value) in members.iter().take(MAX_MEMBERS) {
        html.tag("<dt>");
        html.text(name);
        html.tag("</dt><dd>");
        match value {
            Value::String(patch) if call.tool == PATCH_TOOL && name == PATCH_ARGUMENT => {
                write_diff(html, patch, 0);
            }
            value => write_value(html, value),
        }
        html.tag("</dd>\n");
    }
    html.tag("</dl>\n");
    write_rest(html, members.len());
}

fn write_value(html: &mut HtmlWriter, value: &Value) {
    match value {
        Value::String(text) if text.contains('\n') => html.quote(text, 0),
        Value::String(text) => write_code(html, text),
        Value::Array(words) if !words.is_empty() && words.iter().all(Value::is_string) => {
            for word in words.iter().take(MAX_MEMBERS).filter_map(Value::as_str) {
                write_code(html, word);
                html.tag(" ");
            }
            write_rest(html, words.len());
        }
        Value::Array(_) | Value::Object(_) => html.quote(&format!("{value:#}"), 0),
        Value::Null | Value::Bool(_) | Value::Number(_) => write_code(html, &value.to_string()),
    }
}

fn write_code(html: &mut HtmlWriter, text: &str) {
    html.tag("<code>");
    html.text(text);
    html.tag("</code>");
}

fn write_rest(html: &mut HtmlWriter, count: usize) {
    let rest = count.saturating_sub(MAX_MEMBERS) as u64;
    if rest > 0 {
        html.line(&format!("… and {} more", format_amount::format_count(rest)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(tool: &str, form: RecordedCallForm, arguments: &str) -> String {
        let call = RecordedCall {
            id: "c".to_owned(),
            tool: tool.to_owned(),
            form,
            arguments: arguments.to_owned(),
            remote: None,
        };
        let mut html = HtmlWriter::default();
        write_arguments(&mut html, &call, 0);
        html.into_text()
    }

    #[test]
    fn arguments_are_shown_by_name() {
        insta::assert_snapshot!(written(
            "shell",
            RecordedCallForm::Function,
            r#"{"command":["ls","a b"],"lines":[1,2],"login":true,"note":"one\ntwo <x>","workdir":"src"}"#,
        ), @r"
        <dl>
        <dt>command</dt><dd><code>ls</code> <code>a b</code> </dd>
        <dt>lines</dt><dd><pre>[
          1,
          2
        ]</pre>
        </dd>
        <dt>login</dt><dd><code>true</code></dd>
        <dt>note</dt><dd><pre>one
        two &lt;x&gt;</pre>
        </dd>
        <dt>workdir</dt><dd><code>src</code></dd>
        </dl>
        ");
        assert_eq!(written("shell", RecordedCallForm::Function, "{}"), "");
    }

    #[test]
    fn a_patch_is_a_diff_in_every_form() {
        let patch = "*** Begin Patch\n-a\n*** End Patch";
        let json = serde_json::json!({ "input": patch }).to_string();
        for (form, arguments) in [(RecordedCallForm::Custom, patch), (RecordedCallForm::Client, &json)] {
            let page = written("apply_patch", form, arguments);
            assert!(page.contains("<del>-a\n</del>"), "{page}");
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_quoted() {
        for text in ["{\"cut", "[1]", "<b>"] {
            assert!(written("x", RecordedCallForm::Function, text).starts_with("<pre>"));
        }
    }
}
