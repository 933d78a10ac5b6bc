//! The configuration as `toolgate config` shows it.

use serde_json::{Value, json};

use super::{Config, Files, Limits, Source, Tools};

/// One value of one key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) key: &'static str,
    pub(crate) value: Shown,
}

/// What is shown for a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// Nothing says anything about it.
    Unset,
    One(Value, Source),
    /// Several values, each with a source of its own.
    List(Vec<(Value, Source)>),
}

impl Config {
    /// Every key with its values and their sources, in the order of the documentation.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let Tools { only, without, web_search } = &self.tools;
        let Files { read_roots, deny_read, deny_read_defaults } = &self.files;
        let Limits { output_tokens, call_timeout_ms, parallel } = &self.limits;
        let only_from = only.last().map(|last| last.source.clone());
        let chosen = self.tools.chosen().zip(only_from);
        let one = |value: Value, source: &Source| Shown::One(value, source.clone());
        let built_in = toolgate::DEFAULT_DENY_READ.iter().filter(|_| deny_read_defaults.value);
        let built_in = built_in.map(|pattern| (json!(pattern), Source::BuiltIn));
        let added = deny_read.iter().map(|pattern| (json!(pattern.value), pattern.source.clone()));
        let row = |key, value| Row { key, value };
        vec![
            row(
                "model",
                match &self.model.value {
                    Some(model) => one(json!(model), &self.model.source),
                    None => Shown::Unset,
                },
            ),
            row(
                "tools.only",
                chosen.map_or(Shown::Unset, |(names, source)| Shown::One(json!(names), source)),
            ),
            row("tools.without", list(without.iter().map(|name| (json!(name.value), name.source.clone())))),
            row("tools.web_search", one(json!(web_search.value), &web_search.source)),
            row(
                "files.read_roots",
                list(read_roots.iter().map(|root| (json!(root.value), root.source.clone()))),
            ),
            row("files.deny_read", list(built_in.chain(added))),
            row("files.deny_read_defaults", one(json!(deny_read_defaults.value), &deny_read_defaults.source)),
            row("limits.output_tokens", one(json!(output_tokens.value), &output_tokens.source)),
            row("limits.call_timeout_ms", one(json!(call_timeout_ms.value), &call_timeout_ms.source)),
            row("limits.parallel", one(json!(parallel.value), &parallel.source)),
            row("wire.integers", one(json!(self.integers.value), &self.integers.source)),
        ]
    }
}

fn list(values: impl Iterator<Item = (Value, Source)>) -> Shown {
    let values: Vec<_> = values.collect();
    if values.is_empty() { Shown::Unset } else { Shown::List(values) }
}

impl Row {
    /// The row for programs.
    pub(crate) fn json(&self) -> Vec<Value> {
        let one = |(value, source): &(Value, Source)| json!({ "key": self.key, "value": value, "source": source.to_string() });
        match &self.value {
            Shown::Unset => Vec::new(),
            Shown::One(value, source) => vec![one(&(value.clone(), source.clone()))],
            Shown::List(values) => values.iter().map(one).collect(),
        }
    }
}
