//! A path in a record: text if it is UTF-8, else its bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A path, stored as text if it is UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedPath {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl RecordedPath {
    /// Records `path`.
    pub fn from_path(path: &Path) -> Self {
        let bytes = path.as_os_str().as_bytes().to_vec();
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }

    /// Returns the path.
    pub fn to_path_buf(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
        }
    }

    pub(super) fn is_one_name(&self) -> bool {
        let path = self.to_path_buf();
        let bytes = path.as_os_str().as_bytes();
        !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/') && !bytes.contains(&0)
    }
}
