//! Tool names for the model: one unique name per server and tool, hashed if ambiguous, and the server of a name.

use sha2::{Digest, Sha256};

/// The longest name that every model API accepts.
const MAX_NAME_LENGTH: usize = 64;
/// Prefix of the names of server tools.
const PREFIX: &str = "mcp__";
/// Hexadecimal digits of the hash.
const HASH_DIGITS: usize = 16;

/// Returns the name of `tool` of `server`: `mcp__server__tool` if that is unambiguous, otherwise that with a hash of
/// both appended. It depends only on the two names, so no other server can change it.
///
/// ```
/// assert_eq!(toolgate_mcp::alias("git", "git_log"), "mcp__git__git_log");
/// assert_eq!(toolgate_mcp::alias("git", "log.all"), "mcp__git__log_all_475fcd5f254aa45e");
/// ```
pub fn alias(server: &str, tool: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|letter| if is_name_char(letter) { letter } else { '_' }).collect()
    };
    let name = format!("{PREFIX}{}__{}", plain(server), plain(tool));
    // The boundary between both parts must be unambiguous: `a__b` and `c` differ from `a` and `b__c`.
    let is_open = server.contains("__") || server.ends_with('_') || tool.starts_with('_');
    let is_whole = [server, tool].iter().all(|part| !part.is_empty() && part.chars().all(is_name_char));
    if is_whole && !is_open && !ends_with_hash(tool) && name.len() <= MAX_NAME_LENGTH {
        return name;
    }
    let hash = Sha256::new().chain_update(server).chain_update([0]).chain_update(tool).finalize();
    let digits: String = hash.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    // ASCII only, so slicing at a byte is safe.
    format!("{}_{digits}", &name[..name.len().min(MAX_NAME_LENGTH - HASH_DIGITS - 1)])
}

/// Returns the common prefix of the tool names of `server`: complete, or as much as the hash leaves.
///
/// ```
/// assert_eq!(toolgate_mcp::prefix("git"), "mcp__git__");
/// ```
pub fn prefix(server: &str) -> String {
    let start = alias(server, "x");
    start
        .strip_suffix("x")
        .map_or_else(|| start[..start.len().min(PREFIX.len() + 8)].to_owned(), str::to_owned)
}

/// Splits a name of the form `server/tool` into both parts. No tool of ours has such a name.
///
/// ```
/// assert_eq!(toolgate_mcp::by_path("filesystem/read_file"), Some(("filesystem", "read_file")));
/// assert_eq!(toolgate_mcp::by_path("read_file"), None);
/// ```
pub fn by_path(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.split_once('/')?;
    let is_server = !server.is_empty() && server.chars().all(is_name_char);
    (is_server && !tool.is_empty()).then_some((server, tool))
}

/// Returns whether a tool of that name can belong to `server`.
pub fn may_belong_to(name: &str, server: &str) -> bool {
    if let Some((named, _)) = by_path(name) {
        return named == server;
    }
    name.starts_with(&prefix(server))
}

fn is_name_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// Returns whether a name looks as if it ended with a hash. Such a name gets a hash too, so that no two tools
/// collide.
fn ends_with_hash(tool: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let (head, digits) = tool.as_bytes().split_at(tool.len().saturating_sub(HASH_DIGITS));
    digits.len() == HASH_DIGITS && digits.iter().all(is_digit) && head.last().is_none_or(|byte| *byte == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_what_models_take() {
        let long = "x".repeat(80);
        let rows = [
            ("git", "git_log", "mcp__git__git_log"),
            ("my-server", "Read-File", "mcp__my-server__Read-File"),
            ("a__b", "c", ""),
            ("a", "b__c", "mcp__a__b__c"),
            ("a_", "b", ""),
            ("a", "_b", ""),
            ("a", "b.c", ""),
            ("a", "b_c", "mcp__a__b_c"),
            ("a", "", ""),
            ("a", "grüße", ""),
            ("a", &long, ""),
            ("a", "x_0123abcd0123abcd", ""),
        ];
        let mut names = std::collections::BTreeSet::new();
        for (server, tool, expected) in rows {
            let name = alias(server, tool);
            if !expected.is_empty() {
                assert_eq!(name, expected);
            }
            assert!(names.insert(name), "{server} {tool}");
        }
        insta::assert_snapshot!(alias("a", "b.c"), @"mcp__a__b_c_ad8a94abc87476f9");
        insta::assert_snapshot!(alias("a", &long), @"mcp__a__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_27e752d3a0997abd");
    }

    proptest! {
        #[test]
        fn no_two_tools_have_one_name(one in ("[ab_.]{1,4}", "[ab_.]{0,5}"), other in ("[ab_.]{1,4}", "[ab_.]{0,5}")) {
            let names = [&one, &other].map(|(server, tool)| alias(server, tool));
            prop_assert_eq!(names[0] == names[1], one == other);
        }

        #[test]
        fn every_name_is_taken_by_every_model(server in ".*", tool in ".*") {
            let name = alias(&server, &tool);
            prop_assert!(name.len() <= MAX_NAME_LENGTH && name.chars().all(is_name_char) && name.starts_with(PREFIX));
        }
    }
}
