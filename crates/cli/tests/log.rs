//! Tests of `toolgate log` and `stats`: any session, even a hostile one, is listed, shown, verified and counted.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests change files, and may unwrap")]

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use journal::{
    Journal, JournalEntry, RecordedAnswer, RecordedCall, RecordedCallForm, RecordedVerdict, Redactor,
    SessionId, SessionSettings,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{CommandRun, TestHome};

const OLD: &str = "20261116-213602-4f9a1c";
const NEW: &str = "20261117-080000-abcdef";

/// A home with sessions.
struct JournalFixture(TestHome);

impl JournalFixture {
    fn new() -> Self {
        Self(TestHome::new())
    }

    fn sessions(&self) -> PathBuf {
        self.0.path().join(".local/state/toolgate/sessions")
    }

    fn path(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{id}.jsonl"))
    }

    fn write(&self, id: &str, entries: &[JournalEntry]) -> &Self {
        let id: SessionId = id.parse().unwrap();
        let journal = Journal::create(&self.sessions(), &id, Redactor::new([]).unwrap()).unwrap();
        for entry in entries {
            journal.write(entry).unwrap();
        }
        self
    }

    fn run(&self, args: &[&str]) -> CommandRun {
        self.0.run(self.0.path(), args, "")
    }
}

fn session(cwd: &str) -> JournalEntry {
    let text = |text: &str| text.to_owned();
    JournalEntry::Session(SessionSettings {
        version: text("0.1.0"),
        cwd: text(cwd),
        model: text("gpt-5"),
        wire: text("responses"),
        sandbox: text("read-only"),
        approval: text("on-request"),
        base_url: None,
        client: None,
        resumed: false,
    })
}

fn prompt(text: &str) -> JournalEntry {
    JournalEntry::Prompt { text: text.to_owned(), images: Vec::new() }
}

/// A call with all of its records, with `text` in every text field.
fn call(id: &str, text: &str) -> Vec<JournalEntry> {
    let (call, text) = (|| id.to_owned(), || text.to_owned());
    vec![
        JournalEntry::Call(RecordedCall {
            id: call(),
            tool: text(),
            form: RecordedCallForm::Custom,
            arguments: text(),
            remote: None,
        }),
        JournalEntry::Intent { call: call(), effects: vec![text()] },
        JournalEntry::Verdict { call: call(), verdict: RecordedVerdict::Ask, why: vec![text()], by: text() },
        JournalEntry::Asked { call: call(), why: vec![text()] },
        JournalEntry::Decided { call: call(), decision: text(), by: text() },
        JournalEntry::Attempt { call: call(), number: 1, enforcement: text() },
        JournalEntry::Answered(RecordedAnswer {
            call: call(),
            success: false,
            error: Some(text()),
            took_ms: 7,
            text: text(),
            pictures: Vec::new(),
            spilled: Some(journal::SpilledOutput { path: text(), sha256: text(), bytes: 9 }),
            refused: vec![text()],
        }),
    ]
}

/// A session with `text` in every text field.
fn full_of(text: &str) -> Vec<JournalEntry> {
    let words = || text.to_owned();
    let step = journal::JournalPlanStep { step: words(), status: words() };
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let thought = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]});
    let mut entries = vec![session(text), prompt(text)];
    entries.push(JournalEntry::Said { wire: words(), items: vec![thought, message, json!({"type": text})] });
    entries.extend(call(&format!("c{text}"), text));
    entries.push(JournalEntry::Plan { steps: vec![step] });
    entries.push(JournalEntry::Diff { text: format!("+{text}\n-{text}\n@@{text}\n+++ {text}\n{text}") });
    entries.push(JournalEntry::Compacted { summary: words(), dropped: 3 });
    entries.push(JournalEntry::Notice { text: words() });
    entries.push(JournalEntry::Interrupted { why: words() });
    // A record of an unknown call.
    entries.push(JournalEntry::Attempt { call: words(), number: 9, enforcement: words() });
    entries.push(JournalEntry::End { why: words() });
    entries
}

