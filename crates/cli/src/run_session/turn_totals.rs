//! The totals of a turn for a person: time of work, calls, tokens, and the context that is left.

use std::time::Duration;

use runtime::wire::TokenUsage;

use super::call_lines::format_duration;
use super::work_timer::WorkTimer;

/// Counts what happens in a turn.
#[derive(Default)]
pub(super) struct TurnTotals {
    timer: Option<WorkTimer>,
    calls: usize,
    usage: TokenUsage,
    /// Tokens of the last request and its answer.
    context_used: u64,
}

impl TurnTotals {
    /// A request is sent; the first one begins the turn.
    pub(super) fn on_request(&mut self) {
        self.timer.get_or_insert_with(WorkTimer::start);
    }

    pub(super) fn on_call(&mut self) {
        self.calls += 1;
    }

    pub(super) fn on_response(&mut self, usage: TokenUsage) {
        self.usage.input += usage.input;
        self.usage.cached += usage.cached;
        self.usage.output += usage.output;
        if usage.input > 0 {
            self.context_used = usage.input + usage.output;
        }
    }

    /// A person is asked, or has answered.
    pub(super) fn set_asking(&mut self, is_asking: bool) {
        if let Some(timer) = &mut self.timer {
            timer.set_asking(is_asking);
        }
    }

    /// Ends the turn and describes it; `None` if no request was sent. `context` is the length of the model's context.
    pub(super) fn finish(&mut self, context: u64) -> Option<String> {
        self.set_asking(false);
        let totals = std::mem::replace(self, Self { context_used: self.context_used, ..Self::default() });
        let worked = totals.timer.as_ref()?.worked();
        Some(totals.describe(worked, context))
    }

    fn describe(&self, worked: Duration, context: u64) -> String {
        let mut parts = vec![format_duration(worked)];
        match self.calls {
            0 => {}
            1 => parts.push("1 call".to_owned()),
            calls => parts.push(format!("{calls} calls")),
        }
        if self.usage.input > 0 {
            let cached = match self.usage.cached {
                0 => String::new(),
                cached => format!(" ({} cached)", format_tokens(cached)),
            };
            let (input, output) = (format_tokens(self.usage.input), format_tokens(self.usage.output));
            parts.push(format!("{input} tokens in{cached}, {output} out"));
            let left = 100_u64.saturating_sub(self.context_used.saturating_mul(100) / context.max(1));
            parts.push(format!("{left} % of the context left"));
        }
        parts.join(" · ")
    }
}

/// Formats a number of tokens.
fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..10_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        10_000..10_000_000 => format!("{}k", tokens / 1000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_described_in_a_line() {
        let mut totals = TurnTotals::default();
        assert_eq!(totals.finish(1000), None);
        totals.on_request();
        totals.on_call();
        totals.on_response(TokenUsage { input: 40_200, cached: 38_000, output: 950, reasoning: 0 });
        totals.on_response(TokenUsage { input: 41_500, cached: 40_100, output: 1200, reasoning: 0 });
        assert_eq!(
            totals.describe(Duration::from_secs(75), 200_000),
            "1 min 15 s · 1 call · 81k tokens in (78k cached), 2.1k out · 79 % of the context left"
        );
        assert!(totals.finish(200_000).is_some());
        // The next turn counts anew; the context stays used.
        assert_eq!(totals.describe(Duration::from_millis(12), 200_000), "12 ms");
        assert_eq!(totals.context_used, 42_700);
    }
}
