//! Tests the output of a process in the answer: complete, or truncated with the file of the full output.

use std::fs;
use std::time::{Duration, Instant};

use engine::CallLimits;
use insta::assert_snapshot;
use serde_json::json;
use tool::ToolOutput;

use crate::harness::{
    CommandHarness, CommandToolsSetup, eventually, mask_numbers, output_text, python_path, structured_field,
};

pub(crate) fn streams_are_apart_for_programs_and_together_for_models() {
    let bench = CommandHarness::new();
    let script = "echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three; sleep 0.1; echo four >&2";
    for answer in [bench.run_script(script), bench.start_script(script, &json!({"yield_time_ms": 30_000}))] {
        assert_eq!(output_text(&answer), "one\ntwo\nthreefour\n");
        assert_eq!(
            (structured_field(&answer, "stdout"), structured_field(&answer, "stderr")),
            ("one\nthree", "two\nfour\n")
        );
        assert_eq!(structured_field(&answer, "output"), "one\ntwo\nthreefour\n");
    }
}

/// Returns the path of the full output that an answer names.
fn place(answer: &ToolOutput) -> String {
    let text = answer.joined_text();
    let begin = "the whole output is in `";
    let at = text.find(begin).unwrap_or_else(|| panic!("no place in: {text}")) + begin.len();
    text[at..].split('`').next().unwrap().to_owned()
}

pub(crate) fn five_megabytes_are_cut_and_kept() {
    let bench = CommandHarness::new();
    let whole: String = (1..=700_000).map(|n| format!("{n}\n")).collect();
    let answer = bench.run_script("seq 700000");
    let shown = output_text(&answer);
    assert!(shown.len() <= 40_000 && shown.starts_with("1\n2\n3\n") && shown.ends_with("\n699999\n700000\n"));
    let path = place(&answer);
    assert!(fs::read(&path).unwrap() == whole.as_bytes());
    let marker = shown.lines().find(|line| line.starts_with("[…")).unwrap();
    let marker = mask_numbers(&marker.replace(&path, "FILE"), "[… ", "N");
    assert_snapshot!(mask_numbers(&marker, "(about ", "N"), @"[… N bytes (about N tokens) cut here; the whole output is in `FILE` …]");
    let cut = answer.facts.omitted.unwrap();
    let marker = shown.lines().find(|line| line.starts_with("[…")).unwrap();
    assert_eq!(cut.bytes + shown.len() - marker.len() - 1, whole.len());
    // A model can read the file.
    let read = bench.call("read_file", &json!({"path": path, "start_line": 350_000, "end_line": 350_001}));
    assert!(read.joined_text().starts_with("350000| 350000\n350001| 350001\n"), "{}", read.joined_text());
    assert_snapshot!(bench.normalized(&answer).lines().take(4).collect::<Vec<_>>().join("\n"), @"
    Exit code: 0
    Wall time: T seconds
    Total output lines: 700000
    Output:
    ");
}

pub(crate) fn what_fits_into_memory_but_not_into_an_answer_is_kept_too() {
    let bench = CommandHarness::new();
    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let answer = bench.start_script("seq 20000", &json!({"max_output_tokens": 100}));
    assert!(output_text(&answer).len() <= 400, "{}", output_text(&answer));
    assert_eq!(fs::read_to_string(place(&answer)).unwrap(), whole);
    assert_eq!(bench.kept_files().len(), 1);
    // Output that the model got in full is not kept.
    assert_eq!(output_text(&bench.run_script("seq 1000")).lines().count(), 1000);
    assert_eq!(bench.kept_files().len(), 1);
    // Terminal output is kept unchanged.
    let answer = bench
        .start_script("seq 20000", &json!({"max_output_tokens": 100, "tty": true, "yield_time_ms": 30_000}));
    assert_eq!(fs::read_to_string(place(&answer)).unwrap(), whole.replace('\n', "\r\n"));
}

pub(crate) fn without_a_directory_the_rest_is_gone_and_that_is_said() {
    let bench = CommandToolsSetup { spills: false, ..CommandToolsSetup::default() }.harness();
    let answer = bench.run_script("seq 700000");
    let marker = output_text(&answer).lines().find(|line| line.starts_with("[…")).unwrap().to_owned();
    assert_snapshot!(marker, @"[… 4750035 bytes (about 1187509 tokens) cut here; the rest was not kept: there is no directory for outputs …]");
}

pub(crate) fn output_beyond_the_kept_limit_is_reported() {
    let bench = CommandHarness::new();
    let resident = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    };
    let before = resident();
    let id = bench
        .start_background("read x; head -c 200M /dev/zero | tr '\\0' x; sleep 60", &json!({"stdin": true}));
    bench.find_session(id).write_input(b"\n").unwrap();
    let mut most = 0;
    eventually("all of it", || {
        most = most.max(resident());
        bench.find_session(id).pending_output() == 200 << 20
    });
    assert!(most < before + 100, "{before} MB before, {most} MB at the most");
    let answer = bench.call("kill_session", &json!({"session_id": id, "max_output_tokens": 200}));
    let shown = output_text(&answer);
    let marker = shown.lines().find(|line| line.starts_with("[…")).unwrap();
    let (said, _) = marker.split_once(" in `").unwrap();
    assert!(said.ends_with("; the first 128 MiB of it are"), "{marker}");
    assert!(marker.ends_with("` (no more is kept of one output) …]"), "{marker}");
    assert_eq!(fs::metadata(&bench.kept_files()[0]).unwrap().len(), 128 << 20);
    assert_eq!(answer.facts.usage.unwrap().stdout, 200 << 20);
    fs::remove_file(&bench.kept_files()[0]).unwrap();
}

