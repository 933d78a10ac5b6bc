//! The hash chain: the format of a journal line, whose hash covers the line and the hash of the line before.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::entry::JournalEntry;
use crate::record::JournalRecord;

/// Maximum length of a line in bytes, its newline included.
pub const MAX_LINE_BYTES: usize = 16 << 20;
/// Upper bound for the bytes of a line beside its entry: sequence number, time and hash.
pub(crate) const LINE_OVERHEAD_BYTES: usize = 256;

/// The previous hash of the first line.
pub(crate) const GENESIS_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const BEFORE_HASH: &[u8] = b",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}";
/// Length of the hash member at the end of a line.
const HASH_MEMBER_BYTES: usize = BEFORE_HASH.len() + GENESIS_HASH.len() + AFTER_HASH.len();

/// The first line that differs from what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {why}")]
pub struct BrokenLine {
    /// The line number, from one.
    pub line: u64,
    /// The defect.
    #[source]
    pub why: LineFlaw,
}

/// A defect of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFlaw {
    /// The line exceeds the maximum length.
    #[error("is longer than a line can be")]
    TooLong,
    /// The line is not a JSON object.
    #[error("is not a JSON object: {reason}")]
    NotJson {
        /// The JSON parser's message, or a remark.
        reason: String,
    },
    /// The line does not end with a hash member.
    #[error("does not end with a hash")]
    NoHash,
    /// A member is missing or has the wrong type.
    #[error("has no `{member}`")]
    Lacks {
        /// The member.
        member: &'static str,
    },
    /// Lines are missing or out of order.
    #[error("has the number {found}, and should have {expected}")]
    Jumps {
        /// The sequence number that follows the previous line.
        expected: u64,
        /// The sequence number of the line.
        found: u64,
    },
    /// The line, or the line before it, was changed.
    #[error("has the hash {found}, and its bytes have {computed}")]
    Differs {
        /// The hash in the line.
        found: String,
        /// The hash computed from the line and the previous hash.
        computed: String,
    },
}

/// A line that is ready to be written.
pub(crate) struct SealedLine {
    /// The whole line, with its newline.
    pub(crate) line: Vec<u8>,
    pub(crate) hash: String,
}

/// Builds the line for an entry that is already JSON. `previous_hash` is the hash of the line before.
pub(crate) fn seal_line(previous_hash: &str, seq: u64, at: &str, entry: &[u8]) -> SealedLine {
    let mut line = Vec::with_capacity(entry.len() + LINE_OVERHEAD_BYTES);
    line.extend_from_slice(format!("{{\"seq\":{seq},\"at\":\"{at}\",").as_bytes());
    // The entry without its braces.
    line.extend_from_slice(entry.get(1..entry.len().saturating_sub(1)).unwrap_or_default());
    let hash = line_hash(previous_hash, &line);
    line.extend_from_slice(BEFORE_HASH);
    line.extend_from_slice(hash.as_bytes());
    line.extend_from_slice(AFTER_HASH);
    line.push(b'\n');
    SealedLine { line, hash }
}

/// Parses and verifies a line without its newline. It must have the number `seq` and follow `previous_hash`.
pub(crate) fn parse_line(previous_hash: &str, seq: u64, line: &[u8]) -> Result<JournalRecord, LineFlaw> {
    let value =
        serde_json::from_slice(line).map_err(|error| LineFlaw::NotJson { reason: error.to_string() })?;
    let Value::Object(mut members) = value else {
        return Err(LineFlaw::NotJson { reason: "it is another value".to_owned() });
    };
    let (body, found) = split_hash(line).ok_or(LineFlaw::NoHash)?;
    let number =
        members.remove("seq").and_then(|seq| seq.as_u64()).ok_or(LineFlaw::Lacks { member: "seq" })?;
    if number != seq {
        return Err(LineFlaw::Jumps { expected: seq, found: number });
    }
    let computed = line_hash(previous_hash, body);
    if found != computed {
        return Err(LineFlaw::Differs { found: found.to_owned(), computed });
    }
    let Some(Value::String(at)) = members.remove("at") else { return Err(LineFlaw::Lacks { member: "at" }) };
    members.remove("hash");
    let entry: JournalEntry =
        serde_json::from_value(Value::Object(members)).map_err(|_| LineFlaw::Lacks { member: "kind" })?;
    Ok(JournalRecord { seq, at, entry, hash: computed })
}

/// Splits a line into its hashed part and its hash.
fn split_hash(line: &[u8]) -> Option<(&[u8], &str)> {
    let (body, seal) = line.split_at(line.len().checked_sub(HASH_MEMBER_BYTES)?);
    let hash = seal.strip_prefix(BEFORE_HASH)?.strip_suffix(AFTER_HASH)?;
    let is_hash = hash.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    Some((body, str::from_utf8(hash).ok().filter(|_| is_hash)?))
}

fn line_hash(previous_hash: &str, body: &[u8]) -> String {
    const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::new().chain_update(previous_hash).chain_update(body).finalize();
    let mut text = String::with_capacity(GENESIS_HASH.len());
    for byte in digest.iter() {
        text.push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(HEX_DIGITS[usize::from(byte & 15)]));
    }
    text
}
