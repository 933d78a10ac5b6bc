//! The two ways in which a repository names its objects.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::config;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Sha1,
    Sha256,
}

impl Format {
    /// The format of the repository with this configuration. `None` if it cannot be told for certain: git looks at
    /// `extensions.objectformat` in this one file and nowhere else, and no letter of a key can be written otherwise.
    pub(super) fn of(config: &[u8]) -> Option<Self> {
        const KEY: &[u8] = b"objectformat";
        let named = config.windows(KEY.len()).filter(|word| word.eq_ignore_ascii_case(KEY)).count();
        match (named, config::object_format(config).as_deref()) {
            (0, None) => Some(Self::Sha1),
            (1, Some("sha1")) => Some(Self::Sha1),
            (1, Some("sha256")) => Some(Self::Sha256),
            _ => None,
        }
    }

    /// How many bytes an id has.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Whether `text` is an id as it is written.
    pub(super) fn is_id(self, text: &[u8]) -> bool {
        text.len() == 2 * self.bytes() && super::content::hex(text)
    }

    /// The hash of `bytes`.
    pub(super) fn hash(self, bytes: &[u8]) -> Vec<u8> {
        let mut hash = Hash::new(self);
        hash.add(bytes);
        hash.end()
    }
}

/// A hash on its way.
#[derive(Debug, Clone)]
pub(super) enum Hash {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hash {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Sha1 => Self::Sha1(Sha1::new()),
            Format::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    /// Takes in more.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
        }
    }

    /// The id that came of it.
    pub(super) fn end(self) -> Vec<u8> {
        match self {
            Self::Sha1(hash) => hash.finalize().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        }
    }
}

/// The bytes of an id that is written in `digits`.
pub(super) fn id(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|two| Some(digit(two[0])? << 4 | digit(*two.get(1)?)?)).collect()
}
