//! Loads an image file for a model's provider: checks it, decodes it, and scales it down if it is too large.

use std::io::{Cursor, Read};
use std::path::Path;

use exec::fs::FileHandle;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use parking_lot::Mutex;
use serde_json::json;
use tool::{OutputImage, ToolError, ToolOutput};

use crate::file_access::{fs_error, read_error};
use crate::text_format::{format_count, group_digits};

/// A larger file is refused without being read.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// An image with more pixels is refused without being decoded.
const MAX_PIXELS: u64 = 50_000_000;
/// An image with a longer side is refused without being decoded.
const MAX_SIDE_PIXELS: u32 = 32_768;
/// The memory limit of decoding.
const MAX_DECODED_BYTES: u64 = 256 << 20;
/// The allowance for data beside the pixels.
const EXTRA_DECODE_BYTES: u64 = 16 << 20;
/// Providers accept 5 MB of base64, which is this many bytes.
const MAX_SENT_BYTES: usize = 3_700_000;
const JPEG_QUALITY: u8 = 85;

/// Held while an image is decoded and scaled: sixteen concurrent calls must not take sixteen times the memory.
static DECODE_LOCK: Mutex<()> = Mutex::new(());

/// The image settings for the model in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSettings {
    /// The longest side in pixels; larger images are scaled down to it.
    pub max_side: u32,
    /// True if the model accepts images; if not, `read_file` describes them.
    pub model_accepts_images: bool,
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { max_side: 1568, model_accepts_images: true }
    }
}

/// Returns true if a file that begins with `head` is a supported image.
pub(crate) fn is_image(head: &[u8]) -> bool {
    supported_format(head).is_some()
}

/// Loads the image at `path` as an output.
pub(crate) fn load_image(
    path: &Path,
    found: &FileHandle,
    settings: ImageSettings,
) -> Result<ToolOutput, ToolError> {
    let bytes = read_bytes(path, found)?;
    let format = supported_format(&bytes).ok_or_else(|| not_an_image(path, &bytes))?;
    let _alone = DECODE_LOCK.lock();
    let decoded = decode(path, &bytes, format)?;
    let (width, height) = (decoded.picture.width(), decoded.picture.height());
    let sent = fit_for_provider(decoded, bytes, format, settings.max_side)
        .map_err(|fault| ToolError::io(format!("`{}` could not be scaled down: {fault}", path.display())))?;
    let mut about = format!("`{}`: {}, {width}x{height} pixels", path.display(), format.to_mime_type());
    if (sent.width, sent.height) != (width, height) {
        about.push_str(&format!(", scaled down to {}x{}", sent.width, sent.height));
    }
    let facts = json!({
        "path": path.to_string_lossy(), "mime": sent.image.mime, "width": sent.width, "height": sent.height,
        "original_width": width, "original_height": height,
    });
    Ok(ToolOutput::image(about, sent.image).with_structured(facts))
}

fn supported_format(head: &[u8]) -> Option<ImageFormat> {
    let format = image::guess_format(head).ok()?;
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP]
        .contains(&format)
        .then_some(format)
}

