//! Tests the rendering of output from real and hostile programs.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

#[test]
fn a_progress_bar_shows_its_last_state() {
    let pip = "Collecting numpy\n  Downloading numpy.whl (18 MB)\n\
        \r     ━━━              1.2/18.0 MB 3.1 MB/s eta 0:00:06\
        \r     ━━━━━━━━         9.9/18.0 MB 3.3 MB/s eta 0:00:03\
        \r     ━━━━━━━━━━━━━━━ 18.0/18.0 MB 3.4 MB/s\x1b[K\nInstalled numpy\n";
    assert_snapshot!(render_piped(pip.as_bytes()), @r"
    Collecting numpy
      Downloading numpy.whl (18 MB)
         ━━━━━━━━━━━━━━━ 18.0/18.0 MB 3.4 MB/s
    Installed numpy
    ");
    let cargo = "   Compiling serde v1.0\r\n\
        \x1b[K    Building [====>            ] 10/30: serde, syn, quote\r\
        \x1b[K   Compiling syn v2.0\r\n\
        \x1b[K    Building [=========>       ] 20/30: syn\r\
        \x1b[K    Finished in 3.2s\r\n";
    assert_snapshot!(render_terminal(cargo.as_bytes()), @r"
       Compiling serde v1.0
       Compiling syn v2.0
        Finished in 3.2s
    ");
}

#[test]
fn a_file_with_other_line_endings() {
    let file = b"name,size\r\na,1\r\r\n\r\nb,2\r\n";
    assert!(!render_piped(file).contains('\r'));
    assert_snapshot!(render_piped(file), @r"
    name,size
    a,1

    b,2
    ");
}

#[test]
fn bytes_that_are_no_text() {
    assert_snapshot!(render_piped(b"caf\xe9 \xf0\x9f\x98 nul:\0. \xc0\xafok \xe2\x82\xac\n"), @r"caf\xe9 \xf0\x9f\x98 nul:\x00. \xc0\xafok €");
    assert_snapshot!(render_terminal(b"caf\xe9\0\r\n"), @r"caf\xe9\x00");
}

#[test]
fn colours_are_kept_in_a_pipe_and_left_out_of_a_terminal() {
    let text = b"\x1b[1m\x1b[31merror\x1b[0m: it \x1b]8;;http://a.b\x1b\\broke\x1b]8;;\x1b\\\x07\n";
    assert_eq!(render_piped(text).as_bytes(), text);
    assert_snapshot!(render_terminal(text), @"error: it broke");
}

#[test]
fn a_python_session() {
    let python = b"Python 3.11.7 (main) on linux\r\n\
        \x1b[?2004h>>> print('hi')\r\n\x1b[?2004l\rhi\r\n\
        \x1b[?2004h>>> for i in range(2):\r\n\x1b[?2004l\r\
        \x1b[?2004h...     print(j\x08\x1b[Ki)\r\n\x1b[?2004l\r\
        \x1b[?2004h... \r\n\x1b[?2004l\r0\r\n1\r\n\
        \x1b[?2004h>>> ";
    assert_snapshot!(format!("{}|", render_terminal(python)), @r"
    Python 3.11.7 (main) on linux
    >>> print('hi')
    hi
    >>> for i in range(2):
    ...     print(i)
    ... 
    0
    1
    >>> |
    ");
}

#[test]
fn a_bash_session() {
    // As bash 5.2 wrote it: a typing error, and an inserted letter.
    let bash = b"\x1b[?2004h$ echo abd\x08\x1b[Kc\r\n\x1b[?2004l\rabc\r\n\
        \x1b[?2004h$ echo one\x08\x08xne\x08\x08\r\n\x1b[?2004l\roxne\r\n\
        \x1b[?2004h$ ls\r\n\x1b[?2004l\r\x1b[0m\x1b[01;34metc\x1b[0m  \x1b[30;42mtmp\x1b[0m\r\n\
        \x1b[?2004h$ exit\r\n\x1b[?2004l\rexit\r\n";
    assert_snapshot!(render_terminal(bash), @r"
    $ echo abc
    abc
    $ echo oxne
    oxne
    $ ls
    etc  tmp
    $ exit
    exit
    ");
}

#[test]
fn lines_written_over() {
    for (bytes, in_pipe, on_terminal) in [
        ("abc\rx", "xbc", "xbc"),
        ("abc\r\x1b[Kx", "x", "x"),
        ("abc\r\x1b[0Kx\r", "x", "x"),
        ("abc\x1b[2K\rx", "x", "x"),
        ("abc\rx\x1b[1Ky", " yc", " yc"),
        ("abc\x1b[1K\r", "abc\x1b[1K", ""),
        ("abc\x1b[1K\rx", "x", "x"),
        ("loading\r       \rok", "ok", "ok"),
        ("a\r\r\rb", "b", "b"),
        ("\ra", "a", "a"),
        ("a\r", "a", "a"),
        ("é\r€€", "€€", "€€"),
        ("€\u{ff}\ra", "a\u{ff}", "a\u{ff}"),
        ("\x1b[32m50%\x1b[0m\r\x1b[32m99%\x1b[0m", "\x1b[32m99%\x1b[0m", "99%"),
        ("\x1b[32m50%\x1b[0m\r\x1b[K\x1b[31mx\x1b[0m", "\x1b[31mx\x1b[0m", "x"),
        ("ab\x08c", "ab\x08c", "ac"),
        ("ab\x08 \x08", "ab\x08 \x08", "a"),
        ("\x08\x08a", "\x08\x08a", "a"),
        ("abc\x1b[2Dx", "abc\x1b[2Dx", "axc"),
        ("abc\x1b[1Gx\x1b[9Cy", "abc\x1b[1Gx\x1b[9Cy", "xbcy"),
        ("a\0\x1b[Kb", "a\\x00\x1b[Kb", "a\\x00b"),
        ("a\x1b[9", "a\x1b[9", "a"),
        ("\x1b]0;no end", "\x1b]0;no end", "0;no end"),
        ("\x0e\x7fa\tb\x0f", "\x0e\x7fa\tb\x0f", "a\tb"),
    ] {
        assert_eq!(render_piped(bytes.as_bytes()), in_pipe, "{bytes:?} in a pipe");
        assert_eq!(render_terminal(bytes.as_bytes()), on_terminal, "{bytes:?} on a terminal");
    }
}

#[test]
fn cut_characters_are_taken_away() {
    for (head, tail, expected) in [
        (&b"ab"[..], &b"cd"[..], (&b"ab"[..], &b"cd"[..])),
        (b"", b"", (b"", b"")),
        (b"a\xe2\x82", b"\xaccd", (b"a", b"cd")),
        (b"a\xe2", b"\x82\xaccd", (b"a", b"cd")),
        (b"\xf0\x9f\x98", b"\x9f\x98\x80", (b"", b"")),
        ("a€".as_bytes(), "€".as_bytes(), ("a€".as_bytes(), "€".as_bytes())),
        (b"\xff\xff", b"\x80\x80\x80\x80\x80", (b"\xff\xff", b"\x80\x80")),
    ] {
        assert_eq!(trim_to_chars(head, tail), expected, "{head:?} {tail:?}");
    }
}

/// Pieces of a hostile line.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    let piece = prop::sample::select(vec![
        "a", "bc", " ", "é", "\t", "\r", "\r\r", "\x08", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[2D", "\x1b[3G",
    ]);
    prop::collection::vec(piece, 0..30)
}

/// A straightforward terminal with one endless line, as the reference implementation.
fn simple(pieces: &[&str], backspaces: bool) -> String {
    let (mut cells, mut cursor): (Vec<char>, usize) = (Vec::new(), 0);
    for piece in pieces {
        match *piece {
            "\x08" | "\x1b[2D" | "\x1b[3G" if !backspaces => {}
            "\x08" => cursor = cursor.saturating_sub(1),
            "\x1b[2D" => cursor = cursor.saturating_sub(2),
            "\x1b[3G" => cursor = cells.len().min(2),
            "\x1b[K" => cells.truncate(cursor),
            "\x1b[1K" => cells.iter_mut().take(cursor + 1).for_each(|cell| *cell = ' '),
            "\x1b[2K" => cells = vec![' '; cursor],
            _ if piece.starts_with('\r') => cursor = 0,
            letters => {
                for letter in letters.chars() {
                    match cells.get_mut(cursor) {
                        Some(cell) => *cell = letter,
                        None => cells.push(letter),
                    }
                    cursor += 1;
                }
            }
        }
    }
    cells.into_iter().collect::<String>().trim_end_matches(' ').to_owned()
}

proptest! {
    /// Law: for any bytes, a pipe's text has no CR and no NUL, and rendering it again changes nothing.
    #[test]
    fn shown_once_is_shown(bytes in hostile()) {
        let text = render_piped(&bytes);
        prop_assert!(!text.contains(['\r', '\0']));
        prop_assert_eq!(render_piped(text.as_bytes()), text);
        let text = render_terminal(&bytes);
        let steers = |letter: char| letter.is_ascii_control() && !matches!(letter, '\n' | '\t');
        prop_assert!(!text.contains(steers));
        prop_assert_eq!(render_terminal(text.as_bytes()), text);
    }

    /// Law: text without CR and NUL is left alone.
    #[test]
    fn text_is_left_alone(text in "[^\r\0]{0,60}") {
        prop_assert_eq!(render_piped(text.as_bytes()), text);
    }

    /// Law: a line is rendered as a simple terminal shows it.
    #[test]
    fn a_line_is_as_a_terminal_shows_it(pieces in pieces()) {
        let line = format!("\r{}", pieces.concat());
        let returns = pieces.iter().rev().take_while(|piece| piece.starts_with('\r')).count();
        let pieces = &pieces[..pieces.len() - returns];
        let on_terminal = render_terminal(line.as_bytes());
        prop_assert_eq!(on_terminal.trim_end_matches(' '), simple(pieces, true));
        let hidden = ["\x08", "\x1b[2D", "\x1b[3G"];
        let in_pipe = hidden.iter().fold(render_piped(line.as_bytes()), |text, hidden| text.replace(hidden, ""));
        prop_assert_eq!(in_pipe.trim_end_matches(' '), simple(pieces, false));
    }

    /// Law: two halves of a text, cut anywhere, are text again.
    #[test]
    fn halves_are_text(text in "[a€é😀]{0,20}", at in 0usize..80) {
        let (head, tail) = text.as_bytes().split_at(at.min(text.len()));
        let (head, tail) = trim_to_chars(head, tail);
        prop_assert!(std::str::from_utf8(head).is_ok() && std::str::from_utf8(tail).is_ok());
        prop_assert!(head.len() + tail.len() + 4 >= text.len());
    }
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let control = prop::sample::select(&b"\r\n\x08\x1b\x07[]KP\\;01(m\0\xc3\xa9\xe2ab "[..]);
    prop_oneof![prop::collection::vec(control, 0..80), prop::collection::vec(any::<u8>(), 0..80)]
}

/// Law: a line of any kind takes time in proportion to its length. Quadratic time would take hours here.
#[test]
fn hostile_lines_take_no_longer() {
    for pattern in [
        "x\r", "\r", "x\x1b[1K", "x\x1b[2K", "x\x1b[K", "\x1b]", "\x1b]x\x1b", "\x1b[", "\x1b[0", "\x1bP\r",
        "\x08", "x\x1b[1Gy\x1b[999999G\x1b[1K", "x\x1b[1Gy\x1b[999999G\x1b[2K", "\x1b[0m\r", "x\x1b[0m",
    ] {
        let line = format!("{}\r{}", "x".repeat(100_000), pattern.repeat(200_000 / pattern.len()));
        for bytes in [line.as_bytes(), &line.as_bytes()[100_000..]] {
            assert!(render_piped(bytes).len() <= bytes.len() + 1, "{pattern:?}");
            assert!(render_terminal(bytes).len() <= bytes.len(), "{pattern:?}");
        }
    }
}
