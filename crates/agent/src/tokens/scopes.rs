use std::{collections::BTreeSet, path::Path, sync::Arc};

/// Rights of a scoped token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scopes {
    /// The execs that it may read.
    pub(crate) read_execs: BTreeSet<String>,
    /// The execs that it may type into, and read.
    pub(crate) type_into: BTreeSet<String>,
    /// It may create commands, and do with these whatever can be done.
    pub(crate) create_commands: bool,
    /// The directory below which it may read files.
    pub(crate) read_files: Option<Arc<Path>>,
    /// The directory below which it may write files.
    pub(crate) write_files: Option<Arc<Path>>,
}

impl Scopes {
    /// Returns whether there is nothing that it may do.
    pub(crate) fn are_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether it may read an exec that another token has created.
    pub(super) fn reads(&self, id: &str) -> bool {
        self.read_execs.contains(id) || self.types_into(id)
    }

    pub(super) fn types_into(&self, id: &str) -> bool {
        self.type_into.contains(id)
    }
}
