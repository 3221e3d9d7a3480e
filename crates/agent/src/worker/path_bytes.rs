//! A path in a message: its bytes, which need not be UTF-8.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(path.as_os_str().as_bytes())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    // In postcard bytes are a sequence of them.
    Vec::deserialize(deserializer).map(|bytes| OsString::from_vec(bytes).into())
}
