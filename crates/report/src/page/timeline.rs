//! Draws a timeline as SVG: one bar for each wait for the model, people or tools.

use std::ops::Range;

use journal::{SessionTimeline, TimelineEvent};

use super::html::HtmlWriter;
use crate::format_amount;
use crate::wait_spans::{WaitKind, WaitSpan, total_wait};

/// Maximum number of bars in a drawing. Further bars are counted.
const MAX_BARS: usize = 2000;
/// Rows for concurrent tools. The last row takes the bars that find no free row.
const MAX_TOOL_ROWS: usize = 6;
/// Maximum number of ticks in a drawing.
const MAX_TICKS: u64 = 8;
/// Pixels of a row.
const ROW_HEIGHT: u64 = 18;
/// Minimum width of a visible bar, in thousandths of the drawing.
const MIN_BAR_THOUSANDTHS: u64 = 3;

/// A bar and its row. Row 0 is the model's, row 1 that of people; rows of tools follow.
#[derive(Debug, PartialEq, Eq)]
struct TimelineBar {
    row: usize,
    span: WaitSpan,
}

/// Draws the spans within `time`.
pub(super) fn draw(html: &mut HtmlWriter, timeline: &SessionTimeline, spans: &[WaitSpan], time: &Range<u64>) {
    let within: Vec<WaitSpan> =
        spans.iter().filter(|span| span.from < time.end && time.start < span.to).copied().collect();
    if within.is_empty() {
        return;
    }
    let left_out = within.len().saturating_sub(MAX_BARS);
    let bars = assign_rows(&within[..within.len() - left_out], min_bar_time(time));
    let rows = bars.iter().map(|bar| bar.row).max().unwrap_or_default() as u64 + 1;
    html.tag("<figure>\n");
    draw_legend(html, &within);
    draw_names(html, rows);
    html.tag("<svg class=\"timeline\" height=\"");
    html.number(rows * ROW_HEIGHT + 22);
    html.tag("\" role=\"img\" aria-label=\"Timeline\">\n");
    draw_ticks(html, time, rows);
    for bar in &bars {
        draw_bar(html, timeline, bar, time);
    }
    html.tag("</svg></div>\n");
    if left_out > 0 {
        html.line(&format!("{} more are not drawn", format_amount::pluralize(left_out as u64, "bar")));
    }
    html.tag("</figure>\n");
}

/// Returns the time that the narrowest bar stands for.
fn min_bar_time(time: &Range<u64>) -> u64 {
    time.end.saturating_sub(time.start).saturating_mul(MIN_BAR_THOUSANDTHS) / 1000
}

/// Assigns each span to a row without overlap.
fn assign_rows(spans: &[WaitSpan], min_bar_time: u64) -> Vec<TimelineBar> {
    let mut sorted = spans.to_vec();
    sorted.sort_by_key(|span| (span.from, span.event_index));
    let mut free = [0u64; MAX_TOOL_ROWS];
    let bar = |span: WaitSpan| match span.kind {
        WaitKind::Model => TimelineBar { row: 0, span },
        WaitKind::People => TimelineBar { row: 1, span },
        WaitKind::Tools => {
            let row = free.iter().position(|free| *free <= span.from).unwrap_or(MAX_TOOL_ROWS - 1);
            free[row] = free[row].max(span.to).max(span.from.saturating_add(min_bar_time));
            TimelineBar { row: row + 2, span }
        }
    };
    sorted.into_iter().map(bar).collect()
}

/// Begins the drawing with the names of its rows: a drawing of their own, so that the bars have the rest of the width.
fn draw_names(html: &mut HtmlWriter, rows: u64) {
    html.tag("<div class=\"rows\"><svg class=\"names\" width=\"52\" height=\"");
    html.number(rows * ROW_HEIGHT + 22);
    html.tag("\">");
    for (row, waiting) in (0..rows).zip(WaitKind::ALL) {
        html.tag("<text y=\"");
        html.number(row * ROW_HEIGHT + 13);
        html.tag("\">");
        html.text(waiting.as_str());
        html.tag("</text>");
    }
    html.tag("</svg>");
}

fn draw_legend(html: &mut HtmlWriter, spans: &[WaitSpan]) {
    html.tag("<figcaption>waited for");
    let is_waited = |waiting: &WaitKind| spans.iter().any(|span| span.kind == *waiting);
    for waiting in WaitKind::ALL.into_iter().filter(is_waited) {
        html.tag(" <span class=\"item\"><span class=\"key ");
        html.tag(waiting.as_str());
        html.tag("\"></span>");
        html.text(&format!(
            "{} {}",
            waiting.as_str(),
            format_amount::format_duration(total_wait(spans, waiting))
        ));
        html.tag("</span>");
    }
    html.tag("</figcaption>\n");
}

