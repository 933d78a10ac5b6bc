//! Object formats of git: SHA-1 and SHA-256 ids.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::config_rewrite;

/// The object format of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// Returns the format of the repository with this configuration, or `None` if it is ambiguous. Git reads
    /// `extensions.objectformat` in this one file only, and no letter of a key can be escaped.
    pub(super) fn from_config(config: &[u8]) -> Option<Self> {
        const KEY: &[u8] = b"objectformat";
        let named = config.windows(KEY.len()).filter(|word| word.eq_ignore_ascii_case(KEY)).count();
        match (named, config_rewrite::object_format(config).as_deref()) {
            (0, None) => Some(Self::Sha1),
            (1, Some("sha1")) => Some(Self::Sha1),
            (1, Some("sha256")) => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Returns the length of an id in bytes.
    pub(super) fn id_length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Returns true if `text` is an id in hexadecimal.
    pub(super) fn is_id(self, text: &[u8]) -> bool {
        text.len() == 2 * self.id_length() && super::content_checks::is_object_id(text)
    }

    /// Returns the hash of `bytes`.
    pub(super) fn hash_bytes(self, bytes: &[u8]) -> Vec<u8> {
        let mut hash = ObjectHasher::new(self);
        hash.update(bytes);
        hash.finish()
    }
}

/// An incremental hash.
#[derive(Debug, Clone)]
pub(super) enum ObjectHasher {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl ObjectHasher {
    pub(super) fn new(format: ObjectFormat) -> Self {
        match format {
            ObjectFormat::Sha1 => Self::Sha1(Sha1::new()),
            ObjectFormat::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    /// Appends bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
        }
    }

    /// Returns the id.
    pub(super) fn finish(self) -> Vec<u8> {
        match self {
            Self::Sha1(hash) => hash.finalize().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        }
    }
}

/// Parses an id from hexadecimal `digits`.
pub(super) fn parse_id(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|two| Some(digit(two[0])? << 4 | digit(*two.get(1)?)?)).collect()
}
