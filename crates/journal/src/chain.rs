//! The chain: what a line is made of, and how each vouches for all before it.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::entry::Entry;
use crate::record::Record;

/// A line is never longer, its newline included.
pub const MAX_LINE: usize = 16 << 20;
/// What a line holds beside its entry: its number, its time and its hash.
pub(crate) const FRAME: usize = 256;

/// Stands for the hash of the line before the first.
pub(crate) const START: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const BEFORE_HASH: &[u8] = b",\"hash\":\"";
const AFTER_HASH: &[u8] = b"\"}";
/// Bytes of what a hash stands in, and of the hash.
const SEAL: usize = BEFORE_HASH.len() + START.len() + AFTER_HASH.len();

/// The first line that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {why}")]
pub struct Broken {
    /// From one.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub why: Flaw,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// No line is as long.
    #[error("is longer than a line can be")]
    TooLong,
    /// Not even its form is right.
    #[error("is no JSON object: {reason}")]
    NotJson {
        /// What the reader stumbled over.
        reason: String,
    },
    /// The last member is no hash.
    #[error("does not end with a hash")]
    NoHash,
    /// A member is not there, or is not what it should be.
    #[error("has no `{member}`")]
    Lacks {
        /// Which.
        member: &'static str,
    },
    /// Lines are missing, or stand elsewhere.
    #[error("has the number {found}, and should have {expected}")]
    Jumps {
        /// The number that follows the line before.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// It, or the line before it, is another one than was written.
    #[error("has the hash {found}, and its bytes have {computed}")]
    Differs {
        /// The hash that it has.
        found: String,
        /// The one that belongs to its bytes and the hash before.
        computed: String,
    },
}

/// A line that is ready to be written.
pub(crate) struct Sealed {
    /// All of it, with its newline.
    pub(crate) line: Vec<u8>,
    pub(crate) hash: String,
}

/// Makes a line of an entry that is JSON already, after the line whose hash is `head`.
pub(crate) fn seal(head: &str, seq: u64, at: &str, entry: &[u8]) -> Sealed {
    let mut line = Vec::with_capacity(entry.len() + FRAME);
    line.extend_from_slice(format!("{{\"seq\":{seq},\"at\":\"{at}\",").as_bytes());
    // Without its braces.
    line.extend_from_slice(entry.get(1..entry.len().saturating_sub(1)).unwrap_or_default());
    let hash = digest(head, &line);
    line.extend_from_slice(BEFORE_HASH);
    line.extend_from_slice(hash.as_bytes());
    line.extend_from_slice(AFTER_HASH);
    line.push(b'\n');
    Sealed { line, hash }
}

/// Reads a line, without its newline, that should have the number `seq` and follow the hash `head`.
pub(crate) fn open(head: &str, seq: u64, line: &[u8]) -> Result<Record, Flaw> {
    let value = serde_json::from_slice(line).map_err(|error| Flaw::NotJson { reason: error.to_string() })?;
    let Value::Object(mut members) = value else {
        return Err(Flaw::NotJson { reason: "it is another value".to_owned() });
    };
    let (body, found) = unseal(line).ok_or(Flaw::NoHash)?;
    let number = members.remove("seq").and_then(|seq| seq.as_u64()).ok_or(Flaw::Lacks { member: "seq" })?;
    if number != seq {
        return Err(Flaw::Jumps { expected: seq, found: number });
    }
    let computed = digest(head, body);
    if found != computed {
        return Err(Flaw::Differs { found: found.to_owned(), computed });
    }
    let Some(Value::String(at)) = members.remove("at") else { return Err(Flaw::Lacks { member: "at" }) };
    members.remove("hash");
    let entry: Entry =
        serde_json::from_value(Value::Object(members)).map_err(|_| Flaw::Lacks { member: "kind" })?;
    Ok(Record { seq, at, entry, hash: computed })
}

/// What is hashed of a line, and the hash that it has.
fn unseal(line: &[u8]) -> Option<(&[u8], &str)> {
    let (body, seal) = line.split_at(line.len().checked_sub(SEAL)?);
    let hash = seal.strip_prefix(BEFORE_HASH)?.strip_suffix(AFTER_HASH)?;
    let is_hash = hash.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    Some((body, str::from_utf8(hash).ok().filter(|_| is_hash)?))
}

fn digest(head: &str, body: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::new().chain_update(head).chain_update(body).finalize();
    let mut text = String::with_capacity(START.len());
    for byte in digest.iter() {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}
