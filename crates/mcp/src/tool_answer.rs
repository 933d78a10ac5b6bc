//! Converts the answer of a server's tool to tool output for the model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tool::{OutputImage, OutputItem, ToolOutput};

use crate::peer::{AnswerBlock, CallAnswer};

/// Image types that models accept.
const IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Maximum bytes of an image for a model; a larger one is only mentioned.
const MAX_IMAGE_BYTES: usize = 5 << 20;
/// Maximum number of blocks of an answer; the number of further ones is mentioned.
const MAX_BLOCKS: usize = 200;

/// Returns the answer as tool output: text as text, images as images, anything else as one line.
pub(crate) fn into_tool_output(answer: CallAnswer) -> ToolOutput {
    let CallAnswer { blocks, structured, failed } = answer;
    let is_repeated = structured.as_ref().is_none_or(|structured| repeats_structured(&blocks, structured));
    let more = blocks.len().saturating_sub(MAX_BLOCKS);
    let mut items: Vec<OutputItem> = Vec::new();
    for block in blocks.into_iter().take(MAX_BLOCKS) {
        items.push(output_item(block));
    }
    if more > 0 {
        items.push(OutputItem::Text(format!("[{more} more pieces of the answer were left out]")));
    }
    // Text that repeats the structured data is meant for older clients. Any other text does not include the data, so
    // the data is appended.
    if let Some(structured) = structured.as_ref().filter(|_| !is_repeated) {
        items.push(OutputItem::Text(structured.to_string()));
    }
    if items.is_empty() {
        items.push(OutputItem::Text("(it answers nothing)".to_owned()));
    }
    let mut output = ToolOutput { items, success: !failed, ..ToolOutput::text("") };
    output.structured = structured;
    output
}

/// Returns whether the texts contain all of the structured data: as JSON, or each value as a text of its own.
fn repeats_structured(blocks: &[AnswerBlock], structured: &Value) -> bool {
    let text = |block: &AnswerBlock| match block {
        AnswerBlock::Text(text) => Some(text.trim().to_owned()),
        _ => None,
    };
    let mut texts: Vec<String> = blocks.iter().take(MAX_BLOCKS).filter_map(text).collect();
    if texts.len() > 1 {
        texts.push(texts.join("\n"));
    }
    let read: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    !texts.is_empty() && repeats_value(structured, &texts, &read)
}

fn repeats_value(value: &Value, texts: &[String], read: &[Value]) -> bool {
    if read.contains(value) {
        return true;
    }
    match value {
        Value::String(text) => texts.iter().any(|said| said == text.trim()),
        Value::Number(_) | Value::Bool(_) => false,
        Value::Null => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| repeats_value(item, texts, read)),
        Value::Object(fields) => {
            !fields.is_empty() && fields.values().all(|field| repeats_value(field, texts, read))
        }
    }
}

fn output_item(block: AnswerBlock) -> OutputItem {
    match block {
        AnswerBlock::Text(text) => OutputItem::Text(text),
        AnswerBlock::Image { mime, data } => image_item(&mime, &data),
        AnswerBlock::Audio { mime, data } => OutputItem::Text(describe_media("audio", &mime, &data)),
        AnswerBlock::Link { uri, name, about } => {
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            OutputItem::Text(format!("[resource `{name}` at {uri}{about}; read_mcp_resource reads it]"))
        }
        AnswerBlock::Resource { uri, text: Some(text), .. } => {
            OutputItem::Text(format!("[resource {uri}]\n{text}"))
        }
        AnswerBlock::Unknown { kind } => OutputItem::Text(describe_unknown(&kind)),
        AnswerBlock::Resource { uri, mime, blob, .. } => {
            let mime = mime.unwrap_or_default();
            if IMAGE_TYPES.contains(&&*mime) {
                return image_item(&mime, &blob.unwrap_or_default());
            }
            OutputItem::Text(format!(
                "[resource {uri}] {}",
                describe_media("data", &mime, &blob.unwrap_or_default())
            ))
        }
    }
}

/// Describes content of an unknown type in one line.
fn describe_unknown(kind: &str) -> String {
    format!("[content of kind `{}`, which cannot be shown here]", printable_ascii(kind))
}

fn printable_ascii(kind: &str) -> String {
    kind.chars().filter(char::is_ascii_graphic).take(80).collect()
}

fn image_item(mime: &str, data: &str) -> OutputItem {
    let known = IMAGE_TYPES.iter().find(|known| **known == mime);
    let small = data.len() / 4 * 3 <= MAX_IMAGE_BYTES;
    match (known, STANDARD.decode(data.trim()), small) {
        (Some(mime), Ok(bytes), true) => OutputItem::Image(OutputImage { mime, bytes }),
        _ => OutputItem::Text(describe_media("a picture", mime, data)),
    }
}

