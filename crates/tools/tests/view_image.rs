//! Tests `view_image` through the router, as a model calls it, including hostile images.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

use std::io::Cursor;
use std::sync::Arc;

use image::{DynamicImage, ImageFormat};
use insta::assert_snapshot;
use serde_json::json;
use testkit::{TestWorkspace, ToolTestSession};
use tool::{OutputItem, ToolOutput};
use toolgate_tools::ImageSettings;

fn view(workspace: &TestWorkspace, path: &str) -> ToolOutput {
    let tools = toolgate_tools::builtin_tools(
        ImageSettings { max_side: 100, model_accepts_images: true },
        &Arc::default(),
        &Arc::default(),
    )
    .unwrap();
    ToolTestSession::new(workspace, tools).call("view_image", &json!({ "path": path }))
}

fn viewed(arguments: &serde_json::Value) -> ToolOutput {
    let w = TestWorkspace::new();
    w.write_file("a.png", encoded(20, 10, ImageFormat::Png));
    let tools =
        toolgate_tools::builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap();
    ToolTestSession::new(&w, tools).call("view_image", arguments)
}

#[test]
fn a_detail_is_taken_as_other_agents_define_it() {
    for detail in [json!(null), json!("auto"), json!("low"), json!("high"), json!("original")] {
        let shown = viewed(&json!({"path": "a.png", "detail": detail}));
        assert!(shown.success, "{detail}: {}", shown.joined_text());
    }
    let wrong = viewed(&json!({"path": "a.png", "detail": "sharp"}));
    assert_snapshot!(wrong.joined_text(), @"the arguments do not fit at `detail`: expected one of `auto`, `low`, `high`, `original`, found `sharp`");
}

fn view_text(workspace: &TestWorkspace, path: &str) -> String {
    workspace.normalize(&view(workspace, path).joined_text())
}

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    DynamicImage::new_rgb8(width, height).write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

/// Returns a PNG whose header claims a size that its data does not have.
fn png_claiming(width: u32, height: u32) -> Vec<u8> {
    let mut png = encoded(1, 1, ImageFormat::Png);
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = crc32(&png[12..29]);
    png[29..33].copy_from_slice(&crc.to_be_bytes());
    png
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (!(crc & 1)).wrapping_add(1)))
    })
}

#[test]
fn pictures_are_shown_as_they_are_or_scaled_down() {
    let w = TestWorkspace::new();
    for (name, format) in [
        ("a.png", ImageFormat::Png),
        ("a.jpg", ImageFormat::Jpeg),
        ("a.gif", ImageFormat::Gif),
        ("a.webp", ImageFormat::WebP),
    ] {
        let bytes = encoded(20, 10, format);
        w.write_file(name, &bytes);
        let shown = view(&w, name);
        let OutputItem::Image(image) = &shown.items[1] else { panic!("{shown:?}") };
        assert_eq!((image.mime, &image.bytes), (format.to_mime_type(), &bytes));
    }
    w.write_file("big.png", encoded(400, 200, ImageFormat::Png))
        .write_file("big.jpg", encoded(200, 400, ImageFormat::Jpeg));
    for (name, mime) in [("big.png", "image/png"), ("big.jpg", "image/jpeg")] {
        let shown = view(&w, name);
        let OutputItem::Image(image) = &shown.items[1] else { panic!("{shown:?}") };
        assert_eq!(image.mime, mime);
        let decoded = image::load_from_memory(&image.bytes).unwrap();
        assert_eq!(decoded.width().max(decoded.height()), 100);
    }
    assert_snapshot!(view_text(&w, "big.png"), @"`$DIR/big.png`: image/png, 400x200 pixels, scaled down to 100x50");
}

#[test]
fn non_image_is_refused() {
    let w = TestWorkspace::new();
    let mut cut = encoded(20, 10, ImageFormat::Png);
    cut.truncate(cut.len() / 2);
    w.write_file("text", "hello")
        .write_file("empty", "")
        .write_file("cut.png", cut)
        .write_file("a.svg", "<svg xmlns='x'></svg>");
    w.write_file("a.pdf", "%PDF-1.7").write_file("bmp", b"BM\x3a\0\0\0\0\0\0\0");
    assert_snapshot!(view_text(&w, "text"), @"`$DIR/text` is not a PNG, JPEG, GIF or WebP picture (of no known kind)");
    assert_snapshot!(view_text(&w, "empty"), @"`$DIR/empty` is not a PNG, JPEG, GIF or WebP picture (empty)");
    assert_snapshot!(view_text(&w, "cut.png"), @"`$DIR/cut.png` cannot be shown as an image: unexpected end of file");
    assert_snapshot!(view_text(&w, "a.svg"), @"`$DIR/a.svg` is not a PNG, JPEG, GIF or WebP picture (SVG, which is text: use read_file)");
    assert_snapshot!(view_text(&w, "a.pdf"), @"`$DIR/a.pdf` is not a PNG, JPEG, GIF or WebP picture (application/pdf)");
    assert_snapshot!(view_text(&w, "bmp"), @"`$DIR/bmp` is not a PNG, JPEG, GIF or WebP picture (image/bmp)");
    assert_snapshot!(view_text(&w, "nope.png"), @"`$DIR/nope.png` does not exist; list its directory to see what is there");
    assert_snapshot!(view_text(&w, "."), @"`$DIR` is a directory, not a file; give the path of a regular file");
}

#[test]
fn bombs_are_refused_without_being_decoded() {
    let w = TestWorkspace::new();
    w.write_file("wide.png", png_claiming(30_000, 30_000))
        .write_file("endless.png", png_claiming(u32::MAX >> 1, 1));
    w.write_file("huge.png", encoded(1, 1, ImageFormat::Png));
    std::fs::File::options().write(true).open(w.path().join("huge.png")).unwrap().set_len(1 << 30).unwrap();
    assert_snapshot!(view_text(&w, "wide.png"), @"`$DIR/wide.png` is 30000x30000 pixels, too large to decode; 50,000,000 pixels and 32,768 on a side are the most");
    assert_snapshot!(view_text(&w, "endless.png"), @"`$DIR/endless.png` cannot be shown as an image: Memory limit exceeded");
    assert_snapshot!(view_text(&w, "huge.png"), @"`$DIR/huge.png` is 1,073,741,824 bytes, too large for a picture; 67,108,864 are the most");
}
