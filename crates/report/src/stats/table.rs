//! Formats the totals as a table, with charts on a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::chart::{bar_chart, column_chart};
use super::session_totals::{SessionTotals, ToolTotals};
use crate::format_amount::{format_bytes, format_count, format_duration, format_duration_short, pluralize};
use crate::wait_spans::WaitKind;
use terminal::{FAINT, NAME};

const CHART: Style = AnsiColor::Cyan.on_default();
const ERROR_STYLE: Style = AnsiColor::Red.on_default();
/// Maximum and minimum length of a bar, in blocks.
const MAX_BAR_BLOCKS: usize = 20;
const MIN_BAR_BLOCKS: usize = 5;
/// Maximum width of a tool's name.
const MAX_NAME_CHARS: usize = 24;
/// The heading of the columns of [`ToolTotals::duration_histogram`].
const HISTOGRAM_HEADING: &str = "1ms - 1min";

/// The output style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableStyle {
    /// For a terminal of this width.
    Charts(usize),
    /// For a file or a program.
    Plain,
}

/// Renders the totals as text in the given style.
pub fn render(totals: &SessionTotals, style: TableStyle) -> String {
    let sessions = pluralize(totals.sessions, "session");
    let (prompts, calls) = (pluralize(totals.prompts, "prompt"), pluralize(totals.calls(), "call"));
    let mut text = format!("{sessions}, {prompts}, {calls}\n\n");
    write_tools(&mut text, totals, style);
    write_failures(&mut text, totals);
    write_traffic(&mut text, totals);
    write_waits(&mut text, totals, style);
    text
}

/// Formats the tokens and bytes. A client of MCP has a model of its own, of whose requests nothing is known here.
fn write_traffic(text: &mut String, totals: &SessionTotals) {
    let answers = format_bytes(totals.tools.values().map(|tool| tool.bytes).fold(0, u64::saturating_add));
    if totals.requests == 0 {
        let _infallible = writeln!(text, "{NAME}answers{NAME:#}  {answers}\n");
        return;
    }
    let usage = &totals.usage;
    let share = usage.cached_tokens.saturating_mul(100).checked_div(usage.input_tokens).unwrap_or_default();
    let [input, cached, output] =
        [usage.input_tokens, usage.cached_tokens, usage.output_tokens].map(format_count);
    let _infallible = writeln!(
        text,
        "{NAME}tokens{NAME:#}   {input} in, {cached} of them cached ({share} %), {output} out"
    );
    let (sent, requests) = (format_bytes(usage.request_bytes), pluralize(totals.requests, "request"));
    let _infallible =
        writeln!(text, "{NAME}sent{NAME:#}     {sent} in {requests}; tools answered with {answers}\n");
}

fn write_tools(text: &mut String, totals: &SessionTotals, style: TableStyle) {
    let ranked = totals.ranked_tools();
    let names = ranked.iter().map(|(name, _)| tool_label(name).chars().count());
    let width = names.max().unwrap_or_default().clamp(4, MAX_NAME_CHARS);
    let head = format_row(["CALLS", "OK", "FAILED", "P50", "P95", "P99"]);
    let charts = ChartColumns::fitting(style, width + head.len());
    let _infallible = writeln!(text, "{FAINT}{:<width$}{head}{}{FAINT:#}", "TOOL", charts.heading());
    let most = ranked.first().map_or(0, |(_, tool)| tool.calls());
    for (name, tool) in ranked {
        let took = tool.percentiles().map(|took| took.map_or_else(|| "-".to_owned(), format_duration_short));
        let [calls, ok, failed] = [tool.calls(), tool.ok, tool.failures()].map(format_count);
        let cells = format_row([&calls, &ok, &failed, &took[0], &took[1], &took[2]]);
        let (name, beside) = (tool_label(name), charts.charts_for(tool, most));
        let _infallible = writeln!(text, "{NAME}{name:<width$}{NAME:#}{cells}{beside}");
    }
    text.push('\n');
}

fn format_row([calls, ok, failed, p50, p95, p99]: [&str; 6]) -> String {
    format!("  {calls:>5}  {ok:>5}  {failed:>6}  {p50:>7}  {p95:>7}  {p99:>7}")
}

/// The charts beside the numbers of a tool, depending on the width.
#[derive(Debug, Clone, Copy)]
enum ChartColumns {
    None,
    /// The distribution of durations.
    Histogram,
    /// The distribution of durations, and a bar of at most so many blocks for the number of calls.
    HistogramAndBar(usize),
}

impl ChartColumns {
    /// Selects the charts that fit beside `used` columns.
    fn fitting(style: TableStyle, used: usize) -> Self {
        let TableStyle::Charts(width) = style else { return Self::None };
        let room = width.saturating_sub(used + 2 + HISTOGRAM_HEADING.len());
        match room.saturating_sub(3) {
            blocks @ MIN_BAR_BLOCKS.. => Self::HistogramAndBar(blocks.min(MAX_BAR_BLOCKS)),
            _ if room > 0 => Self::Histogram,
            _ => Self::None,
        }
    }

    fn heading(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Histogram => format!("  {HISTOGRAM_HEADING}"),
            Self::HistogramAndBar(_) => format!("  {HISTOGRAM_HEADING}  CALLS"),
        }
    }

    fn charts_for(self, tool: &ToolTotals, most: u64) -> String {
        let spread = column_chart(&tool.duration_histogram());
        let charts = match self {
            Self::None => return String::new(),
            Self::Histogram => spread,
            Self::HistogramAndBar(blocks) => {
                format!("{spread}  {}", bar_chart(tool.calls(), most, blocks as u64))
            }
        };
        format!("  {CHART}{}{CHART:#}", charts.trim_end())
    }
}