pub(crate) fn non_utf8_bytes_survive() {
    let bench = CommandHarness::new();
    let shown = |script: &str| output_text(&bench.run_script(script));
    assert_eq!(shown(r"printf 'a\xffb\xc3(\x00c\n'"), "a\\xffb\\xc3(\\x00c\n");
    assert_eq!(shown(r"printf 'cut \xe2\x82'"), "cut \\xe2\\x82");
    assert_eq!(shown("printf 'no newline'"), "no newline");
    assert_eq!(shown(r"printf 'caf\xc3\xa9 \xf0\x9f\x98\x80\n'"), "café 😀\n");
    assert_eq!(shown(r"printf '\e[31mred\e[0m plain\n'"), "\u{1b}[31mred\u{1b}[0m plain\n");
    assert_eq!(shown(r"printf 'one\r\ntwo\r\n'"), "one\ntwo\n");
    assert_eq!(shown(r"printf '\xef\xbb\xbfbom\n'"), "\u{feff}bom\n");
    let answer = bench.run_script(r"printf 'a\xff\x00' >&2");
    assert_eq!(structured_field(&answer, "stderr"), "a\\xff\\x00");
    // The file has the original bytes.
    let answer = bench.run_script(r"for i in {1..30000}; do printf '\xff\x00'; done; echo");
    assert_eq!(fs::read(place(&answer)).unwrap(), [[0xff, 0].repeat(30_000), vec![b'\n']].concat());
}

pub(crate) fn progress_is_folded_to_its_last_state() {
    let bench = CommandHarness::new();
    let bar = "for i in 10 50 100; do printf '\\r%3d%%' $i; done; echo; echo done";
    assert_eq!(output_text(&bench.run_script(bar)), "100%\ndone\n");
    let clears = r"printf 'fetching a long name\r\e[Kdone\n'";
    assert_eq!(output_text(&bench.run_script(clears)), "done\n");
    // The number of states does not matter.
    let long = "import sys\nfor i in range(40000): sys.stdout.write('\\r%d' % i)\nprint()";
    let answer = bench.call("shell", &json!({"command": [python_path(), "-c", long], "timeout_ms": 60_000}));
    assert_eq!(output_text(&answer), "39999\n");
}

