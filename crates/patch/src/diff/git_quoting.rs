//! Quotes file names in diffs as git does.

use std::fmt::Write;

/// Quotes a name with unusual characters, or with whitespace at its ends, which readers would strip.
pub(super) fn quote_path(prefix: &str, path: &str) -> String {
    let path = normalize_path(path);
    let usual = |char: char| !char.is_control() && char != '"' && char != '\\';
    if path.chars().all(usual) && path.trim() == path {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for char in path.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if char.is_control() => {
                let mut buffer = [0; 4];
                for byte in char.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            char => out.push(char),
        }
    }
    out + "\""
}

/// Formats a name after `---` or `+++`. A tab ends a name that contains a space, as in git.
pub(super) fn end_name_with_tab(name: &str) -> String {
    if name.contains(' ') { format!("{name}\t") } else { name.to_owned() }
}

/// Strips `./` and repeated slashes, which git does not accept in a file name.
fn normalize_path(path: &str) -> String {
    let rooted = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{rooted}{}", parts.join("/"))
}
