use std::sync::Arc;

use crate::{
    execs::{Cursor, Registry},
    tokens::Access,
};

/// The JSON of the list of all execs that a token may read (an `ExecListResponse`), made as it is sent: however many there are, no more
/// than a page of it is in memory.
pub(super) struct ListJson {
    registry: Arc<Registry>,
    access: Access,
    separated: bool,
    stage: Stage,
}

enum Stage {
    Begin,
    /// Items have been given.
    Items(Cursor),
    End,
}

impl ListJson {
    pub(super) fn new(registry: Arc<Registry>, access: Access) -> Self {
        Self { registry, access, separated: true, stage: Stage::Begin }
    }

    /// The next bytes; None when all have been given.
    pub(super) fn next(&mut self) -> serde_json::Result<Option<Vec<u8>>> {
        let (mut json, mut cursor) = match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::Begin => (b"{\"execs\":[".to_vec(), Cursor::first()),
            Stage::Items(cursor) => (Vec::new(), cursor),
            Stage::End => return Ok(None),
        };
        let execs = self.registry.next_page(&mut cursor);
        for exec in execs.iter().filter(|exec| self.access.reads(exec.named())) {
            if !self.separated {
                json.push(b',');
            }
            self.separated = false;
            serde_json::to_writer(&mut json, &exec.listed_item())?;
        }
        if cursor.is_last() {
            json.extend_from_slice(b"]}");
        } else {
            self.stage = Stage::Items(cursor);
        }
        Ok(Some(json))
    }

    /// Whether all has been given.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, Stage::End)
    }
}
