//! The budget of a run: tokens, cost and time, shared by a session and the agents that it starts.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tool::BYTES_PER_TOKEN;
use wire::TokenUsage;

/// Tokens to which prices refer.
const PRICED_TOKENS: u128 = 1_000_000;

/// The price of a million tokens, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrices {
    /// Input tokens that are not in the provider's cache.
    pub input: u64,
    /// Input tokens that are in the provider's cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

impl TokenPrices {
    /// Returns the cost of `usage` in millionths of a dollar, rounded up.
    pub fn cost(&self, usage: TokenUsage) -> u64 {
        let fresh = usage.input.saturating_sub(usage.cached);
        let parts = [(fresh, self.input), (usage.cached, self.cached), (usage.output, self.output)];
        let sum: u128 = parts.iter().map(|&(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
        u64::try_from(sum.div_ceil(PRICED_TOKENS)).unwrap_or(u64::MAX)
    }
}

/// The limit of cost in millionths of a dollar, and the prices to compute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostLimit {
    /// The most that all requests together may cost.
    pub limit: u64,
    /// The prices of the model.
    pub prices: TokenPrices,
}

/// The budget, and the usage so far. Without limits by default.
#[derive(Debug, Default)]
pub struct RunBudget {
    tokens: Option<u64>,
    cost: Option<CostLimit>,
    time: Option<(Duration, Instant)>,
    used: Mutex<TokenUsage>,
    /// A part of the usage is an estimate.
    is_estimated: AtomicBool,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetLimit {
    /// Input and output tokens of all requests.
    Tokens {
        /// The limit.
        limit: u64,
        /// The tokens used.
        used: u64,
    },
    /// The cost of all requests, in millionths of a dollar.
    Cost {
        /// The limit.
        limit: u64,
        /// The cost so far.
        used: u64,
    },
    /// The time since the start.
    Time {
        /// The limit.
        limit: Duration,
    },
}

impl RunBudget {
    /// Creates a budget. The time begins now.
    pub fn new(tokens: Option<u64>, cost: Option<CostLimit>, time: Option<Duration>) -> Self {
        let now = Instant::now();
        let time = time.and_then(|limit| Some((limit, now.checked_add(limit)?)));
        Self { tokens, cost, time, used: Mutex::default(), is_estimated: AtomicBool::new(false) }
    }

    /// Adds the usage of a request.
    pub(crate) fn add(&self, usage: TokenUsage) {
        let mut used = self.used.lock();
        used.input = used.input.saturating_add(usage.input);
        used.cached = used.cached.saturating_add(usage.cached);
        used.output = used.output.saturating_add(usage.output);
    }

    /// Adds an estimate for a request whose usage the server did not report, from the bytes that were sent and
    /// received. Returns true the first time that a limit depends on it.
    pub(crate) fn add_estimate(&self, sent: usize, received: usize) -> bool {
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        self.add(TokenUsage { input: tokens(sent), output: tokens(received), ..TokenUsage::default() });
        (self.tokens.is_some() || self.cost.is_some()) && !self.is_estimated.swap(true, Relaxed)
    }

    /// Returns the first limit that is reached.
    pub fn exhausted(&self) -> Option<BudgetLimit> {
        let used = *self.used.lock();
        let tokens = used.input.saturating_add(used.output);
        if let Some(limit) = self.tokens.filter(|limit| tokens >= *limit) {
            return Some(BudgetLimit::Tokens { limit, used: tokens });
        }
        if let Some(CostLimit { limit, prices }) = self.cost
            && prices.cost(used) >= limit
        {
            return Some(BudgetLimit::Cost { limit, used: prices.cost(used) });
        }
        self.time.filter(|(_, end)| *end <= Instant::now()).map(|(limit, _)| BudgetLimit::Time { limit })
    }

    /// Waits until the time is over; for ever without a time limit.
    pub(crate) async fn wait_for_time(&self) {
        match self.time {
            Some((_, end)) => tokio::time::sleep_until(end.into()).await,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Tokens { limit, used } => {
                write!(f, "the budget of {limit} tokens is used up: {used} were used")
            }
            Self::Cost { limit, used } => {
                write!(f, "the budget of {} is used up: {} were spent", Dollars(limit), Dollars(used))
            }
            Self::Time { limit } => write!(f, "the time limit of {} s has passed", limit.as_secs_f64()),
        }
    }
}

/// An amount in millionths of a dollar.
struct Dollars(u64);

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        // Cents, unless the amount has smaller parts.
        match rest % 10_000 {
            0 => write!(f, "${whole}.{:02}", rest / 10_000),
            _ => write!(f, "${whole}.{}", format!("{rest:06}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, cached: u64, output: u64) -> TokenUsage {
        TokenUsage { input, cached, output, reasoning: 0 }
    }

    #[test]
    fn cached_tokens_have_their_own_price_and_parts_of_a_unit_count() {
        let prices = TokenPrices { input: 1_250_000, cached: 125_000, output: 10_000_000 };
        for (used, cost) in [
            (usage(0, 0, 0), 0),
            (usage(1_000_000, 0, 0), 1_250_000),
            (usage(1_000_000, 1_000_000, 0), 125_000),
            (usage(1000, 400, 10), 750 + 50 + 100),
            (usage(1, 0, 0), 2),
            (usage(u64::MAX, 0, u64::MAX), u64::MAX),
        ] {
            assert_eq!(prices.cost(used), cost, "{used:?}");
        }
    }

    #[test]
    fn an_estimate_counts_four_bytes_a_token_and_is_announced_once() {
        let budget = RunBudget::new(Some(1000), None, None);
        assert!(budget.add_estimate(3990, 6));
        assert_eq!(budget.exhausted(), Some(BudgetLimit::Tokens { limit: 1000, used: 1000 }));
        assert!(!budget.add_estimate(1, 1));
        // Nothing depends on it without such a limit.
        assert!(!RunBudget::new(None, None, Some(Duration::ZERO)).add_estimate(1, 1));
    }

    #[test]
    fn the_limit_that_is_reached_is_named() {
        let prices = TokenPrices { input: 1_000_000, cached: 0, output: 2_000_000 };
        let cost = Some(CostLimit { limit: 50_000, prices });
        let budget = RunBudget::new(Some(100_000), cost, None);
        assert_eq!(budget.exhausted(), None);
        budget.add(usage(10_000, 0, 20_004));
        insta::assert_snapshot!(budget.exhausted().unwrap(), @"the budget of $0.05 is used up: $0.050008 were spent");
        budget.add(usage(70_000, 70_000, 0));
        insta::assert_snapshot!(budget.exhausted().unwrap(), @"the budget of 100000 tokens is used up: 100004 were used");
        let late = RunBudget::new(None, None, Some(Duration::ZERO));
        insta::assert_snapshot!(late.exhausted().unwrap(), @"the time limit of 0 s has passed");
        assert_eq!(RunBudget::default().exhausted(), None);
    }
}
