//! Token usage of a response, parsed from each API's `usage` object.

use serde_json::Value;

use crate::Dialect;

/// Token usage of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// All input tokens, cached or not.
    pub input: u64,
    /// Input tokens that came from the cache.
    pub cached: u64,
    /// All output tokens, reasoning included.
    pub output: u64,
    /// Reasoning tokens of the output, if the API reports them.
    pub reasoning: u64,
}

impl TokenUsage {
    /// Updates the counts from a `usage` object. Absent fields keep their value: Anthropic reports the input when a
    /// message starts and the output when it ends.
    pub(crate) fn update(&mut self, dialect: Dialect, usage: &Value) {
        match dialect {
            Dialect::Responses => self.take_responses(usage),
            Dialect::Chat => self.take_chat(usage),
            Dialect::Anthropic => self.take_anthropic(usage),
        }
    }

    fn take_responses(&mut self, usage: &Value) {
        set_if_number(&mut self.input, &usage["input_tokens"]);
        set_if_number(&mut self.cached, &usage["input_tokens_details"]["cached_tokens"]);
        set_if_number(&mut self.output, &usage["output_tokens"]);
        set_if_number(&mut self.reasoning, &usage["output_tokens_details"]["reasoning_tokens"]);
    }

    fn take_chat(&mut self, usage: &Value) {
        set_if_number(&mut self.input, &usage["prompt_tokens"]);
        // DeepSeek's own field, which comes without the details.
        set_if_number(&mut self.cached, &usage["prompt_cache_hit_tokens"]);
        set_if_number(&mut self.cached, &usage["prompt_tokens_details"]["cached_tokens"]);
        set_if_number(&mut self.output, &usage["completion_tokens"]);
        set_if_number(&mut self.reasoning, &usage["completion_tokens_details"]["reasoning_tokens"]);
    }

    /// Anthropic's `input_tokens` exclude tokens read from or written to the cache.
    fn take_anthropic(&mut self, usage: &Value) {
        if let Some(fresh) = usage["input_tokens"].as_u64() {
            let count = |name: &str| usage[name].as_u64().unwrap_or(0);
            self.cached = count("cache_read_input_tokens");
            self.input =
                fresh.saturating_add(self.cached).saturating_add(count("cache_creation_input_tokens"));
        }
        set_if_number(&mut self.output, &usage["output_tokens"]);
    }
}

fn set_if_number(field: &mut u64, value: &Value) {
    if let Some(count) = value.as_u64() {
        *field = count;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tell(dialect: Dialect, usages: &[Value]) -> [u64; 4] {
        let mut told = TokenUsage::default();
        usages.iter().for_each(|usage| told.update(dialect, usage));
        [told.input, told.cached, told.output, told.reasoning]
    }

    #[test]
    fn every_api_counts_its_own_way() {
        let responses = json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}});
        assert_eq!(tell(Dialect::Responses, &[responses]), [9, 4, 3, 2]);
        let chat = json!({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens": 3});
        let deepseek = json!({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5, "completion_tokens": 3});
        assert_eq!(tell(Dialect::Chat, &[chat]), [9, 4, 3, 0]);
        assert_eq!(tell(Dialect::Chat, &[deepseek, json!(null)]), [9, 5, 3, 0]);
        let start = json!({"input_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3, "output_tokens": 1});
        assert_eq!(tell(Dialect::Anthropic, &[start, json!({"output_tokens": 8})]), [9, 4, 8, 0]);
    }
}
