//! The budget options of `toolgate run`: tokens, cost and time.

use std::sync::Arc;
use std::time::Duration;

use agent::{CostLimit, RunBudget, TokenPrices};
use clap::Args;
use config::{Config, OperationFault};

/// Limits of all turns of a run together.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct BudgetArgs {
    /// Stop after this time, e.g. `90s`, `10m`, `1h30m`
    #[arg(long, value_name = "TIME", visible_alias = "timeout", value_parser = parse_duration, allow_hyphen_values = true)]
    max_time: Option<Duration>,
    /// Stop after this many tokens, input and output of all requests together
    #[arg(long, value_name = "N", value_parser = parse_count, allow_hyphen_values = true)]
    max_tokens: Option<u64>,
    /// Stop after this cost in dollars, e.g. `0.50`; needs the prices of the model in your
    /// configuration
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_hyphen_values = true)]
    max_cost: Option<u64>,
}

impl BudgetArgs {
    /// Returns the budget for `model`. The time begins now.
    pub(crate) fn to_budget(&self, config: &Config, model: &str) -> Result<Arc<RunBudget>, OperationFault> {
        let cost = self.max_cost.map(|limit| match config.prices(model) {
            Some(prices) => {
                let config::PriceSettings { input, cached, output } = prices;
                Ok(CostLimit { limit, prices: TokenPrices { input, cached, output } })
            }
            None => Err(OperationFault::usage(format!("--max-cost needs the prices of `{model}`")).with_hint(
                format!("in dollars for a million tokens, for example, at the top of your configuration: models.\"{model}\".price = {{ input = 1.25, cached = 0.125, output = 10 }}"),
            )),
        });
        Ok(Arc::new(RunBudget::new(self.max_tokens, cost.transpose()?, self.max_time)))
    }
}

/// Parses a duration: numbers with the units `h`, `m` and `s`; a number alone is seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as `90s`, `10m` or `1h30m`".to_owned();
    let (mut seconds, mut rest) = (0_u64, text);
    // ends: every round takes a number and its unit
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = match rest[digits..].chars().next() {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some(_) => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|part| seconds.checked_add(part)).ok_or_else(wrong)?;
        rest = rest.get(digits + 1..).unwrap_or_default();
    }
    if seconds == 0 { Err(wrong()) } else { Ok(Duration::from_secs(seconds)) }
}

/// Parses a number of at least 1.
fn parse_count(text: &str) -> Result<u64, String> {
    parse_number_from(text, 1)
}

/// Parses a whole number of at least `least`.
pub(super) fn parse_number_from(text: &str, least: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number| number >= least);
    number.ok_or_else(|| format!("expected a whole number of at least {least}"))
}

/// Parses dollars into millionths of a dollar.
fn parse_dollars(text: &str) -> Result<u64, String> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "expected dollars, e.g. `0.50`")?;
    match config::to_micro_dollars(amount) {
        Some(amount) if amount > 0 => Ok(amount),
        Some(_) | None => Err("expected more than 0 dollars, and at most a million".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_dollars_have_parts() {
        for (text, seconds) in [
            ("90", Some(90)),
            ("90s", Some(90)),
            ("10m", Some(600)),
            ("1h30m", Some(5400)),
            ("2h5", Some(7205)),
        ] {
            assert_eq!(parse_duration(text).ok().map(|time| time.as_secs()), seconds, "{text}");
        }
        for text in ["", "0", "m", "1d", "-1", "1.5h", "99999999999999999999h", "1é"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        for (text, amount) in [("0.50", Some(500_000)), ("$2", Some(2_000_000)), ("0.000001", Some(1))] {
            assert_eq!(parse_dollars(text).ok(), amount, "{text}");
        }
        for text in ["", "0", "-1", "NaN", "inf", "1e9", "five"] {
            assert!(parse_dollars(text).is_err(), "{text}");
        }
    }
}
