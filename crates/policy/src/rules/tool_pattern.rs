//! Validates and matches tool patterns with `*`, also by the aliases of a tool and by equivalent tools.

/// Maximum length of a name in bytes; model APIs accept less.
const MAX_NAME_BYTES: usize = 256;

/// Validates `name` as a tool name or a pattern.
pub fn tool_pattern_fault(name: &str) -> Result<(), String> {
    let why = match name {
        "" => "it is empty; write a tool's name, e.g. `mcp__github__*`",
        _ if name.len() > MAX_NAME_BYTES => "no tool has so long a name",
        _ if !name.chars().all(|letter| letter.is_ascii_graphic()) => {
            "a tool's name has letters, digits, `_`, `-` and the like, and no blanks"
        }
        _ => return Ok(()),
    };
    Err(why.to_owned())
}

/// Returns true if `name` matches `pattern`, in which `*` matches any characters.
pub fn matches_tool_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(inner) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    // The earliest match is best: it leaves the most text for the remaining parts.
    let found = middle.split('*').try_fold(inner, |left, part| Some(&left[left.find(part)? + part.len()..]));
    found.is_some()
}

/// The tools that run commands. They are equivalent, and a model may be offered any of them.
const SHELL_TOOLS: [&str; 3] = ["exec_command", "shell", "shell_command"];

/// Other names of built-in tools, each with the equivalent tool.
const ALIASES: [(&str, &str); 11] = [
    ("applypatch", "apply_patch"),
    ("edit_file", "apply_patch"),
    ("write_file", "apply_patch"),
    ("container.exec", "shell"),
    ("local_shell", "shell"),
    ("local_shell_call", "shell"),
    ("unified_exec", "exec_command"),
    ("plan", "update_plan"),
    ("search", "grep_files"),
    ("mcp_read_resource", "read_mcp_resource"),
    ("mcp_resource", "read_mcp_resource"),
];
/// The names that stand for every tool of a server, and the prefix of those tools' names.
const SERVER_CALL_TOOLS: ([&str; 2], &str) = (["mcp_call_tool", "mcp"], "mcp__");

/// Returns true if `pattern` is about the tool `name`: by its own name, by an alias, or by any name of an equivalent
/// tool.
pub fn pattern_concerns_tool(pattern: &str, name: &str) -> bool {
    let job: &[&str] = if SHELL_TOOLS.contains(&name) { &SHELL_TOOLS } else { &[name] };
    let by_alias =
        ALIASES.iter().any(|(alias, tool)| job.contains(tool) && matches_tool_pattern(pattern, alias));
    let (call_tools, of_servers) = SERVER_CALL_TOOLS;
    by_alias
        || job.iter().any(|tool| matches_tool_pattern(pattern, tool))
        || name.starts_with(of_servers) && call_tools.contains(&pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shell_stands_for_all() {
        assert!(
            pattern_concerns_tool("exec_command", "shell") && pattern_concerns_tool("shell", "exec_command")
        );
        assert!(
            pattern_concerns_tool("shell_c*", "exec_command")
                && pattern_concerns_tool("read_file", "read_file")
        );
        assert!(
            !pattern_concerns_tool("exec_command", "read_file")
                && !pattern_concerns_tool("write_stdin", "shell")
        );
    }

    #[test]
    fn an_alias_stands_for_its_tool() {
        for (pattern, name, expected) in [
            ("local_shell", "shell", true),
            ("local_shell", "exec_command", true),
            ("container.exec", "shell_command", true),
            ("write_*", "apply_patch", true),
            ("search", "grep_files", true),
            ("mcp_read_resource", "read_mcp_resource", true),
            ("mcp_call_tool", "mcp__git__log", true),
            ("mcp", "mcp__git__log", true),
            ("local_shell_call", "shell_command", true),
            ("unified_exec", "shell", true),
            ("plan", "update_plan", true),
            ("search", "read_file", false),
            ("local_shell", "write_stdin", false),
            ("mcp_call_tool", "shell", false),
        ] {
            assert_eq!(pattern_concerns_tool(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn accepts_names_and_patterns() {
        for (pattern, name, expected) in [
            ("shell", "shell", true),
            ("shell", "shell_command", false),
            ("*", "", true),
            ("*", "shell", true),
            ("**", "shell", true),
            ("mcp__github__*", "mcp__github__get_issue", true),
            ("mcp__github__*", "mcp__gitlab__get_issue", false),
            ("*_issue", "mcp__github__get_issue", true),
            ("*_issue", "mcp__github__get_issues", false),
            ("mcp__*__get_*", "mcp__github__get_issue", true),
            ("mcp__*__get_*", "mcp__github__set_issue", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*b*c", "abbc", true),
            ("a*b*b*c", "abc", false),
            ("a*bc*c", "abc", false),
        ] {
            assert_eq!(matches_tool_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