fn read_bytes(path: &Path, found: &FileHandle) -> Result<Vec<u8>, ToolError> {
    let too_large = |size: u64| {
        let (size, most) = (format_count(size, "byte"), group_digits(MAX_FILE_BYTES));
        ToolError::io(format!("`{}` is {size}, too large for a picture; {most} are the most", path.display()))
    };
    let file = found.open().map_err(fs_error)?;
    if found.size() > MAX_FILE_BYTES {
        return Err(too_large(found.size()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|fault| read_error(path, &fault))?;
    // The file may have grown since the lookup.
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

fn not_an_image(path: &Path, bytes: &[u8]) -> ToolError {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).into_owned();
    let what = match infer::get(bytes) {
        Some(kind) => kind.mime_type(),
        None if bytes.is_empty() => "empty",
        None if head.contains("<svg") => "SVG, which is text: use read_file",
        None => "of no known kind",
    };
    ToolError::io(format!("`{}` is not a PNG, JPEG, GIF or WebP picture ({what})", path.display()))
}

/// A decoded, upright image.
struct DecodedImage {
    picture: DynamicImage,
    /// True if the file's pixels are already upright.
    upright: bool,
}

fn decode(path: &Path, bytes: &[u8], format: ImageFormat) -> Result<DecodedImage, ToolError> {
    let broken = |fault: image::ImageError| {
        ToolError::io(format!("`{}` cannot be shown as an image: {fault}", path.display()))
    };
    let reader = || ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader().into_dimensions().map_err(broken)?;
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(ToolError::io(format!("`{}` has no pixels ({width}x{height})", path.display())));
    }
    if pixels > MAX_PIXELS || width.max(height) > MAX_SIDE_PIXELS {
        let (most, side) = (group_digits(MAX_PIXELS), group_digits(u64::from(MAX_SIDE_PIXELS)));
        return Err(ToolError::io(format!(
            "`{}` is {width}x{height} pixels, too large to decode; {most} pixels and {side} on a side are the most",
            path.display()
        )));
    }
    let mut limits = Limits::default();
    // The most memory that the pixels need, and no more: a colour profile may claim to be a gigabyte.
    limits.max_alloc = Some(MAX_DECODED_BYTES.min(pixels * 8 + EXTRA_DECODE_BYTES));
    let mut reader = reader();
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let turn = decoder.orientation().map_err(broken)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    picture.apply_orientation(turn);
    Ok(DecodedImage { picture, upright: turn == image::metadata::Orientation::NoTransforms })
}

/// The image to send, with its size in pixels.
struct EncodedImage {
    image: OutputImage,
    width: u32,
    height: u32,
}

/// Returns the file unchanged if the provider accepts it, else a smaller image.
fn fit_for_provider(
    decoded: DecodedImage,
    bytes: Vec<u8>,
    format: ImageFormat,
    max_side: u32,
) -> Result<EncodedImage, image::ImageError> {
    let DecodedImage { mut picture, upright } = decoded;
    let (width, height) = (picture.width(), picture.height());
    let plausible = u64::from(width) * u64::from(height) * 4 + 64 * 1024;
    // A file much longer than its pixels carries other data, which the model need not get.
    if width.max(height) <= max_side
        && bytes.len() <= MAX_SENT_BYTES
        && bytes.len() as u64 <= plausible
        && upright
    {
        return Ok(EncodedImage { image: OutputImage { mime: format.to_mime_type(), bytes }, width, height });
    }
    let mut side = width.max(height).min(max_side.max(1));
    // ends: the side shrinks by a quarter each round, and a picture of a few pixels fits
    loop {
        let longest = picture.width().max(picture.height());
        if longest / 2 > side {
            // For a large reduction, averaging is as good as a filter, and needs no copy in floating point.
            picture = picture.thumbnail(side, side);
        } else if longest > side {
            picture = picture.resize(side, side, FilterType::Triangle);
        }
        let (mime, bytes) = encode(&picture, format)?;
        if bytes.len() <= MAX_SENT_BYTES || side < 16 {
            return Ok(EncodedImage {
                image: OutputImage { mime, bytes },
                width: picture.width(),
                height: picture.height(),
            });
        }
        side = side / 4 * 3;
    }
}

/// Encodes JPEG files as JPEG. Other formats may contain sharp lines or transparency and become PNG; if that is too
/// large and there is no transparency, they become JPEG.
fn encode(picture: &DynamicImage, format: ImageFormat) -> Result<(&'static str, Vec<u8>), image::ImageError> {
    let mut bytes = Vec::new();
    if format != ImageFormat::Jpeg {
        picture.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)?;
        if bytes.len() <= MAX_SENT_BYTES || picture.color().has_alpha() {
            return Ok((ImageFormat::Png.to_mime_type(), bytes));
        }
        bytes.clear();
    }
    let opaque = DynamicImage::from(picture.to_rgb8());
    opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
    Ok((ImageFormat::Jpeg.to_mime_type(), bytes))
}