pub(crate) fn a_hundred_thousand_tiny_writes_are_captured() {
    let bench = CommandHarness::new();
    let script =
        "import os\nfor i in range(50000):\n os.write(1, b'o%d\\n' % i)\n os.write(2, b'e%d\\n' % i)\n";
    let answer =
        bench.call("shell", &json!({"command": [python_path(), "-c", script], "timeout_ms": 60_000}));
    let usage = answer.facts.usage.unwrap();
    let lines = |letter: &str| (0..50_000).map(|n| format!("{letter}{n}\n")).collect::<String>();
    let (out, err) = (lines("o"), lines("e"));
    assert_eq!((usage.stdout, usage.stderr), (out.len() as u64, err.len() as u64));
    let kept = fs::read_to_string(place(&answer)).unwrap();
    let of = |letter: char| {
        kept.lines()
            .filter(|line| line.starts_with(letter))
            .map(|line| line.to_owned() + "\n")
            .collect::<String>()
    };
    assert_eq!(kept.len(), out.len() + err.len());
    assert!(of('o') == out && of('e') == err);
}

pub(crate) fn a_character_in_two_pieces_is_one() {
    let bench = CommandHarness::new();
    let script = r"printf 'x\xe2'; sleep 0.1; printf '\x82'; sleep 0.1; printf '\xac\n'";
    assert_eq!(output_text(&bench.run_script(script)), "x€\n");
    let answer = bench.start_script(script, &json!({"tty": true, "yield_time_ms": 30_000}));
    assert_eq!(output_text(&answer), "x€\n");
}

pub(crate) fn a_character_in_two_polls_is_one() {
    let bench = CommandHarness::new();
    let script = r"printf 'x\xe2\x82'; read x; printf '\xac\n'; read x";
    let started = bench.start_script(script, &json!({"stdin": true, "yield_time_ms": 250}));
    let id = crate::harness::session_id(&started).unwrap();
    let polled = bench.type_in(id, "\n");
    assert_eq!(output_text(&started) + &output_text(&polled), "x€\n");
}

pub(crate) fn no_more_tokens_than_asked_for() {
    let bench = CommandHarness::new();
    for tokens in [100, 1000, 5000, 9000] {
        let answer = bench.start_script(
            "seq 100000; seq 100000 >&2",
            &json!({"max_output_tokens": tokens, "yield_time_ms": 30_000}),
        );
        let shown = output_text(&answer);
        // Close to the requested size, and never more.
        assert!(shown.len() <= 4 * tokens && shown.len() > 2 * tokens, "{tokens}: {}", shown.len());
        assert_eq!(shown.matches("[…").count(), 1);
        for stream in ["stdout", "stderr"] {
            assert!(structured_field(&answer, stream).len() <= 4 * tokens, "{tokens} {stream}");
        }
        assert!(
            answer.joined_text().contains("\nOriginal token count: 294448\n"),
            "{}",
            answer.joined_text()
        );
    }
    // Only the marker with the path remains.
    for tokens in [0, 1] {
        let answer = bench.start_script("seq 1000", &json!({"max_output_tokens": tokens}));
        let shown = output_text(&answer);
        assert!(
            shown.starts_with(
                "[… 1000 lines, 3893 bytes (about 974 tokens) cut here; the whole output is in `"
            ),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), 1);
    }
    let answer = bench.start_script("printf 'abcdefgh'", &json!({"max_output_tokens": 2}));
    assert_eq!(output_text(&answer), "abcdefgh");
}

pub(crate) fn the_limit_of_all_answers_holds() {
    let limits = CallLimits { output_tokens: 1000, ..CallLimits::default() };
    let bench = CommandToolsSetup { limits, ..CommandToolsSetup::default() }.harness();
    for answer in [
        bench.run_script("seq 100000"),
        bench.start_script("seq 100000", &json!({"max_output_tokens": 50_000, "yield_time_ms": 30_000})),
        bench.start_script(
            "seq 100000",
            &json!({"max_output_tokens": 50_000, "yield_time_ms": 30_000, "tty": true}),
        ),
    ] {
        let text = answer.joined_text();
        assert!(text.len() <= 4000, "{}", text.len());
        // Truncated once, by the code that knows the file of the rest.
        assert_eq!(text.matches("[…").count(), 1, "{text}");
        assert!(fs::metadata(place(&answer)).unwrap().len() >= 588_895);
    }
}

