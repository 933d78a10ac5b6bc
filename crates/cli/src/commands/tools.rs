//! `toolgate tools`: shows the tool definitions that a model gets.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use runtime::mcp::{self, McpClientDeps};
use runtime::wire::{ApiCompat, Dialect, mcp_tools};
use runtime::{JsonSchema, ToolCall, ToolSpec, Toolgate};
use serde_json::Value;

use crate::args::{ToolsArgs, ToolsWire};
use config::OperationFault;
use session::compose::{ToolFormApi, compose};
use session::mcp_servers::{self, ServerNotices};
use session::mcp_servers::{may_belong_to_server, needs_servers};
use terminal::{FAINT, NAME, escape_invisible, to_one_line};

pub(crate) fn run(args: &ToolsArgs) -> Result<ExitCode, OperationFault> {
    let wire = args.wire.unwrap_or(ToolsWire::Responses);
    let composed = compose(&args.place)?.for_api(form_api(wire));
    let style = composed.wire_style();
    let specs = super::block_on(async {
        let deps =
            McpClientDeps { observer: Some(Arc::new(ServerNotices::Problems)), ..McpClientDeps::default() };
        let wanted = |server: &str| {
            args.name.as_deref().is_none_or(|name| needs_servers(name) && may_belong_to_server(name, server))
        };
        let (composed, servers) = composed.start_servers(deps, wanted)?;
        let toolgate = composed.build()?;
        if let Some(servers) = &servers {
            session::mcp_servers::wait_until_settled(servers).await;
        }
        let chosen = select_specs(&toolgate, args);
        mcp_servers::close_servers(servers).await;
        chosen
    })?;
    let specs: Vec<&ToolSpec> = specs.iter().collect();
    if args.wire.is_none() && !args.json {
        terminal::print_styled(&if args.name.is_some() {
            format_manual(&specs)
        } else {
            format_list(&specs)
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let json = encode_specs(&specs, wire, &style);
    let text = if args.json { json.to_string() } else { format!("{json:#}") };
    terminal::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the API that tools are shown for.
fn form_api(wire: ToolsWire) -> ToolFormApi {
    match wire {
        ToolsWire::Responses => ToolFormApi::from_environment(Dialect::Responses),
        ToolsWire::Chat | ToolsWire::Anthropic | ToolsWire::Mcp => ToolFormApi::Functions,
    }
}

fn select_specs(toolgate: &Toolgate, args: &ToolsArgs) -> Result<Vec<ToolSpec>, OperationFault> {
    let registry = toolgate.router().registry();
    match args.name.as_deref() {
        None if args.all => {
            let mut specs = registry.offered_specs();
            let offered: Vec<String> = specs.iter().map(|spec| spec.name().to_owned()).collect();
            specs.extend(
                registry
                    .callable_specs()
                    .into_iter()
                    .filter(|spec| !offered.contains(&spec.name().to_owned())),
            );
            specs.sort_by(|a, b| a.name().cmp(b.name()));
            Ok(specs)
        }
        None => Ok(registry.offered_specs()),
        Some(name) if mcp::CALL_TOOL.contains(&name) => Err(OperationFault::usage(format!(
            "`{name}` stands for the tools of MCP servers: it takes `server`, `tool` and `arguments`; \
             `toolgate tools SERVER/TOOL` describes one of them"
        ))),
        // The name may be written as `server/tool`.
        Some(name) => match registry.tool_for_call(&ToolCall::function("", name, "")) {
            Ok(tool) => Ok(vec![tool.spec().clone()]),
            Err(unknown) => Err(OperationFault::usage(unknown.to_string())),
        },
    }
}

fn encode_specs(specs: &[&ToolSpec], wire: ToolsWire, style: &ApiCompat) -> Value {
    match wire {
        ToolsWire::Responses => Dialect::Responses.tools(specs, style),
        ToolsWire::Chat => Dialect::Chat.tools(specs, style),
        ToolsWire::Anthropic => Dialect::Anthropic.tools(specs, style),
        ToolsWire::Mcp => mcp_tools(specs),
    }
}

/// Formats one line per tool. Text of servers cannot start a line of its own or hide anything.
fn format_list(specs: &[&ToolSpec]) -> String {
    let names: Vec<String> = specs.iter().map(|spec| to_one_line(spec.name())).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    for (spec, name) in specs.iter().zip(names) {
        let about = to_one_line(spec_description(spec));
        let first = about.split_inclusive(". ").next().unwrap_or_default().trim_end();
        let _infallible = writeln!(text, "{NAME}{name:width$}{NAME:#}  {first}");
    }
    text
}

fn format_manual(specs: &[&ToolSpec]) -> String {
    let mut text = String::new();
    for spec in specs {
        let about = match needs_servers(spec.name()) {
            true => format!("  │ {}", escape_invisible(spec_description(spec)).replace('\n', "\n  │ ")),
            false => escape_invisible(spec_description(spec)).into_owned(),
        };
        let _infallible = writeln!(text, "{NAME}{}{NAME:#}\n{about}\n", to_one_line(spec.name()));
        if let ToolSpec::Function(function) = spec {
            write_arguments(&mut text, &function.parameters, 1);
        }
    }
    text
}

/// Lists the properties of an object, and nested ones below each.
fn write_arguments(text: &mut String, schema: &JsonSchema, depth: usize) {
    let Some(object) = &schema.object else { return };
    let margin = "  ".repeat(depth);
    for (name, schema) in &object.properties {
        let required = if object.required.contains(name) { ", required" } else { "" };
        let name = to_one_line(name);
        let description = escape_invisible(schema.notes.description.as_deref().unwrap_or_default());
        let description = match description.is_empty() {
            true => String::new(),
            false => format!("\n{description}").replace('\n', &format!("\n{margin}    ")),
        };
        let kind = describe_type(schema);
        let _infallible =
            writeln!(text, "{margin}{NAME}{name}{NAME:#} {FAINT}({kind}{required}){FAINT:#}{description}");
        write_arguments(text, schema, depth + 2);
        if let Some(items) = &schema.items {
            write_arguments(text, items, depth + 2);
        }
    }
}

/// Formats a type: `integer, at least 1`, `one of pending, completed`, `array of object`.
fn describe_type(schema: &JsonSchema) -> String {
    let names =
        |schema: &JsonSchema| schema.types.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
    if let Some(choices) = &schema.values.choices {
        let words: Vec<String> = choices.iter().filter_map(Value::as_str).map(to_one_line).collect();
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

fn spec_description(spec: &ToolSpec) -> &str {
    match spec {
        ToolSpec::Function(function) => &function.description,
        ToolSpec::Freeform(freeform) => &freeform.description,
        ToolSpec::LocalShell => "The provider's own shell tool.",
        ToolSpec::WebSearch { .. } => "A search that the provider runs.",
    }
}

#[cfg(test)]
mod tests {
    use runtime::{FunctionSpec, StrictMode};
    use serde_json::json;

    use super::*;

    #[test]
    fn server_text_cannot_control_the_terminal() {
        let evil = "\u{1b}[2J\u{202e}evil\nTOOL  looks like another";
        let schema = json!({ "type": "object", "properties": {
            evil: { "type": "string", "enum": [evil], "description": evil },
            "n": { "type": "object", "properties": { evil: { "type": "integer", "description": "i" } }, "description": "o" },
        } });
        let parameters = JsonSchema::from_foreign(&schema, 10_000).unwrap();
        let (name, description) = ("mcp__s__t".to_owned(), evil.to_owned());
        let function = FunctionSpec { name, description, parameters, strict: StrictMode::No };
        let spec = ToolSpec::Function(Box::new(function));
        let plain = |text: String| anstream::adapter::strip_str(&text).to_string();
        insta::assert_snapshot!(plain(format_list(&[&spec])), @r"mcp__s__t  \u{1b}[2J\u{202e}evil\nTOOL  looks like another");
        insta::assert_snapshot!(plain(format_manual(&[&spec])), @r"
        mcp__s__t
          │ \u{1b}[2J\u{202e}evil
          │ TOOL  looks like another

          \u{1b}[2J\u{202e}evil\nTOOL  looks like another (one of \u{1b}[2J\u{202e}evil\nTOOL  looks like another)
              [2Jevil
              TOOL  looks like another
          n (object)
              o
              \u{1b}[2J\u{202e}evil\nTOOL  looks like another (integer)
                  i
        ");
    }
}