fn draw_ticks(html: &mut HtmlWriter, time: &Range<u64>, rows: u64) {
    let length = time.end.saturating_sub(time.start);
    let step = tick_interval(length);
    // ends: MAX_TICKS, as the step is chosen so
    for tick in (0..=length / step).map(|tick| tick * step) {
        html.tag("<line class=\"tick\" y1=\"0\" y2=\"");
        html.number(rows * ROW_HEIGHT + 4);
        html.tag("\" x1=\"");
        html.percent(tick, length);
        html.tag("\" x2=\"");
        html.percent(tick, length);
        html.tag("\"/>");
        // A label near the right edge would be cut off, so it is left out.
        if tick.saturating_mul(100) < length.saturating_mul(93) {
            // A narrow page shows every second label.
            html.tag(if (tick / step).is_multiple_of(2) { "<text x=\"" } else { "<text class=\"odd\" x=\"" });
            html.percent(tick, length);
            html.tag("\" dx=\"3\" y=\"");
            html.number(rows * ROW_HEIGHT + 18);
            html.tag("\">");
            // In a late turn, all ticks would have the label of the same second.
            let since = if tick > 0 && time.start > 0 { "+" } else { "" };
            let shown = if tick > 0 { tick } else { time.start };
            html.text(&format!("{since}{}", format_amount::format_duration(shown)));
            html.tag("</text>\n");
        }
    }
}

/// Returns the milliseconds between ticks: 1, 2 or 5 times a power of ten.
fn tick_interval(length: u64) -> u64 {
    let mut unit = 1u64;
    // ends: the unit grows up to the length
    loop {
        for step in [unit, unit.saturating_mul(2), unit.saturating_mul(5)] {
            if length / step <= MAX_TICKS {
                return step;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn draw_bar(html: &mut HtmlWriter, timeline: &SessionTimeline, bar: &TimelineBar, time: &Range<u64>) {
    let length = time.end.saturating_sub(time.start);
    let from = bar.span.from.saturating_sub(time.start);
    let to = bar.span.to.saturating_sub(time.start).min(length);
    let width = to.saturating_sub(from).max(min_bar_time(time));
    let event = timeline.events.get(bar.span.event_index);
    html.tag("<a href=\"#l");
    html.number(event.map_or(0, |moment| moment.seq));
    html.tag("\"><rect rx=\"2\" height=\"14\" class=\"");
    html.tag(bar.span.kind.as_str());
    let call = event.and_then(TimelineEvent::as_call);
    let failed = bar.span.kind == WaitKind::Tools && call.is_some_and(|call| !call.succeeded());
    html.tag(if failed { " failed" } else { "" });
    html.tag("\" y=\"");
    html.number(bar.row as u64 * ROW_HEIGHT + 2);
    html.tag("\" x=\"");
    html.percent(from, length);
    html.tag("\" width=\"");
    html.percent(width.min(length.saturating_sub(from)), length);
    html.tag("\"><title>");
    let whose = call.map_or(bar.span.kind.as_str(), |call| &call.call.tool);
    let whom = if bar.span.kind == WaitKind::People { ", waiting for people" } else { "" };
    html.text(&format!(
        "{whose}{whom}: {}",
        format_amount::format_duration(bar.span.to.saturating_sub(bar.span.from))
    ));
    html.tag("</title></rect></a>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_few_ticks_and_round_ones() {
        for (length, expected) in [
            (0, 1),
            (8, 1),
            (9, 2),
            (7500, 1000),
            (60_000, 10_000),
            (100_000, 20_000),
            (u64::MAX, 5_000_000_000_000_000_000),
        ] {
            assert_eq!(tick_interval(length), expected, "{length}");
        }
    }

    #[test]
    fn concurrent_tools_are_drawn_in_separate_rows() {
        let span = |waiting, from, to| WaitSpan { kind: waiting, from, to, event_index: 0 };
        let tools = |from, to| span(WaitKind::Tools, from, to);
        let spans = [tools(0, 10), tools(0, 5), tools(5, 20), span(WaitKind::People, 0, 9), tools(10, 11)];
        let rows: Vec<(u64, usize)> =
            assign_rows(&spans, 0).iter().map(|bar| (bar.span.to, bar.row)).collect();
        assert_eq!(rows, [(10, 2), (5, 3), (9, 1), (20, 3), (11, 2)]);
        let many: Vec<WaitSpan> = (0..100).map(|_| tools(0, 10)).collect();
        assert_eq!(assign_rows(&many, 0).iter().map(|bar| bar.row).max(), Some(MAX_TOOL_ROWS + 1));
        // A bar that is drawn wider than its span overlaps no other bar.
        let rows: Vec<usize> =
            assign_rows(&[tools(0, 1), tools(1, 2), tools(4, 5)], 3).iter().map(|bar| bar.row).collect();
        assert_eq!(rows, [2, 3, 2]);
    }
}
