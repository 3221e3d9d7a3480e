use std::{
    cell::RefCell,
    collections::BTreeSet,
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Path, PathBuf},
    rc::Rc,
};

use rustix::pipe::pipe;

use super::disk::Log;
use crate::watch::{Audience, Change, ChangeKind};

/// Knowledge that a client has from the changes that it received.
#[derive(Default)]
pub(super) struct Known {
    pub(super) paths: BTreeSet<PathBuf>,
    pub(super) changes: Vec<(ChangeKind, Vec<PathBuf>)>,
}

/// Client of a watcher.
pub(super) struct Client {
    known: Rc<RefCell<Known>>,
    log: Log,
    /// Never closed: the client stays.
    connection: (OwnedFd, OwnedFd),
}

impl Client {
    pub(super) fn new(known: Rc<RefCell<Known>>, log: Log) -> Self {
        Self { known, log, connection: pipe().unwrap() }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.0.as_fd()
    }
}

impl Audience for Client {
    fn tell(&mut self, changes: Vec<Change>) -> io::Result<()> {
        let mut known = self.known.borrow_mut();
        for Change { kind, paths, .. } in changes {
            let paths: Vec<_> =
                paths.into_iter().map(|path| PathBuf::from(OsString::from_vec(path))).collect();
            match kind {
                ChangeKind::Added => _ = known.paths.insert(paths[0].clone()),
                ChangeKind::Removed => known.paths.retain(|path| !path.starts_with(&paths[0])),
                ChangeKind::Renamed => {
                    known.paths.retain(|path| !path.starts_with(&paths[1]));
                    known.paths = known.paths.iter().map(|path| moved(path, &paths)).collect();
                    known.paths.insert(paths[1].clone());
                }
                ChangeKind::Changed => {}
                ChangeKind::Overflow => panic!("the queue has room for all events"),
            }
            self.log.borrow_mut().push(format!("    {kind:?} {paths:?}"));
            known.changes.push((kind, paths));
        }
        Ok(())
    }
}

fn moved(path: &Path, paths: &[PathBuf]) -> PathBuf {
    match path.strip_prefix(&paths[0]) {
        Ok(rest) if rest.as_os_str().is_empty() => paths[1].clone(),
        Ok(rest) => paths[1].join(rest),
        Err(_) => path.to_owned(),
    }
}
