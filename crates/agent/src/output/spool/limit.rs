/// The smallest piece of disk that is worth a file of its own.
const MIN_SEGMENT: u64 = 8 * 1024;
const MAX_SEGMENT: u64 = 16 * 1024 * 1024;
/// The smallest part of a file that is worth a mark of its own.
const MIN_STRIDE: u64 = 64 * 1024;
/// The most marks that an index keeps in memory: 16 bytes each.
const MAX_MARKS: u64 = 16 * 1024;

/// How much of one exec's output is kept on disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolLimit {
    total: u64,
    /// The largest size of a file.
    file: u64,
}

impl SpoolLimit {
    /// The smallest limit: 64 KiB.
    pub const MIN: u64 = 64 * 1024;

    /// A limit of so many bytes; `None` for less than [`SpoolLimit::MIN`].
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        (bytes >= Self::MIN).then_some(Self { total: bytes, file: MAX_SEGMENT })
    }

    /// The same in files of at most so many bytes, as `ulimit -f` asks for.
    pub(crate) fn in_files_of(self, bytes: u64) -> Self {
        Self { file: bytes.min(MAX_SEGMENT), ..self }
    }

    /// The most bytes on disk. One segment may be larger by a part of one event.
    pub(crate) fn total(self) -> u64 {
        self.total
    }

    /// The size at which a segment is full: what is dropped at once.
    pub(super) fn segment(self) -> u64 {
        (self.total / 8).max(MIN_SEGMENT).min(self.file)
    }

    /// The distance of two marks: what is searched for one event.
    pub(super) fn stride(self) -> u64 {
        MIN_STRIDE.max(self.total / MAX_MARKS)
    }
}
