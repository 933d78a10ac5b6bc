//! `toolgate tools`: what a model is told.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use toolgate::mcp::Means;
use toolgate::wire::{Dialect, Style, mcp_tools};
use toolgate::{JsonSchema, ToolSpec, Toolgate};

use super::call::{is_of_servers, may_be_of};
use crate::args::{Tools, ToolsWire};
use crate::compose::compose;
use crate::fault::Fault;
use crate::screen::{self, FAINT, NAME};
use crate::servers::{self, Told};

pub(crate) fn run(args: &Tools) -> Result<ExitCode, Fault> {
    let composed = compose(&args.place)?;
    let style = composed.style();
    let specs = super::block_on(async {
        let means = Means { watch: Some(Arc::new(Told::Wrong)), ..Means::default() };
        let wanted = |server: &str| {
            args.name.as_deref().is_none_or(|name| is_of_servers(name) && may_be_of(name, server))
        };
        let (composed, servers) = composed.serving(means, wanted)?;
        let toolgate = composed.build()?;
        if let Some(servers) = &servers {
            super::servers::settled(servers).await;
        }
        let chosen = chosen(&toolgate, args.name.as_deref());
        servers::ended(servers).await;
        chosen
    })?;
    let specs: Vec<&ToolSpec> = specs.iter().collect();
    if args.wire.is_none() && !args.json {
        screen::styled(&if args.name.is_some() { manual(&specs) } else { list(&specs) })?;
        return Ok(ExitCode::SUCCESS);
    }
    let json = written(&specs, args.wire.unwrap_or(ToolsWire::Responses), &style);
    let text = if args.json { json.to_string() } else { format!("{json:#}") };
    screen::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn chosen(toolgate: &Toolgate, name: Option<&str>) -> Result<Vec<ToolSpec>, Fault> {
    let registry = toolgate.router().registry();
    match name {
        None => Ok(registry.specs()),
        Some(name) => match registry.find(name) {
            Ok(tool) => Ok(vec![tool.spec().clone()]),
            Err(unknown) => Err(Fault::usage(unknown.to_string())),
        },
    }
}

fn written(specs: &[&ToolSpec], wire: ToolsWire, style: &Style) -> Value {
    match wire {
        ToolsWire::Responses => Dialect::Responses.tools(specs, style),
        ToolsWire::Chat => Dialect::Chat.tools(specs, style),
        ToolsWire::Anthropic => Dialect::Anthropic.tools(specs, style),
        ToolsWire::Mcp => mcp_tools(specs),
    }
}

fn list(specs: &[&ToolSpec]) -> String {
    let width = specs.iter().map(|spec| spec.name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for spec in specs {
        let first = about(spec).split_inclusive(". ").next().unwrap_or_default().trim_end();
        let _infallible = writeln!(text, "{NAME}{:width$}{NAME:#}  {first}", spec.name());
    }
    text
}

fn manual(specs: &[&ToolSpec]) -> String {
    let mut text = String::new();
    for spec in specs {
        let _infallible = writeln!(text, "{NAME}{}{NAME:#}\n{}\n", spec.name(), about(spec));
        if let ToolSpec::Function(function) = spec {
            arguments(&mut text, &function.parameters, 1);
        }
    }
    text
}

/// Lists the properties of an object, and below each those of the objects in it.
fn arguments(text: &mut String, schema: &JsonSchema, depth: usize) {
    let Some(object) = &schema.object else { return };
    let margin = "  ".repeat(depth);
    for (name, schema) in &object.properties {
        let required = if object.required.contains(name) { ", required" } else { "" };
        let description = schema.notes.description.as_deref().unwrap_or_default();
        let kind = kind(schema);
        let _infallible = writeln!(
            text,
            "{margin}{NAME}{name}{NAME:#} {FAINT}({kind}{required}){FAINT:#}\n{margin}    {description}"
        );
        arguments(text, schema, depth + 2);
        if let Some(items) = &schema.items {
            arguments(text, items, depth + 2);
        }
    }
}

/// `integer, at least 1`, `one of pending, completed`, `array of object`.
fn kind(schema: &JsonSchema) -> String {
    let names =
        |schema: &JsonSchema| schema.types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
    if let Some(choices) = &schema.values.choices {
        let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    let mut kind = names(schema);
    if let Some(items) = &schema.items {
        let _infallible = write!(kind, " of {}", names(items));
    }
    if let Some(least) = &schema.values.bounds.minimum {
        let _infallible = write!(kind, ", at least {least}");
    }
    if let Some(most) = &schema.values.bounds.maximum {
        let _infallible = write!(kind, ", at most {most}");
    }
    kind
}

fn about(spec: &ToolSpec) -> &str {
    match spec {
        ToolSpec::Function(function) => &function.description,
        ToolSpec::Freeform(freeform) => &freeform.description,
        ToolSpec::LocalShell => "The provider's own shell tool.",
        ToolSpec::WebSearch { .. } => "A search that the provider runs.",
    }
}
