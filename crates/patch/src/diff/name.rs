//! Names of files as git writes them.

use std::fmt::Write;

/// A name in quotes if there is anything unusual in it, such as a blank at its end, which readers would take off.
pub(super) fn quoted(prefix: &str, path: &str) -> String {
    let path = relative(path);
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

/// A name after `---` or `+++`: a tab ends one with a blank in it, as git has it.
pub(super) fn ended(name: &str) -> String {
    if name.contains(' ') { format!("{name}\t") } else { name.to_owned() }
}

/// The path without `./` and doubled slashes, which git takes for no name of a file.
fn relative(path: &str) -> String {
    let rooted = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{rooted}{}", parts.join("/"))
}
