//! Converts the content blocks of an editor's prompt into text and images for the model.

use std::fmt::Write;

use runtime::OutputImage;

use super::protocol::{ContentBlock, EmbeddedResource};
use crate::content_conversion::decode_picture;

/// Returns the text and the images of a prompt, or an error message.
pub(super) fn convert_blocks(blocks: Vec<ContentBlock>) -> Result<(String, Vec<OutputImage>), String> {
    // Mentions stay where the user typed them. The contents of mentioned resources follow after the typed
    // text.
    let (mut typed, mut attached, mut images) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text { text } => typed.push_str(&text),
            ContentBlock::Image { data, mime_type } => images.push(decode_picture(&mime_type, &data)?),
            ContentBlock::Audio {} => return Err("sound is not heard here; type it".to_owned()),
            ContentBlock::ResourceLink { uri, name } => typed.push_str(&format_mention(&uri, &name)),
            ContentBlock::Resource { resource } => {
                let EmbeddedResource { uri, mime_type, text, blob } = resource;
                typed.push_str(&format_mention(&uri, ""));
                match (text, blob) {
                    (Some(text), _) => {
                        let _ = write!(
                            attached,
                            "\n\nWhat is in {}, as the user sees it:\n{text}",
                            format_mention(&uri, "")
                        );
                    }
                    (None, Some(data)) => {
                        images.push(decode_picture(mime_type.as_deref().unwrap_or_default(), &data)?);
                    }
                    (None, None) => return Err("a resource has a `text` or a `blob`".to_owned()),
                }
            }
        }
    }
    typed.push_str(&attached);
    match typed.trim().is_empty() && images.is_empty() {
        true => Err("there is nothing in it".to_owned()),
        false => Ok((typed, images)),
    }
}

/// Formats a mention: a file by its path, any other resource by its URI.
fn format_mention(uri: &str, name: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => format!("`{}`", percent_decode(path)),
        None if name.is_empty() => format!("<{uri}>"),
        None => format!("{name} <{uri}>"),
    }
}

/// Decodes percent-encoding. An invalid escape stays as it is.
fn percent_decode(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    // ends: each step advances by at least one byte
    while let Some(byte) = bytes.get(at) {
        let digits = path.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(letter) => {
                out.push(letter);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn convert_json(blocks: Value) -> Result<(String, usize), String> {
        convert_blocks(serde_json::from_value(blocks).unwrap()).map(|(text, images)| (text, images.len()))
    }

    #[test]
    fn mentions_stay_in_place_and_what_is_in_them_follows() {
        let blocks = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///w/a%20b.rs", "name": "a b.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///w/c.rs", "text": "fn c() {}"}},
            {"type": "text", "text": " and "},
            {"type": "resource_link", "uri": "https://example.org/x", "name": "the page"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
        ]);
        let text = "Look at `/w/a b.rs` and `/w/c.rs` and the page <https://example.org/x>\n\n\
            What is in `/w/c.rs`, as the user sees it:\nfn c() {}";
        assert_eq!(convert_json(blocks).unwrap(), (text.to_owned(), 1));
    }

    #[test]
    fn unsupported_blocks_are_refused() {
        let rows = [
            (json!([]), "there is nothing in it"),
            (
                json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
                "sound is not heard here; type it",
            ),
            (
                json!([{"type": "image", "mimeType": "image/bmp", "data": ""}]),
                "a picture is one of image/png, image/jpeg, image/gif, image/webp",
            ),
        ];
        for (blocks, why) in rows {
            assert_eq!(convert_json(blocks).unwrap_err(), why);
        }
        assert_eq!(percent_decode("/100%/%zz/%c3%a4/ä%"), "/100%/%zz/ä/ä%");
    }
}
