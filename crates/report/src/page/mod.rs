//! Formats a session as a single HTML page that loads nothing, runs no script, and escapes all foreign text.

mod arguments;
mod call;
mod diff;
mod html;
mod markdown;
mod timeline;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use base64::Engine as _;
use journal::{JournalEntry, RequestUsage, SessionTimeline, TimelineEvent, TimelineEventKind};
use runtime::wire::TranscriptItem;
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use self::html::HtmlWriter;
use crate::format_amount;
use crate::reading_order::{ReadingItem, in_reading_order};
use crate::session_text;
use crate::wait_spans::{WaitSpan, wait_spans};

const STYLE: &str = include_str!("page.css");
/// The first bytes of each of our pages.
const PAGE_START: &str = "<!DOCTYPE html>\n";
/// Characters of the first prompt in the title.
const MAX_TITLE_CHARS: usize = 120;
/// Requests that are listed.
const MAX_REQUESTS: usize = 1000;

/// Formats the whole session.
pub fn render(name: &str, timeline: &SessionTimeline) -> String {
    let mut html = HtmlWriter::default();
    let spans = wait_spans(timeline);
    let title = title(name, timeline);
    write_head(&mut html, &title);
    html.tag("<header>\n<h1>");
    html.text(&title);
    html.tag("</h1>\n");
    html.line(&format!("{name}, {}", session_text::summary(timeline)));
    write_requests(&mut html, timeline);
    html.tag("</header>\n");
    if timeline.prompt_count() > 1 {
        timeline::draw(&mut html, timeline, &spans, &(0..timeline.end.after_ms));
    }
    html.tag("<main>\n");
    split_turns(timeline).iter().for_each(|turn| write_turn(&mut html, timeline, &spans, turn));
    if let Some(line) = session_text::ending_problem(&timeline.ending) {
        html.tag("<p class=\"bad\">");
        html.text(&line);
        html.tag("</p>\n");
    }
    html.tag("</main>\n</body>\n</html>\n");
    html.into_text()
}

/// Returns the first line of the first prompt. A session of a client has no prompt.
fn title(name: &str, timeline: &SessionTimeline) -> String {
    let prompt = timeline.entries().find_map(|entry| match entry {
        JournalEntry::Prompt { text, .. } => text.lines().find(|line| !line.trim().is_empty()),
        _ => None,
    });
    let client = timeline.last_settings().and_then(|settings| settings.client.as_deref());
    let Some(title) = prompt.map(str::to_owned).or_else(|| Some(format!("Calls of {}", client?))) else {
        return name.to_owned();
    };
    let mut short: String = title.trim().chars().take(MAX_TITLE_CHARS).collect();
    if short.len() < title.trim().len() {
        short.push('…');
    }
    short
}

/// Lists the requests to the model below their total.
fn write_requests(html: &mut HtmlWriter, timeline: &SessionTimeline) {
    let (count, total) = timeline.total_usage();
    if count == 0 {
        return;
    }
    html.tag("<details class=\"faint\"><summary>");
    html.text(&format!(
        "{}: {}",
        format_amount::pluralize(count, "request"),
        session_text::token_usage(&total)
    ));
    html.tag("</summary>\n<ol>\n");
    let usages = timeline.entries().filter_map(|entry| match entry {
        JournalEntry::Usage(usage) => Some(usage),
        _ => None,
    });
    for usage in usages.take(MAX_REQUESTS) {
        html.tag("<li>");
        html.text(&request_line(usage));
        html.tag("</li>\n");
    }
    html.tag("</ol>\n</details>\n");
}

fn request_line(usage: &RequestUsage) -> String {
    format!("{}, {}", format_amount::format_duration(usage.model_ms), session_text::token_usage(usage))
}