/// Appends a line that this version cannot write, with a valid hash.
fn append(path: &Path, rest: &str) {
    let text = fs::read_to_string(path).unwrap();
    let seq = text.lines().count() + 1;
    let last = text.lines().last().unwrap();
    let head = &last[last.len() - 66..last.len() - 2];
    let body = format!("{{\"seq\":{seq},\"at\":\"2026-11-17T08:00:00.000Z\",{rest}");
    let digest = Sha256::new().chain_update(head).chain_update(&body).finalize();
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let line = format!("{body},\"hash\":\"{hash}\"}}\n");
    OpenOptions::new().append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
}

#[test]
fn the_newest_sessions_are_listed_first() {
    let desk = JournalFixture::new();
    assert_snapshot!(desk.run(&["log"]).err.replace(desk.0.path().to_str().unwrap(), "$HOME"), @"hint: there are no sessions in `$HOME/.local/state/toolgate/sessions` yet");
    desk.write(
        OLD,
        &[session("/work"), prompt("fix  the\ntests"), JournalEntry::End { why: "done".to_owned() }],
    );
    desk.write(NEW, &[session("/elsewhere"), prompt("more")]);
    let newest: SessionId = "20261117-080001-000000".parse().unwrap();
    let open = Journal::create(&desk.sessions(), &newest, Redactor::new([]).unwrap()).unwrap();
    let first = || serde_json::from_str::<Value>(desk.run(&["log", "-n", "1", "--json"]).out.trim()).unwrap();
    assert_eq!((&first()["id"], &first()["state"]), (&json!(newest.as_str()), &json!("open")));
    fs::remove_file(open.path()).unwrap();
    let out = desk.run(&["log"]).out;
    let ids: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, [NEW, OLD]);
    assert!(out.lines().nth(2).unwrap().ends_with("ended    /work       fix the tests"), "{out}");
    let listed = first();
    assert_eq!(
        (&listed["id"], &listed["state"], &listed["cwd"]),
        (&json!(NEW), &json!("cut_off"), &json!("/elsewhere"))
    );
}

