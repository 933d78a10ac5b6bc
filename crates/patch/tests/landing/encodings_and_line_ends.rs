//! Bytes that no hunk names stay: line ends, byte order marks and encodings. Binary files cannot be edited.

use super::{apply, envelope, replace, unified, update};

#[test]
fn windows_endings_stay_and_new_lines_get_them() {
    insta::assert_snapshot!(update("one\r\ntwo\r\nthree\r\n", " one\n-two\n+2\n+2.5\n three\n"), @"
    M f
    |one␍
    |2␍
    |2.5␍
    |three␍
    ");
    insta::assert_snapshot!(update("one\r\ntwo\r\n", "@@\n+three\n"), @"
    M f
    |one␍
    |two␍
    |three␍
    ");
    insta::assert_snapshot!(update("one\r\ntwo", " two\n+three\n"), @"
    M f
    |one␍
    |two␍
    |three⌿
    ");
}

#[test]
fn a_patch_with_windows_endings_does_not_bring_them() {
    let patch = envelope("*** Update File: f\n one\n-two\n+2\n").replace('\n', "\r\n");
    insta::assert_snapshot!(apply([("f", "one\ntwo\n")], &patch), @"
    M f
    |one
    |2
    ");
    insta::assert_snapshot!(apply([("f", "one\r\ntwo\r\n")], &patch), @"
    M f
    |one␍
    |2␍
    ");
    let patch = envelope("*** Add File: g\n+one\n").replace('\n', "\r\n");
    insta::assert_snapshot!(apply([("f", "")], &patch), @"
    A g
    |one
    ");
}

#[test]
fn mixed_endings_stay_line_by_line() {
    insta::assert_snapshot!(update("one\r\ntwo\nthree\r\nfour\n", " one\n-two\n+2\n three\n"), @"
    M f
    |one␍
    |2␍
    |three␍
    |four
    ");
    insta::assert_snapshot!(update("one\ntwo\r\nthree\n", " one\n two\n-three\n+3\n"), @"
    M f
    |one
    |two␍
    |3
    ");
}

#[test]
fn a_line_of_mixed_endings_takes_its_neighbours() {
    insta::assert_snapshot!(update("one\r\ntwo\nthree\n", " two\n+new\n three\n"), @"
    M f
    |one␍
    |two
    |new␍
    |three
    ");
    insta::assert_snapshot!(update("one\ntwo\r\nthree\r\n", " two\n+new\n three\n"), @"
    M f
    |one
    |two␍
    |new
    |three␍
    ");
}

#[test]
fn old_mac_endings_are_endings() {
    // For git it is one line, and so it is in the diff.
    insta::assert_snapshot!(update("one\rtwo\rthree\r", " one\n-two\n+2\n three\n"), @"
    M f
    |one␍2␍three␍⌿
    ");
}

#[test]
fn a_carriage_return_within_a_line_is_a_character() {
    insta::assert_snapshot!(update("one\rtwo\nthree\n", "-three\n+3\n"), @"
    M f
    |one␍two
    |3
    ");
}

#[test]
fn a_text_is_replaced_with_the_files_endings() {
    insta::assert_snapshot!(replace("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n"), @"
    M f
    |1␍
    |2␍
    |three␍
    ");
    insta::assert_snapshot!(replace("one\r\ntwo\r\nthree\r\n", "two", "2\n2.5"), @"
    M f
    |one␍
    |2␍
    |2.5␍
    |three␍
    ");
    insta::assert_snapshot!(replace("one\r\ntwo\nthree\n", "one\ntwo\n", "1\ntwo\n"), @"
    M f
    |1␍
    |two
    |three
    ");
}

#[test]
fn a_whole_file_is_written_with_the_files_endings_and_mark() {
    let patch = envelope("*** Add File: f\n+one\n+two\n");
    insta::assert_snapshot!(apply([("f", "1\r\n2\r\n")], &patch), @"
    M f
      all of it was replaced
    |one␍
    |two␍
    ");
    insta::assert_snapshot!(apply([("f", "\u{feff}1\n2\n")], &patch).replace('\u{feff}', "<BOM>"), @"
    M f
      all of it was replaced
    |<BOM>one
    |two
    ");
    insta::assert_snapshot!(apply([("f", "1\r\n2\n")], &patch), @"
    M f
      all of it was replaced
    |one␍
    |two
    ");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line_and_stays() {
    let told = update("\u{feff}one\ntwo\n", "-one\n+1\n two\n");
    insta::assert_snapshot!(told.replace('\u{feff}', "<BOM>"), @"
    M f
    |<BOM>1
    |two
    ");
    let told = update("\u{feff}one\ntwo\n", "+zero\n one\n");
    insta::assert_snapshot!(told.replace('\u{feff}', "<BOM>"), @"
    M f
    |<BOM>zero
    |one
    |two
    ");
    let told = replace("\u{feff}one\ntwo\n", "one\n", "1\n");
    insta::assert_snapshot!(told.replace('\u{feff}', "<BOM>"), @"
    M f
    |<BOM>1
    |two
    ");
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    ["\u{feff}", text].concat().encode_utf16().flat_map(unit).collect()
}

#[test]
fn utf_16_stays_utf_16() {
    insta::assert_snapshot!(update(utf16("aé\r\nb\r\n", u16::to_le_bytes), " aé\n-b\n+ü\n"), @r"
    M f
    \xff\xfea\x00\xe9\x00\r\x00\n\x00\xfc\x00\r\x00\n\x00
    ");
    insta::assert_snapshot!(update(utf16("a\nb\n", u16::to_be_bytes), " a\n-b\n+c\n"), @r"
    M f
    \xfe\xff\x00a\x00\n\x00c\x00\n
    ");
    insta::assert_snapshot!(replace(utf16("a\nb\n", u16::to_le_bytes), "b", "𝄞"), @r"
    M f
    \xff\xfea\x00\n\x004\xd8\x1e\xdd\n\x00
    ");
}

#[test]
fn latin_1_stays_latin_1() {
    insta::assert_snapshot!(update(b"caf\xe9 cr\xe8me\nd\xe9j\xe0 vu\nfin\n", " déjà vu\n-fin\n+forêt\n"), @r"
    M f
    caf\xe9 cr\xe8me\nd\xe9j\xe0 vu\nfor\xeat\n
    ");
    insta::assert_snapshot!(update(b"caf\xe9 cr\xe8me\nd\xe9j\xe0 vu\nfin\n", "-fin\n+終\n"), @"`f` is encoded as windows-1252, which has no '終'; leave that out, or convert the file to UTF-8 first");
}

#[test]
fn a_whole_file_is_written_in_the_files_encoding() {
    let patch = |line: &str| envelope(&format!("*** Add File: f\n+{line}\n"));
    let latin = b"caf\xe9 cr\xe8me\nd\xe9j\xe0 vu\nfin\n";
    insta::assert_snapshot!(apply([("f", latin)], &patch("forêt")), @r"
    M f
      all of it was replaced
    for\xeat\n
    ");
    insta::assert_snapshot!(apply([("f", latin)], &patch("終")), @"`f` is encoded as windows-1252, which has no '終'; leave that out, or convert the file to UTF-8 first; or delete it first in the same patch, and it is UTF-8 then");
    let (big5, ..) =
        encoding_rs::BIG5.encode("這是一個用來測試的檔案，裡面有許多中文字。\n第二行也是中文。\n");
    insta::assert_snapshot!(apply([("f", &big5)], &patch("中文")), @r"
    M f
      all of it was replaced
    \xa4\xa4\xa4\xe5\n
    ");
    insta::assert_snapshot!(apply([("f", &big5)], &patch("déjà")), @"`f` is encoded as Big5, which has no 'é'; leave that out, or convert the file to UTF-8 first; or delete it first in the same patch, and it is UTF-8 then");
    insta::assert_snapshot!(apply([("f", utf16("a\nb\n", u16::to_le_bytes))], &patch("é")), @r"
    M f
      all of it was replaced
    \xff\xfe\xe9\x00\n\x00
    ");
    insta::assert_snapshot!(apply([("f", b"\xff\xfea")], &patch("b")), @"`f` is encoded as UTF-16LE, and would not come out as it was; convert it to UTF-8 first, or use another tool; or delete it first in the same patch, and it is UTF-8 then");
    let anew = envelope("*** Delete File: f\n*** Add File: f\n+終\n");
    insta::assert_snapshot!(apply([("f", latin)], &anew), @"
    M f
      all of it was replaced
    |終
    ");
}

#[test]
fn a_whole_file_keeps_the_ends_of_lines_that_stay() {
    let patch = envelope("*** Add File: f\n+one\n+1.5\n+two\n+3\n");
    insta::assert_snapshot!(apply([("f", "one\ntwo\r\nthree\n")], &patch), @"
    M f
      all of it was replaced
    |one
    |1.5
    |two␍
    |3
    ");
    insta::assert_snapshot!(apply([("f", "one\rtwo\r")], &patch), @"
    M f
      all of it was replaced
    |one␍1.5␍two␍3␍⌿
    ");
    let call = r#"{"files": [{"path": "f", "content": "one\ntwo"}]}"#;
    insta::assert_snapshot!(apply([("f", "one\r\n")], call), @"
    M f
      all of it was replaced
    |one␍
    |two⌿
    ");
}

#[test]
fn a_diff_that_fits_to_the_byte_does_what_it_says() {
    insta::assert_snapshot!(unified("a\r\nb\nc\r\n", "@@ -1,3 +1,4 @@\n a\r\n b\n+new\n c\r\n"), @"
    M f
    |a␍
    |b
    |new
    |c␍
    ");
    let ends = "@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n";
    insta::assert_snapshot!(unified("a\r\nb\r\n", ends), @"
    M f
    |a
    |b
    ");
    insta::assert_snapshot!(unified("a\nb\n", ends), @"  f is as the patch wants it already");
    insta::assert_snapshot!(unified("x\r\na\r\nb\r\n", ends), @"`f` is unchanged: the hunk at line 3 of the patch changes line ends alone, and does not fit to the byte; change them with a command");
    let told = unified("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-\u{feff}a\n+a\n b\n");
    insta::assert_snapshot!(told, @"
    M f
    |a
    |b
    ");
}

#[test]
fn a_binary_file_is_not_edited() {
    insta::assert_snapshot!(update(b"a\0b\n", "-a\n+b\n"), @"`f` is a binary file, so no text in it can be changed; replace it as a whole with another tool");
    insta::assert_snapshot!(replace(b"a\0b\n", "a", "b"), @"`f` is a binary file, so no text in it can be changed; replace it as a whole with another tool");
    insta::assert_snapshot!(update(b"\xff\xfea", "-a\n+b\n"), @"`f` is encoded as UTF-16LE, and would not come out as it was; convert it to UTF-8 first, or use another tool");
}

#[test]
fn a_binary_file_may_be_moved_deleted_and_written_over() {
    insta::assert_snapshot!(apply([("f", b"a\0b")], &envelope("*** Update File: f\n*** Move to: g\n")), @"
    R f -> g
    |a␀b⌿
    ");
    insta::assert_snapshot!(apply([("f", b"a\0b")], &envelope("*** Delete File: f\n")), @"D f");
    insta::assert_snapshot!(apply([("f", b"a\0b")], &envelope("*** Add File: f\n+text\n")), @"
    M f
      all of it was replaced
    |text
    ");
}

#[test]
fn form_feeds_and_other_ends_of_lines_are_characters() {
    insta::assert_snapshot!(update("a\u{c}b\nc\u{2028}d\ne\u{85}\n", "-c\u{2028}d\n+c\n"), @"M f\n|a\u{c}b\n|c\n|e");
}

#[test]
fn a_byte_order_mark_in_the_patch_is_the_files() {
    let marked = "\u{feff}a\nb\n";
    let diff = "@@ -7,2 +7,2 @@\n-\u{feff}a\n+\u{feff}A\n b\n";
    let rows = [
        (unified(marked, diff), "\u{feff}A"),
        (update(marked, "-\u{feff}a\n+\u{feff}A\n b\n"), "\u{feff}A"),
        (update(marked, "-\u{feff}a\n+A\n b\n"), "\u{feff}A"),
        (update("a\nb\n", "-\u{feff}a\n+\u{feff}A\n b\n"), "A"),
        (replace(marked, "\u{feff}a", "\u{feff}A"), "\u{feff}A"),
        (replace(marked, "a", "\u{feff}A"), "\u{feff}A"),
        (replace("a\nb\n", "\u{feff}a", "\u{feff}A"), "A"),
    ];
    for (told, line) in rows {
        assert_eq!(told, format!("M f\n|{line}\n|b"));
    }
    insta::assert_snapshot!(update(marked, "-\u{feff}a\n+a\n b\n"), @"`f` is unchanged: the hunk at line 3 of the patch changes its byte order mark alone; change that with a command");
}

#[test]
fn utf_8_with_a_stray_byte_stays_as_it_is() {
    let file = b"Gr\xc3\xb6\xc3\x9fe\nbad \xe9\nlast\n";
    insta::assert_snapshot!(update(file, "-last\n+Größe\n"), @r"
    M f
    Gr\xc3\xb6\xc3\x9fe\nbad \xe9\nGr\xc3\xb6\xc3\x9fe\n
    ");
    insta::assert_snapshot!(update(file, "-Größe\n+größer\n"), @r"
    M f
    gr\xc3\xb6\xc3\x9fer\nbad \xe9\nlast\n
    ");
    insta::assert_snapshot!(apply([("f", file)], &envelope("*** Add File: f\n+Größe\n")), @"
    M f
      all of it was replaced
    |Größe
    ");
    let latin = b"caf\xe9 cr\xe8me d\xe9j\xe0 vu\n\xc3\xa9\nlast\n";
    insta::assert_snapshot!(update(latin, "-last\n+Größe\n"), @"`f` has bytes that are UTF-8 and bytes that are not, so it is unclear how to write 'ö'; leave that out, or make the file UTF-8 first");
    insta::assert_snapshot!(update(latin, "-last\n+end\n"), @r"
    M f
    caf\xe9 cr\xe8me d\xe9j\xe0 vu\n\xc3\xa9\nend\n
    ");
}
