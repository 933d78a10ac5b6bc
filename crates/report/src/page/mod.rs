//! Formats a session as a single HTML page that loads nothing, runs no script, and escapes all foreign text.

mod html;
mod timeline;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use base64::Engine as _;
use journal::{JournalEntry, SessionTimeline, TimelineCall, TimelineEvent, TimelineEventKind};
use runtime::wire::{TranscriptItem, transcript_items};
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use self::html::HtmlWriter;
use crate::format_amount;
use crate::session_text;
use crate::wait_spans::{WaitSpan, wait_spans};

const STYLE: &str = include_str!("page.css");
/// The first bytes of each of our pages.
const PAGE_START: &str = "<!DOCTYPE html>\n";
/// Characters of the arguments in the heading of a call.
const MAX_HEADING_CHARS: usize = 120;

/// Formats the whole session.
pub fn render(name: &str, timeline: &SessionTimeline) -> String {
    let mut html = HtmlWriter::default();
    let spans = wait_spans(timeline);
    write_head(&mut html, name);
    html.tag("<header>\n<h1>");
    html.text(name);
    html.tag("</h1>\n");
    html.line(&session_text::summary(timeline));
    session_text::totals(timeline).iter().for_each(|line| html.line(line));
    html.tag("</header>\n");
    let turns = split_turns(timeline);
    if timeline.prompt_count() > 1 {
        timeline::draw(&mut html, timeline, &spans, &(0..timeline.end.after_ms));
    }
    html.tag("<main>\n");
    turns.iter().for_each(|turn| write_turn(&mut html, timeline, &spans, turn));
    if let Some(line) = session_text::ending_problem(&timeline.ending) {
        html.tag("<p class=\"bad\">");
        html.text(&line);
        html.tag("</p>\n");
    }
    html.tag("</main>\n</body>\n</html>\n");
    html.into_text()
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
fn write_head(html: &mut HtmlWriter, name: &str) {
    html.tag(PAGE_START);
    html.tag("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    html.tag("default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-");
    html.text(&base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE)));
    html.tag("'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.tag("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.tag("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html.text(name);
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
        turn.iter().for_each(|event| write_event(html, event));
        return;
    };
    let answers = turn.iter().filter_map(|event| Some(event.as_call()?.answer.as_ref()?.time.after_ms));
    let end = answers.fold(last.time.after_ms, u64::max);
    html.tag("<section>\n");
    let (prompt, rest) = turn.split_at(usize::from(first.is_prompt()));
    prompt.iter().for_each(|event| write_event(html, event));
    timeline::draw(html, timeline, spans, &(first.time.after_ms..end));
    rest.iter().for_each(|event| write_event(html, event));
    html.tag("</section>\n");
}

fn write_event(html: &mut HtmlWriter, event: &TimelineEvent) {
    let entry = match &event.kind {
        TimelineEventKind::Call(call) => return write_call(html, event, call),
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
        JournalEntry::Said { items, .. } => {
            transcript_items(items).iter().for_each(|item| write_transcript_item(html, item));
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
        JournalEntry::Diff { text } => write_diff(html, text, omitted_bytes),
        JournalEntry::Notice { text } => html.quote(text, omitted_bytes),
        entry => {
            session_text::entry_sentence(entry).iter().for_each(|sentence| html.line(sentence));
            if let JournalEntry::Compacted { summary, .. } = entry {
                html.quote(summary, omitted_bytes);
            }
        }
    }
}

fn write_transcript_item(html: &mut HtmlWriter, item: &TranscriptItem) {
    match item {
        TranscriptItem::Text(text) => html.quote(text, 0),
        TranscriptItem::Thought(text) => {
            html.tag("<details class=\"thought\"><summary>to itself</summary>\n");
            html.quote(text, 0);
            html.tag("</details>\n");
        }
        TranscriptItem::Other(kind) => html.line(kind),
    }
}

fn write_call(html: &mut HtmlWriter, event: &TimelineEvent, call: &TimelineCall) {
    html.tag(if call.succeeded() { "<details class=\"call\">" } else { "<details class=\"call bad\">" });
    html.tag("<summary><span class=\"when\">");
    html.text(&format_amount::format_duration(event.time.after_ms));
    html.tag("</span><span class=\"tool\">");
    html.text(&call.call.tool);
    html.tag("</span><code>");
    html.text(&call.call.arguments.chars().take(MAX_HEADING_CHARS).collect::<String>());
    html.tag("</code><span class=\"how\">");
    html.text(&session_text::call_outcome(call, event.time));
    // A browser that jumps to an anchor inside a closed `<details>` opens it.
    html.tag("</span></summary>\n<div class=\"inside\" id=\"l");
    html.number(event.seq);
    html.tag("\">\n");
    html.quote(&call.call.arguments, event.omitted_bytes);
    html.tag("<ul>\n");
    for sentence in session_text::call_sentences(call) {
        html.tag("<li>");
        html.text(&sentence);
        html.tag("</li>\n");
    }
    html.tag("</ul>\n");
    if let Some(answer) = &call.answer {
        html.quote(&answer.answer.text, answer.omitted_bytes);
        session_text::answer_extras(&answer.answer).iter().for_each(|line| html.line(line));
    }
    html.tag("</div></details>\n");
}

fn write_diff(html: &mut HtmlWriter, diff: &str, omitted_bytes: usize) {
    html.tag("<pre class=\"diff\">");
    for line in diff.lines() {
        let (begin, end) = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => ("<b>", "</b>\n"),
            [b'+', ..] => ("<ins>", "</ins>\n"),
            [b'-', ..] => ("<del>", "</del>\n"),
            [b'@', ..] => ("<i>", "</i>\n"),
            _ => ("", "\n"),
        };
        html.tag(begin);
        html.text(line);
        html.tag(end);
    }
    html.tag("</pre>\n");
    html.omitted(omitted_bytes);
}
