//! Converts content between the client protocol and the model's items, and checks the MIME types of images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rpc::protocol::ContentItem;
use runtime::{OutputImage, OutputItem};

/// The MIME types of pictures that models read.
const IMAGE_MIME_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Converts a client's content into items for the model.
pub(super) fn to_items(content: Vec<ContentItem>) -> Result<Vec<OutputItem>, String> {
    content.into_iter().map(to_item).collect()
}

fn to_item(content: ContentItem) -> Result<OutputItem, String> {
    match content {
        ContentItem::Text { text } => Ok(OutputItem::Text(text)),
        ContentItem::Image { mime_type, data } => decode_picture(&mime_type, &data).map(OutputItem::Image),
        ContentItem::InputImage { image_url } => {
            let parts = image_url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
            let (kind, data) =
                parts.ok_or("an `image_url` begins with `data:` and holds the picture in base64")?;
            decode_picture(kind, data).map(OutputItem::Image)
        }
    }
}

/// Decodes a picture of a client, and checks that its bytes match its MIME type.
pub(crate) fn decode_picture(kind: &str, data: &str) -> Result<OutputImage, String> {
    let mime = IMAGE_MIME_TYPES.into_iter().find(|known| *known == kind);
    let mime = mime.ok_or_else(|| format!("a picture is one of {}", IMAGE_MIME_TYPES.join(", ")))?;
    let bytes = STANDARD.decode(data).map_err(|error| format!("a picture is in base64: {error}"))?;
    // A provider rejects an invalid picture, and with it every later request of the conversation.
    match image_mime_type(&bytes) == Some(mime) {
        true => Ok(OutputImage { mime, bytes }),
        false => Err(format!("the bytes of a picture do not begin as those of {mime} do")),
    }
}

/// Detects the MIME type of a picture that models can read.
pub fn image_mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Converts the pictures of a prompt.
pub(super) fn to_images(content: Vec<ContentItem>) -> Result<Vec<OutputImage>, String> {
    let image = |item: OutputItem| match item {
        OutputItem::Image(image) => Ok(image),
        OutputItem::Text(_) => Err("only pictures go with a prompt".to_owned()),
    };
    to_items(content)?.into_iter().map(image).collect()
}

/// Joins the texts of the content.
pub(super) fn joined_text(content: &[ContentItem]) -> String {
    let words = content.iter().filter_map(|item| match item {
        ContentItem::Text { text } => Some(text.as_str()),
        ContentItem::Image { .. } | ContentItem::InputImage { .. } => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Converts items for the model into content for a client.
pub(super) fn from_items(items: &[OutputItem]) -> Vec<ContentItem> {
    let one = |item: &OutputItem| match item {
        OutputItem::Text(text) => ContentItem::Text { text: text.clone() },
        OutputItem::Image(image) => {
            ContentItem::Image { mime_type: image.mime.to_owned(), data: STANDARD.encode(&image.bytes) }
        }
    };
    items.iter().map(one).collect()
}
