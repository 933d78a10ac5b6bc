//! Sets values in a YAML file of block style: scalars at the top, and blocks of scalars one level below.

use serde_json::Value;

use super::edit_settings::{FileSetting, SettingValue};

/// Returns `text` with these settings.
pub(super) fn apply_yaml(text: &str, settings: &[FileSetting]) -> Result<String, String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for FileSetting { keys, value } in settings {
        let SettingValue::Set(value) = value else { return Err("lists cannot be edited in YAML".to_owned()) };
        match keys.as_slice() {
            [key] => set_scalar(&mut lines, 0..usize::MAX, "", key, value),
            [parent, child, key] => {
                let inside = child_block(&mut lines, parent, child)?;
                let indent = indent_of(&lines[inside.start]).to_owned() + "  ";
                let indent = own_indent(&lines, &inside).unwrap_or(indent);
                set_scalar(&mut lines, inside.start + 1..inside.end, &indent, key, value);
            }
            _ => return Err("only two levels of YAML can be edited".to_owned()),
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Returns the lines of `parent: child:`, the first of which is the child's own. Adds what is missing.
fn child_block(lines: &mut Vec<String>, parent: &str, child: &str) -> Result<std::ops::Range<usize>, String> {
    let start = match find_key(lines, 0..lines.len(), "", parent) {
        Some((at, rest)) if is_empty_value(&rest) => at,
        Some(_) => return Err(format!("`{parent}` is not in block style")),
        None => {
            lines.push(format!("{parent}:"));
            lines.len() - 1
        }
    };
    let outer = start..block_end(lines, start);
    let indent = own_indent(lines, &outer).unwrap_or_else(|| "  ".to_owned());
    let at = match find_key(lines, outer.start + 1..outer.end, &indent, child) {
        Some((at, rest)) if is_empty_value(&rest) => at,
        Some(_) => return Err(format!("`{parent}.{child}` is not in block style")),
        None => {
            lines.insert(outer.end, format!("{indent}{child}:"));
            outer.end
        }
    };
    Ok(at..block_end(lines, at))
}

/// Sets `key` among the lines of `range`, or adds it at their end.
fn set_scalar(
    lines: &mut Vec<String>,
    range: std::ops::Range<usize>,
    indent: &str,
    key: &str,
    value: &Value,
) {
    // JSON is YAML, and texts that need no quotes look better without them.
    let plain = value.as_str().filter(|text| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || " _-/.".contains(letter))
    });
    let line = format!("{indent}{key}: {}", plain.map_or_else(|| value.to_string(), str::to_owned));
    let range = range.start.min(lines.len())..range.end.min(lines.len());
    match find_key(lines, range.clone(), indent, key) {
        Some((at, _)) => lines[at] = line,
        None => lines.insert(range.end, line),
    }
}

/// Returns the line of `key` at this indentation, and the text after its colon.
fn find_key(
    lines: &[String],
    range: std::ops::Range<usize>,
    indent: &str,
    key: &str,
) -> Option<(usize, String)> {
    let prefix = format!("{indent}{key}:");
    let found =
        range.clone().zip(&lines[range]).find_map(|(at, line)| Some((at, line.strip_prefix(&prefix)?)));
    found.map(|(at, rest)| (at, rest.to_owned()))
}

fn is_empty_value(rest: &str) -> bool {
    let rest = rest.trim();
    rest.is_empty() || rest.starts_with('#')
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns the end of the block that the key at `start` opens, without trailing blank lines.
fn block_end(lines: &[String], start: usize) -> usize {
    let own = indent_of(&lines[start]).len();
    let mut end = start + 1;
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if indent_of(line).len() <= own {
            break;
        }
        end = at + 1;
    }
    end
}

/// Returns the indentation of the lines in a block.
fn own_indent(lines: &[String], block: &std::ops::Range<usize>) -> Option<String> {
    let mut inside = lines[block.start + 1..block.end].iter();
    let first = inside.find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    first.map(|line| indent_of(line).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(keys: &[&'static str], value: Value) -> FileSetting {
        FileSetting { keys: keys.to_vec(), value: SettingValue::Set(value) }
    }

    #[test]
    fn blocks_are_edited_and_added() {
        let text = "GOOSE_PROVIDER: openai # mine\nextensions:\n    developer:\n        enabled: true\n        type: platform\n\n    memory:\n        enabled: true\nlast: 1\n";
        let settings = [
            set(&["GOOSE_MODE"], json!("auto")),
            set(&["extensions", "developer", "enabled"], json!(false)),
            set(&["extensions", "toolgate", "cmd"], json!("toolgate")),
            set(&["extensions", "toolgate", "args"], json!(["mcp", "--sandbox"])),
        ];
        let edited = apply_yaml(text, &settings).unwrap();
        insta::assert_snapshot!(edited, @r#"
        GOOSE_PROVIDER: openai # mine
        extensions:
            developer:
                enabled: false
                type: platform

            memory:
                enabled: true
            toolgate:
              cmd: toolgate
              args: ["mcp","--sandbox"]
        last: 1
        GOOSE_MODE: auto
        "#);
        assert_eq!(apply_yaml(&edited, &settings).unwrap(), edited);
        insta::assert_snapshot!(apply_yaml("", &settings[2..]).unwrap(), @r#"
        extensions:
          toolgate:
            cmd: toolgate
            args: ["mcp","--sandbox"]
        "#);
        assert!(apply_yaml("extensions: {}\n", &settings).is_err());
        assert!(apply_yaml("extensions:\n  toolgate: {cmd: x}\n", &settings).is_err());
    }
}