/// Writes a page. A new file gets mode 0600. An existing file must be a page too, and keeps its mode.
pub fn save_private(file: &Path, page: &str) -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = File::from(openat(CWD, file, flags, Mode::RUSR | Mode::WUSR)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut existing = Vec::new();
    (&file).take(PAGE_START.len() as u64).read_to_end(&mut existing)?;
    if !existing.is_empty() && existing != PAGE_START.as_bytes() {
        return Err(io::Error::other("it is there already, and is not a page of ours"));
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(page.as_bytes())
}

/// Writes the head of the page. Its Content-Security-Policy forbids loading and scripts, and allows only the
/// page's own style.
fn write_head(html: &mut HtmlWriter, title: &str) {
    html.tag(PAGE_START);
    html.tag("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    html.tag("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-");
    html.text(&base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE)));
    html.tag("'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.tag("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.tag("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html.text(title);
    html.tag(" - toolgate</title>\n<style>");
    html.tag(STYLE);
    html.tag("</style>\n</head>\n<body>\n");
}

/// Splits a session into turns: the events before the first prompt, then from each prompt to the next.
fn split_turns(timeline: &SessionTimeline) -> Vec<&[TimelineEvent]> {
    let mut turns = Vec::new();
    let mut rest = &timeline.events[..];
    // ends: each turn takes at least one event
    while !rest.is_empty() {
        let next = rest.iter().skip(1).position(TimelineEvent::is_prompt).map_or(rest.len(), |at| at + 1);
        let (turn, after) = rest.split_at(next);
        turns.push(turn);
        rest = after;
    }
    turns
}

fn write_turn(html: &mut HtmlWriter, timeline: &SessionTimeline, spans: &[WaitSpan], turn: &[TimelineEvent]) {
    let [first, .., last] = turn else {
        in_reading_order(turn).iter().for_each(|item| write_item(html, item));
        return;
    };
    let answers = turn.iter().filter_map(|event| Some(event.as_call()?.answer.as_ref()?.time.after_ms));
    let end = answers.fold(last.time.after_ms, u64::max);
    html.tag("<section>\n");
    let (prompt, rest) = turn.split_at(usize::from(first.is_prompt()));
    prompt.iter().for_each(|event| write_event(html, event));
    timeline::draw(html, timeline, spans, &(first.time.after_ms..end));
    in_reading_order(rest).iter().for_each(|item| write_item(html, item));
    html.tag("</section>\n");
}

fn write_item(html: &mut HtmlWriter, item: &ReadingItem<'_>) {
    match item {
        ReadingItem::Event(event) => write_event(html, event),
        // The bars of a drawing lead here.
        ReadingItem::Response { said, usage } => {
            for event in [Some(*said), *usage].into_iter().flatten() {
                write_anchor(html, event.seq);
            }
        }
        ReadingItem::Words { item, after_ms } => {
            html.tag("<article><span class=\"when\">");
            html.text(&format_amount::format_duration(*after_ms));
            html.tag("</span><div class=\"words\">\n");
            write_words(html, item);
            html.tag("</div></article>\n");
        }
    }
}

/// Marks a place that bars of a drawing lead to.
fn write_anchor(html: &mut HtmlWriter, seq: u64) {
    html.tag("<span id=\"l");
    html.number(seq);
    html.tag("\"></span>\n");
}

fn write_words(html: &mut HtmlWriter, item: &TranscriptItem) {
    match item {
        TranscriptItem::Text(text) => markdown::write_markdown(html, text),
        TranscriptItem::Thought(text) => {
            html.tag("<details class=\"faint\"><summary>to itself</summary>\n");
            markdown::write_markdown(html, text);
            html.tag("</details>\n");
        }
        TranscriptItem::Other(kind) => html.line(kind),
        // The call has an event of its own.
        TranscriptItem::Call(_) => {}
    }
}

fn write_event(html: &mut HtmlWriter, event: &TimelineEvent) {
    let entry = match &event.kind {
        TimelineEventKind::Call(call) => return call::write_call(html, event, call),
        TimelineEventKind::Entry(JournalEntry::Usage(_)) => return write_anchor(html, event.seq),
        TimelineEventKind::Entry(entry) => entry,
    };
    let mut content = HtmlWriter::default();
    write_entry(&mut content, entry, event.omitted_bytes);
    if content.is_empty() {
        return;
    }
    html.tag(match entry {
        JournalEntry::Prompt { .. } => "<article class=\"you\" id=\"l",
        entry if session_text::is_problem(entry) => "<article class=\"bad\" id=\"l",
        _ => "<article id=\"l",
    });
    html.number(event.seq);
    html.tag("\"><span class=\"when\">");
    html.text(&format_amount::format_duration(event.time.after_ms));
    html.tag("</span><div>\n");
    html.append(&content);
    html.tag("</div></article>\n");
}

/// Writes the content of an entry; nothing if another event shows it.
fn write_entry(html: &mut HtmlWriter, entry: &JournalEntry, omitted_bytes: usize) {
    match entry {
        JournalEntry::Prompt { text, images } => {
            html.quote(text, omitted_bytes);
            session_text::pluralize_some(images.len(), "image").iter().for_each(|count| html.line(count));
        }
        JournalEntry::Plan { steps } => {
            html.tag("<ul class=\"plan\">\n");
            for step in steps {
                html.tag("<li>");
                html.text(&format!("{} {}", session_text::step_mark(&step.status), step.step));
                html.tag("</li>\n");
            }
            html.tag("</ul>\n");
        }
        JournalEntry::Diff { text } => diff::write_diff(html, text, omitted_bytes),
        JournalEntry::Notice { text } => html.quote(text, omitted_bytes),
        entry => {
            session_text::entry_sentence(entry).iter().for_each(|sentence| html.line(sentence));
            if let JournalEntry::Compacted { summary, .. } = entry {
                html.quote(summary, omitted_bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session::{
        answered_entry, build_timeline, call_entry, sample_entries, sample_timeline,
    };

    /// Returns the text of a page, without the style, tags and blank lines.
    fn visible_text(page: &str) -> String {
        let body = &page[page.find("<body>").unwrap()..];
        let mut text = String::new();
        for piece in body.split('<') {
            text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
            text.push(' ');
        }
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_session_is_a_page_with_its_prompt_as_title() {
        insta::assert_snapshot!(visible_text(&render("20261116-213602-4f9a1c", &sample_timeline())), @r#"
        fix the tests
        20261116-213602-4f9a1c, 2026-11-16 21:00 UTC, 7.6 s of work, 1 prompt, 2 calls
        2 requests: 3,104 tokens in (1,552 cached), 192 out, 18.2 kB sent
        2.0 s, 1,204 tokens in (602 cached), 96 out, 9.1 kB sent
        1.5 s, 1,900 tokens in (950 cached), 96 out, 9.1 kB sent
        0 ms
        begins in /work: gpt-5 over responses, sandbox workspace-write, approval on-request, toolgate 0.1.0
        0 ms
        fix the tests
        please
        waited for model 3.5 s people 3.0 s tools 603 ms
        model people tools
        0 ms
        1.0 s
        2.0 s
        3.0 s
        4.0 s
        5.0 s
        6.0 s
        7.0 s
        model: 2.0 s
        git__log, waiting for people: 3.0 s
        read_file: 3 ms
        git__log: 600 ms
        model: 1.5 s
        2.0 s
        I look at the log first.
        2.1 s git__log {&quot;n&quot;:3} timed out asked: approved by terminal 900 ms
        n 3
        `log` of the server `git`
        calls `log` of the server `git`
        to be asked by default: unknown
        asked (it is the first time): approved by terminal after 3.0 s
        attempt 1, confinement full
        no answer within 600 ms
        2.1 s read_file src/lib.rs 3 ms
        path src/lib.rs
        1| fn main() {}
        2|
        3| // end
        7.5 s
        Done.
        7.5 s
        ✓ look
        · mend
        7.6 s
        --- a/x
        +++ b/x
        @@ -1 +1 @@
        -old
        +new
        7.6 s
        end: done
        "#);
    }

    #[test]
    fn refusals_are_marked() {
        let denied = |id: &str, decision: &str| JournalEntry::Decided {
            call: id.to_owned(),
            decision: decision.to_owned(),
            by: "user".to_owned(),
        };
        let asked =
            |id: &str| JournalEntry::Asked { call: id.to_owned(), why: vec!["it removes files".to_owned()] };
        let mut curl = answered_entry("c", None, 5, "");
        if let JournalEntry::Answered(answer) = &mut curl {
            answer.refused = vec!["connecting to `example.com` is not allowed".to_owned()];
        }
        let page = visible_text(&render(
            "x",
            &build_timeline(vec![
                (0, call_entry("a", "exec_command", r#"{"cmd":"rm -rf src"}"#)),
                (1, asked("a")),
                (2, denied("a", "denied")),
                (3, answered_entry("a", Some("denied"), 0, "denied by the user")),
                (4, call_entry("b", "read_file", r#"{"path":".env"}"#)),
                (5, answered_entry("b", Some("forbidden"), 0, "no")),
                (6, call_entry("c", "exec_command", r#"{"cmd":"curl https://example.com"}"#)),
                (11, curl),
            ]),
        ));
        for expected in [
            "exec_command rm -rf src refused by user",
            "read_file .env forbidden",
            "exec_command curl https://example.com refused by the sandbox",
            "refused by the sandbox: connecting to `example.com` is not allowed",
        ] {
            assert!(page.contains(expected), "{page}");
        }
    }

    #[test]
    fn the_title_is_a_prompt_a_client_or_the_name() {
        let mut entries = sample_entries();
        entries[1].1 =
            JournalEntry::Prompt { text: format!("\n {}\nmore", "é".repeat(200)), images: Vec::new() };
        assert_eq!(
            title("name", &build_timeline(entries.clone())),
            format!("{}…", "é".repeat(MAX_TITLE_CHARS))
        );
        entries.remove(1);
        assert_eq!(title("name", &build_timeline(entries.clone())), "name");
        if let JournalEntry::Session(settings) = &mut entries[0].1 {
            settings.client = Some("codex".to_owned());
        }
        assert_eq!(title("name", &build_timeline(entries)), "Calls of codex");
    }
}
