use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{directory::Directory, exec::Exec, registry::Registry};
use crate::output::Spool;

impl Registry {
    /// Takes over the execs that an earlier agent left in the state directory. What can't be read is
    /// left alone.
    ///
    /// # Errors
    /// When the directory itself can't be read.
    pub(crate) fn recover(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.spools()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if Directory::is_removed(&path) {
                fs::remove_dir_all(&path)?;
                continue;
            }
            if let Err(error) = self.recover_exec(path.clone()) {
                tracing::warn!(%error, directory = %path.display(), "an exec can't be read and is skipped");
            }
        }
        Ok(())
    }

    fn recover_exec(&self, path: PathBuf) -> io::Result<()> {
        let directory = Directory::new(path);
        let record = directory.read()?;
        if !is_of(directory.path(), &record.item.id) {
            let message = format!("the record is that of exec {:?}", record.item.id);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let spool = Spool::recover(
            directory.path().to_path_buf(),
            self.spool_limit(),
            record.last_event.as_ref(),
        )?;
        if let Some(creation) = &record.creation {
            self.keys().restore(creation, &record.item.id);
        }
        self.put_back(Arc::new(Exec::recovered(record, directory, spool, self)));
        Ok(())
    }
}

fn is_of(path: &Path, id: &str) -> bool {
    path.file_name().is_some_and(|name| name == id)
}
