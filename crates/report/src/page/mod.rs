//! Formats a session as a single HTML page that loads nothing, runs no script, and escapes all foreign text.

mod html;
mod timeline;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use base64::Engine as _;
use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};

use self::html::HtmlWriter;
use crate::format_amount;
use crate::session_text;
use crate::timeline::{ModelSpeech, SessionTimeline, TimelineCall, TimelineEvent, TimelineEventKind};
use crate::truncate::TextExcerpt;
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
        timeline::draw(&mut html, timeline, &spans, &(0..timeline.duration_ms));
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
        return Err(io::Error::other("it is no regular file"));
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

/// Splits a session into turns: the moments before the first prompt, then from each prompt to the next.
fn split_turns(timeline: &SessionTimeline) -> Vec<&[TimelineEvent]> {
    let mut turns = Vec::new();
    let mut rest = &timeline.events[..];
    // ends: each turn takes at least one moment
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
    let answers = turn.iter().filter_map(|event| Some(event.as_call()?.answer.as_ref()?.after));
    let end = answers.fold(last.after, u64::max);
    html.tag("<section>\n");
    let (prompt, rest) = turn.split_at(usize::from(first.is_prompt()));
    prompt.iter().for_each(|event| write_event(html, event));
    timeline::draw(html, timeline, spans, &(first.after..end));
    rest.iter().for_each(|event| write_event(html, event));
    html.tag("</section>\n");
}

fn write_event(html: &mut HtmlWriter, event: &TimelineEvent) {
    match &event.kind {
        TimelineEventKind::Call(called) => return write_call(html, event, called),
        TimelineEventKind::Prompt { .. } => html.tag("<article class=\"you\" id=\"l"),
        TimelineEventKind::Interrupted(_) | TimelineEventKind::OrphanRecord { .. } => {
            html.tag("<article class=\"bad\" id=\"l");
        }
        _ => html.tag("<article id=\"l"),
    }
    html.number(event.seq);
    html.tag("\"><span class=\"when\">");
    html.text(&format_amount::format_duration(event.after));
    html.tag("</span><div>\n");
    match &event.kind {
        TimelineEventKind::Prompt { text, images } => {
            html.quote(text);
            if *images > 0 {
                html.line(&format_amount::pluralize(*images as u64, "image"));
            }
        }
        TimelineEventKind::Message(speeches) => speeches.iter().for_each(|one| write_speech(html, one)),
        TimelineEventKind::Plan(steps) => {
            html.tag("<ul class=\"plan\">\n");
            for step in steps {
                html.tag("<li>");
                html.text(&format!("{} {}", session_text::step_mark(&step.status), step.step.text));
                html.tag("</li>\n");
            }
            html.tag("</ul>\n");
        }
        TimelineEventKind::Diff(excerpt) => write_diff(html, excerpt),
        TimelineEventKind::Compacted { summary, dropped } => {
            html.line(&format!("shortened by {}", format_amount::pluralize(*dropped, "item")));
            html.quote(summary);
        }
        TimelineEventKind::Notice(excerpt) => html.quote(excerpt),
        TimelineEventKind::Session(setting) => html.line(&session_text::settings_line(setting)),
        TimelineEventKind::Usage(usage) => {
            let took = format_amount::format_duration(usage.millis);
            html.line(&format!("model answered after {took}: {}", session_text::token_usage(usage)));
        }
        TimelineEventKind::Interrupted(why) => html.line(&format!("interrupted: {}", why.text)),
        TimelineEventKind::End(why) => html.line(&format!("end: {}", why.text)),
        TimelineEventKind::OrphanRecord { kind, call } => html.line(&format!("{kind} of no call: {call}")),
        TimelineEventKind::UnknownRecord(kind) => html.line(&format!("{kind}, which is not known here")),
        TimelineEventKind::Call(_) => {}
    }
    html.tag("</div></article>\n");
}

fn write_speech(html: &mut HtmlWriter, speech: &ModelSpeech) {
    match speech {
        ModelSpeech::Text(text) => html.quote(text),
        ModelSpeech::Thought(text) => {
            html.tag("<details class=\"thought\"><summary>to itself</summary>\n");
            html.quote(text);
            html.tag("</details>\n");
        }
        ModelSpeech::Other(kind) => html.line(kind),
    }
}

fn write_call(html: &mut HtmlWriter, event: &TimelineEvent, call: &TimelineCall) {
    html.tag(if call.succeeded() { "<details class=\"call\">" } else { "<details class=\"call bad\">" });
    html.tag("<summary><span class=\"when\">");
    html.text(&format_amount::format_duration(event.after));
    html.tag("</span><span class=\"tool\">");
    html.text(&call.tool);
    html.tag("</span><code>");
    html.text(&call.arguments.text.chars().take(MAX_HEADING_CHARS).collect::<String>());
    html.tag("</code><span class=\"how\">");
    html.text(&session_text::call_outcome(call, event.after));
    // A browser that jumps to an anchor inside a closed `<details>` opens it.
    html.tag("</span></summary>\n<div class=\"inside\" id=\"l");
    html.number(event.seq);
    html.tag("\">\n");
    html.quote(&call.arguments);
    html.tag("<ul>\n");
    for sentence in session_text::call_sentences(call) {
        html.tag("<li>");
        html.text(&sentence);
        html.tag("</li>\n");
    }
    html.tag("</ul>\n");
    if let Some(answer) = &call.answer {
        html.quote(&answer.text);
        session_text::answer_extras(answer).iter().for_each(|line| html.line(line));
    }
    html.tag("</div></details>\n");
}

fn write_diff(html: &mut HtmlWriter, excerpt: &TextExcerpt) {
    html.tag("<pre class=\"diff\">");
    for line in excerpt.text.lines() {
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
    html.omitted(excerpt);
}