pub(crate) fn successive_polls_return_all_output() {
    let bench = CommandHarness::new();
    let script =
        "import sys, time\nfor i in range(3000):\n print('line', i, flush=True)\n time.sleep(0.001)\n";
    bench.workspace.write_file("chatty.py", script);
    let run = format!("{} chatty.py", python_path());
    let started = bench.start_script(&run, &json!({"stdin": true}));
    let id = crate::harness::session_id(&started).unwrap();
    let mut all = output_text(&started);
    let mut polls = 0;
    let until = Instant::now() + Duration::from_secs(60);
    let mut code = None;
    while code.is_none() {
        assert!(Instant::now() < until);
        let polled = bench.call("write_stdin", &json!({"session_id": id, "chars": "x"}));
        all.push_str(&output_text(&polled));
        code = polled.facts.exit_code;
        polls += 1;
    }
    let whole: String = (0..3000).map(|n| format!("line {n}\n")).collect();
    assert!(polls > 2 && code == Some(0));
    assert!(all == whole, "{} of {} bytes in {polls} polls", all.len(), whole.len());
}

pub(crate) fn each_poll_reports_its_own_truncation() {
    let bench = CommandHarness::new();
    let id = bench.start_background("while read n; do seq $n; done", &json!({"stdin": true}));
    let poll = |chars: &str| {
        bench.call(
            "write_stdin",
            &json!({"session_id": id, "chars": chars, "yield_time_ms": 1000, "max_output_tokens": 100}),
        )
    };
    let first = poll("5000\n");
    let second = poll("6000\n");
    let seq = |last: usize| (1..=last).map(|n| format!("{n}\n")).collect::<String>();
    assert_eq!(fs::read_to_string(place(&first)).unwrap(), seq(5000));
    assert_eq!(fs::read_to_string(place(&second)).unwrap(), seq(6000));
    assert_eq!(output_text(&poll("3\n")), "1\n2\n3\n");
}

/// A process that writes faster than its output is read is still killed in time.
pub(crate) fn a_flood_is_ended_in_time() {
    let bench = CommandHarness::new();
    for flood in ["yes", "cat /dev/zero", "cat /dev/zero & cat /dev/zero >&2 & yes"] {
        let began = Instant::now();
        let answer = bench.call("shell", &json!({"command": ["bash", "-c", flood], "timeout_ms": 500}));
        assert_eq!(answer.facts.exit_code, Some(124), "{flood}");
        assert!(began.elapsed() < Duration::from_secs(10), "{flood}: {:?}", began.elapsed());
        let began = Instant::now();
        let wait = Duration::from_millis(500);
        let arguments = json!({"command": ["bash", "-c", flood], "timeout_ms": 60_000});
        let answer = bench.call_and_cancel("shell", &arguments, wait);
        assert!(answer.joined_text().starts_with("aborted by the user"), "{flood}: {}", answer.joined_text());
        assert!(began.elapsed() < Duration::from_secs(10), "{flood}: {:?}", began.elapsed());
        let began = Instant::now();
        let id = bench.start_background(flood, &json!({"max_output_tokens": 50}));
        assert!(began.elapsed() < Duration::from_secs(10), "{flood}: {:?}", began.elapsed());
        assert!(bench.call("kill_session", &json!({"session_id": id, "max_output_tokens": 50})).success);
        assert!(began.elapsed() < Duration::from_secs(15), "{flood}: {:?}", began.elapsed());
        bench.kept_files().iter().for_each(|path| fs::remove_file(path).unwrap());
    }
}
