use std::fs::File;

/// What it takes to write events to the newest segment.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) file: Option<File>,
}