/// Truncates and escapes the name of a tool, which may be any text that a model sent.
fn tool_label(name: &str) -> String {
    let name = terminal::to_one_line(name);
    if name.chars().count() <= MAX_NAME_CHARS {
        name
    } else {
        name.chars().take(MAX_NAME_CHARS - 1).chain(['…']).collect()
    }
}

/// Lists the kinds of failures.
fn write_failures(text: &mut String, totals: &SessionTotals) {
    let failed: Vec<(&str, &ToolTotals)> =
        totals.ranked_tools().into_iter().filter(|(_, tool)| !tool.failed.is_empty()).collect();
    for (name, tool) in &failed {
        let mut kinds: Vec<(&String, &u64)> = tool.failed.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let kinds: Vec<String> = kinds
            .iter()
            .map(|(kind, number)| format!("{} {}", format_count(**number), tool_label(kind)))
            .collect();
        let _infallible =
            writeln!(text, "{ERROR_STYLE}failed{ERROR_STYLE:#}   {}: {}", tool_label(name), kinds.join(", "));
    }
    if !failed.is_empty() {
        text.push('\n');
    }
}

/// Formats the waiting times for the model, people and tools.
fn write_waits(text: &mut String, totals: &SessionTotals, style: TableStyle) {
    let most = totals.waited_ms.iter().copied().max().unwrap_or_default();
    for (waiting, took) in WaitKind::ALL.into_iter().zip(totals.waited_ms) {
        if waiting == WaitKind::Model && totals.requests == 0 {
            continue;
        }
        let bar = match style {
            TableStyle::Charts(_) if took > 0 => {
                format!("  {CHART}{}{CHART:#}", bar_chart(took, most, MAX_BAR_BLOCKS as u64))
            }
            TableStyle::Charts(_) | TableStyle::Plain => String::new(),
        };
        let (name, took) = (waiting.as_str(), format_duration(took));
        let _infallible = writeln!(text, "{NAME}waited{NAME:#}   {name:<6}  {took:>12}{bar}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_session::{self, answered_entry, call_entry};

    fn render_sample(look: TableStyle) -> String {
        let mut tally = SessionTotals::default();
        tally.add(&sample_session::sample_timeline());
        let mut entries: Vec<_> = (0..40u64)
            .flat_map(|n| [(n, call_entry("a", "shell", "{}")), (n, answered_entry("a", None, n * n, "x"))])
            .collect();
        entries.push((40, call_entry("b", "\u{1b}[2Jan_evil_name_that_is_longer_than_any_table", "{}")));
        tally.add(&sample_session::build_timeline(entries));
        anstream::adapter::strip_str(&render(&tally, look)).to_string()
    }

    #[test]
    fn the_table_has_charts_on_a_terminal() {
        insta::assert_snapshot!(render_sample(TableStyle::Charts(100)), @r"
        2 sessions, 1 prompt, 43 calls

        TOOL                      CALLS     OK  FAILED      P50      P95      P99  1ms - 1min  CALLS
        shell                        40     40       0   361 ms    1.3 s    1.5 s  ▁▁▁▂▄█▄     ████████████
        \u{1b}[2Jan_evil_name_t…      1      0       1        -        -        -              ▎
        git__log                      1      0       1   900 ms   900 ms   900 ms       █      ▎
        read_file                     1      1       0     3 ms     3 ms     3 ms   █          ▎

        failed   \u{1b}[2Jan_evil_name_t…: 1 unanswered
        failed   git__log: 1 timed_out

        tokens   3,104 in, 1,552 of them cached (50 %), 192 out
        sent     18.2 kB in 2 requests; tools answered with 92 bytes

        waited   model          3.5 s  ████████████████████
        waited   people         3.0 s  █████████████████▏
        waited   tools         603 ms  ███▍
        ");
        insta::assert_snapshot!(render_sample(TableStyle::Plain), @r"
        2 sessions, 1 prompt, 43 calls

        TOOL                      CALLS     OK  FAILED      P50      P95      P99
        shell                        40     40       0   361 ms    1.3 s    1.5 s
        \u{1b}[2Jan_evil_name_t…      1      0       1        -        -        -
        git__log                      1      0       1   900 ms   900 ms   900 ms
        read_file                     1      1       0     3 ms     3 ms     3 ms

        failed   \u{1b}[2Jan_evil_name_t…: 1 unanswered
        failed   git__log: 1 timed_out

        tokens   3,104 in, 1,552 of them cached (50 %), 192 out
        sent     18.2 kB in 2 requests; tools answered with 92 bytes

        waited   model          3.5 s
        waited   people         3.0 s
        waited   tools         603 ms
        ");
        for width in [0, 40, 85, 95, 200] {
            let lines = render_sample(TableStyle::Charts(width));
            let widest = lines.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest < width.max(80), "{widest} of {width}");
        }
    }

    #[test]
    fn without_a_model_there_are_no_tokens() {
        let mut tally = SessionTotals::default();
        tally.add(&sample_session::build_timeline(vec![
            (0, call_entry("a", "shell", "{}")),
            (0, answered_entry("a", None, 5, "x")),
        ]));
        let text = anstream::adapter::strip_str(&render(&tally, TableStyle::Plain)).to_string();
        insta::assert_snapshot!(text, @"
        1 session, 0 prompts, 1 call

        TOOL   CALLS     OK  FAILED      P50      P95      P99
        shell      1      1       0     5 ms     5 ms     5 ms

        answers  1 byte

        waited   people          0 ms
        waited   tools           0 ms
        ");
    }
}