/// Describes content that cannot be shown, in one line.
fn describe_media(what: &str, mime: &str, data: &str) -> String {
    let mime = printable_ascii(mime);
    format!("[{what} of kind `{mime}`, {} bytes, which cannot be shown here]", data.len() / 4 * 3)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render_answer(answer: CallAnswer) -> String {
        let output = into_tool_output(answer);
        let item = |item: &OutputItem| match item {
            OutputItem::Text(text) => text.clone(),
            OutputItem::Image(image) => format!("<{} {} bytes>", image.mime, image.bytes.len()),
        };
        let items: Vec<String> = output.items.iter().map(item).collect();
        format!("{}\n{}", if output.success { "ok" } else { "failed" }, items.join("\n"))
    }

    fn answer(blocks: Vec<AnswerBlock>) -> CallAnswer {
        CallAnswer { blocks, structured: None, failed: false }
    }

    #[test]
    fn text_is_text_and_pictures_are_pictures() {
        let image =
            |mime: &str, data: &str| AnswerBlock::Image { mime: mime.to_owned(), data: data.to_owned() };
        let blocks = vec![
            AnswerBlock::Text("{\"a\": 1}".to_owned()),
            image("image/png", "aGVsbG8="),
            image("image/png", "???"),
            image("image/svg+xml", "aGVsbG8="),
            AnswerBlock::Audio { mime: "audio/wav".to_owned(), data: "aGVsbG8=".to_owned() },
            AnswerBlock::Link {
                uri: "file:///x".to_owned(),
                name: "x".to_owned(),
                about: Some("a file".to_owned()),
            },
            AnswerBlock::Resource {
                uri: "test://a".to_owned(),
                mime: None,
                text: Some("body".to_owned()),
                blob: None,
            },
            AnswerBlock::Resource {
                uri: "test://b".to_owned(),
                mime: None,
                text: None,
                blob: Some("aGVsbG8=".to_owned()),
            },
        ];
        insta::assert_snapshot!(render_answer(answer(blocks)), @r#"
        ok
        {"a": 1}
        <image/png 5 bytes>
        [a picture of kind `image/png`, 0 bytes, which cannot be shown here]
        [a picture of kind `image/svg+xml`, 6 bytes, which cannot be shown here]
        [audio of kind `audio/wav`, 6 bytes, which cannot be shown here]
        [resource `x` at file:///x: a file; read_mcp_resource reads it]
        [resource test://a]
        body
        [resource test://b] [data of kind ``, 6 bytes, which cannot be shown here]
        "#);
    }

    #[test]
    fn data_that_no_text_repeats_is_told() {
        let told = |texts: &[&str]| {
            let blocks = texts.iter().map(|text| AnswerBlock::Text((*text).to_owned())).collect();
            render_answer(CallAnswer { structured: Some(json!({"a": 1, "b": [2]})), ..answer(blocks) })
        };
        insta::assert_snapshot!(told(&["It is one."]), @r#"
        ok
        It is one.
        {"a":1,"b":[2]}
        "#);
        insta::assert_snapshot!(told(&["It is one.", "{ \"b\": [2], \"a\": 1 }"]), @r#"
        ok
        It is one.
        { "b": [2], "a": 1 }
        "#);
    }

    #[test]
    fn data_that_the_texts_repeat_is_not_told_twice() {
        let rows = [
            (json!({"content": "a\nb\n"}), &["a\nb"][..], true),
            (json!({"content": ["a", "b"]}), &["a", "b"], true),
            (json!({"result": "a\nb"}), &["a", "b"], true),
            (json!({"result": 5}), &["5"], true),
            (json!({"result": {"x": [1]}}), &["{\"x\": [1]}"], true),
            (json!({"content": "a", "next": null}), &["a"], true),
            (json!({"content": "a", "size": 1}), &["a"], false),
            (json!({"content": "a"}), &["ab"], false),
            (json!({}), &["a"], false),
            (json!({"content": "a"}), &[], false),
        ];
        for (structured, texts, told) in rows {
            let blocks: Vec<AnswerBlock> =
                texts.iter().map(|text| AnswerBlock::Text((*text).to_owned())).collect();
            assert_eq!(repeats_structured(&blocks, &structured), told, "{structured} {texts:?}");
        }
    }

    #[test]
    fn unknown_content_is_mentioned_by_kind() {
        let blocks = vec![AnswerBlock::Unknown { kind: "holo\u{1b}gram".to_owned() }];
        insta::assert_snapshot!(render_answer(answer(blocks)), @"
        ok
        [content of kind `hologram`, which cannot be shown here]
        ");
    }

    #[test]
    fn an_answer_without_words_is_its_data() {
        let nothing = answer(Vec::new());
        insta::assert_snapshot!(render_answer(nothing.clone()), @"
        ok
        (it answers nothing)
        ");
        insta::assert_snapshot!(render_answer(CallAnswer { structured: Some(json!({"a": 1})), failed: true, ..nothing }), @r#"
        failed
        {"a":1}
        "#);
    }
}