#[test]
fn a_session_is_found_or_the_nearest_are_named() {
    let desk = JournalFixture::new();
    let told = |args: &[&str]| {
        let ran = desk.run(args);
        (ran.code, ran.err.replace(desk.0.path().to_str().unwrap(), "$HOME"))
    };
    assert_snapshot!(told(&["log", "last"]).1, @"error: there are no sessions in `$HOME/.local/state/toolgate/sessions` yet");
    desk.write(OLD, &[prompt("one")]).write(NEW, &[prompt("two")]);
    assert!(desk.run(&["log", "last"]).out.contains("two"));
    assert!(desk.run(&["log", "20261116"]).out.contains("one"));
    let (code, err) = told(&["log", "20261116-9"]);
    assert_eq!(code, Some(2));
    assert_snapshot!(err, @"
    error: no session's name begins with `20261116-9`
    hint: did you mean 20261116-213602-4f9a1c? `toolgate log` lists them, and `last` is the newest
    ");
    assert_snapshot!(told(&["stats", "2026"]).1, @"error: the names of several sessions begin with `2026`: 20261117-080000-abcdef, 20261116-213602-4f9a1c");
    assert_snapshot!(told(&["log", "./absent.jsonl"]).1, @"error: `./absent.jsonl` cannot be used: No such file or directory (os error 2)");
}

#[test]
fn the_lines_are_given_as_they_are() {
    let desk = JournalFixture::new();
    desk.write(OLD, &full_of("é\u{7}"));
    append(&desk.path(OLD), r#""kind":"later","new":[1.50]"#);
    let file = fs::read_to_string(desk.path(OLD)).unwrap();
    assert_eq!(file.lines().count(), full_of("").len() + 1);
    assert_eq!(desk.run(&["log", "last", "--json"]).out, file);
}

#[test]
fn verify_names_modified_lines_and_tolerates_a_torn_end() {
    let desk = JournalFixture::new();
    desk.write(OLD, &[session("/work"), prompt("fix the tests"), prompt("again")]).write(NEW, &[prompt("x")]);
    let holds = desk.run(&["log", "verify"]);
    assert_eq!((holds.code, holds.out.lines().count()), (Some(0), 2));
    let head = fs::read_to_string(desk.path(NEW)).unwrap().trim_end()[..].to_owned();
    assert!(
        holds.out.lines().next().unwrap().ends_with(&head[head.len() - 66..head.len() - 2]),
        "{}",
        holds.out
    );
    OpenOptions::new().append(true).open(desk.path(NEW)).unwrap().write_all(b"{\"seq\":2,\"at").unwrap();
    let torn = desk.run(&["log", "verify", "last", "--json"]);
    let told: Value = serde_json::from_str(&torn.out).unwrap();
    assert_eq!((torn.code, &told["torn"]), (Some(0), &json!({"line": 2, "bytes": 12})));
    assert!(desk.run(&["log", "last"]).out.contains("line 2 was not written to its end (12 bytes)"));

    let changed = fs::read_to_string(desk.path(OLD)).unwrap().replace("fix the", "mix the");
    fs::write(desk.path(OLD), changed).unwrap();
    let wrong = desk.run(&["log", "verify"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.out.contains(&format!("{OLD}  wrong  line 2 has the hash ")), "{}", wrong.out);
    let shown = desk.run(&["log", OLD]);
    assert_eq!((shown.code, shown.out.contains("/work"), shown.out.contains("mix")), (Some(1), true, false));
    assert!(shown.err.contains("line 2 has the hash"), "{}", shown.err);
    assert_eq!(desk.run(&["stats"]).code, Some(1));
    assert_eq!(desk.run(&["log", "verify", "./absent"]).code, Some(2));
}

#[test]
fn verify_finds_removed_lines_with_a_kept_hash() {
    let desk = JournalFixture::new();
    desk.write(OLD, &[session("/work"), prompt("one"), prompt("two")]);
    let told: Value = serde_json::from_str(&desk.run(&["log", "verify", OLD, "--json"]).out).unwrap();
    let kept = &told["head"].as_str().unwrap()[..12];
    assert_eq!(desk.run(&["log", "verify", OLD, "--hash", &kept.to_uppercase()]).code, Some(0));
    let whole = fs::read_to_string(desk.path(OLD)).unwrap();
    let shorter: String = whole.split_inclusive('\n').take(2).collect();
    fs::write(desk.path(OLD), shorter).unwrap();
    assert_eq!(desk.run(&["log", "verify", OLD]).code, Some(0));
    let found = desk.run(&["log", "verify", OLD, "--hash", kept]);
    assert_eq!(found.code, Some(1));
    let says = format!(
        "{OLD}  wrong  no line has the hash `{kept}`: lines were removed, or the file was replaced\n"
    );
    assert_eq!(found.out, says);
    for wrong in [&["log", "verify", OLD, "--hash", "74fa"][..], &["log", "verify", "--hash", kept]] {
        assert_eq!(desk.run(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn calls_are_counted() {
    let desk = JournalFixture::new();
    desk.write(OLD, &[vec![prompt("x")], call("a", "shell"), call("b", "shell")].concat());
    let told: Value = serde_json::from_str(&desk.run(&["stats", "--json"]).out).unwrap();
    assert_eq!((&told["calls"], &told["tools"][0]["failed"]), (&json!(2), &json!({"shell": 2})));
    assert!(desk.run(&["stats", "last"]).out.contains("failed   shell: 2 shell"));
    assert!(desk.run(&["stats", "--since", "100000"]).out.starts_with("1 session, 1 prompt, 2 calls\n"));
    let none = desk.run(&["stats", "--since", "0"]);
    assert!(none.err.contains("there are no such sessions") && none.code == Some(0), "{}", none.err);
}

#[test]
fn a_page_is_written_over_a_page_and_over_nothing_else() {
    let desk = JournalFixture::new();
    desk.write(OLD, &[prompt("x")]);
    for _ in 0..2 {
        let saved = desk.run(&["log", "last", "--html", "page.html"]);
        assert_eq!((saved.code, saved.err.as_str()), (Some(0), "written: page.html\n"));
    }
    let page = desk.0.path().join("page.html");
    assert_eq!(fs::read_to_string(&page).unwrap(), desk.run(&["log", "last", "--html", "-"]).out);
    let before = fs::read_to_string(desk.path(OLD)).unwrap();
    let over = desk.run(&["log", "last", "--html", desk.path(OLD).to_str().unwrap()]);
    assert_eq!((over.code, fs::read_to_string(desk.path(OLD)).unwrap()), (Some(2), before));
}

/// Hostile texts that a journal may contain.
const EVIL: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{202e}txt.exe\u{200b}\u{9b}31m\r",
    "</script></style></pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)> \" onload=' & &lt;",
    "]]> --> <!-- </details></main></body></html>",
    "a\nb\n\n\tc",
    "# <b>\n\n[a](javascript:alert(1)) ![b](http://x/y.png)\n\n> | <i> | b |\n> |---|---|\n> | `<u>` | 2\n\n1. ***x\n   ```diff\n-</pre>\n",
    "",
];

#[test]
fn nothing_in_a_journal_reaches_a_screen_or_a_page_raw() {
    let mut texts: Vec<String> = EVIL.iter().map(|&text| text.to_owned()).collect();
    texts.push(format!("{}\u{1b}", "huge ".repeat(1 << 14)));
    for text in texts {
        let desk = JournalFixture::new();
        desk.write(OLD, &full_of(&text));
        let path = desk.path(OLD);
        append(&path, &format!(r#""kind":{},"x":1"#, json!(text)));
        append(&path, r#""kind":{"not":"text"}"#);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":20,\x1b[2J").unwrap();
        for args in [&["log"][..], &["log", "last"], &["log", "verify"], &["stats"]] {
            let ran = desk.run(args);
            let raw = |letter: char| runtime::is_invisible(letter);
            assert_eq!(
                (ran.code, ran.out.find(raw), ran.err.find(raw)),
                (Some(0), None, None),
                "{args:?} {}",
                ran.out
            );
            assert!(ran.out.len() < 200_000, "{args:?}: {}", ran.out.len());
        }
        let page = desk.run(&["log", "last", "--html", "-"]).out;
        assert_eq!(page.find(runtime::is_invisible), None);
        assert!(page.len() < 2_000_000, "{}", page.len());
        well_formed(&page);
    }
}

/// Checks that every tag is known and closed in order, and every attribute is quoted.
#[track_caller]
fn well_formed(page: &str) {
    const VOID: &[&str] = &["meta", "line", "br", "hr", "!DOCTYPE"];
    const KNOWN: &[&str] = &[
        "html", "head", "title", "style", "body", "header", "main", "section", "article", "figure",
        "figcaption", "svg", "a", "rect", "text", "h1", "p", "pre", "code", "span", "div", "ul", "li",
        "details", "summary", "b", "i", "ins", "del", "s", "u", "ol", "dl", "dt", "dd", "h3", "h4", "h5",
        "table", "tr", "th", "td", "blockquote",
    ];
    let mut open: Vec<&str> = Vec::new();
    for (at, _) in page.match_indices('<') {
        let rest = &page[at + 1..];
        let tag = &rest[..rest.find('>').unwrap()];
        assert!(tag.matches('"').count().is_multiple_of(2) && !tag.contains("onerror"), "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !VOID.contains(&name) {
            assert!(KNOWN.contains(&name), "{tag}");
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0]);
    assert!(!page.contains("<script") && page.contains("default-src 'none'"));
}

#[test]
fn a_hostile_page_runs_nothing_in_a_browser() {
    let Some(browser) =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| is_program(name))
    else {
        return testkit::not_run("a page of a session in a browser", "no Chromium is installed");
    };
    let desk = JournalFixture::new();
    let text = "</pre><script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">\n\n# **bold**";
    desk.write(OLD, &full_of(text));
    assert_eq!(desk.run(&["log", "last", "--html", "page.html"]).code, Some(0));
    let page = desk.0.path().join("page.html");
    let profile = testkit::visible_tempdir();
    let ran = Command::new(browser)
        .args([
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-sync",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--virtual-time-budget=1000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    // The page as the browser has it, after scripts and handlers would have run.
    let dom = String::from_utf8_lossy(&ran.stdout);
    assert!(
        dom.contains("<title>&lt;/pre&gt;&lt;script&gt;"),
        "{dom}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(!dom.contains("<script") && !dom.contains("<img"), "{dom}");
    assert!(dom.contains("<h3><b>bold</b></h3>"), "{dom}");
    let count = |page: &str, tag: &str| page.matches(tag).count();
    let source = fs::read_to_string(&page).unwrap();
    for tag in ["<article", "<details", "<section", "<rect"] {
        assert_eq!(count(&dom, tag), count(&source, tag), "{tag}");
    }
}

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}
