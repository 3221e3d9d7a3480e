use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::OpenOptionsExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

/// Path that leads to the program of this process, also where its file has been replaced or removed (proc(5)).
pub const RUNNING_PROGRAM: &str = "/proc/self/exe";

/// Program that was opened once, and is executed as it was then: whatever takes its path later is never run.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    file: Arc<File>,
}

impl Program {
    /// Opens a program.
    ///
    /// # Errors
    ///
    /// There is none, or the system has no descriptor for it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
        // The shell that runs a script reads it from there. The agent closes it in all else that it starts.
        // SAFETY: fcntl(2) with this command touches no memory.
        #[allow(unsafe_code)]
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { path: path.to_owned(), file: Arc::new(file) })
    }

    /// Returns the path that it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what was opened.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the descriptor that [`Self::executable`] needs, where a process closes others.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns the path by which this process, or a child that has the descriptor, executes what was opened (proc(5)).
    #[must_use]
    pub fn executable(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.descriptor()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use super::*;

    #[test]
    fn runs_what_was_opened_although_its_path_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let write = |text: &str| {
            let new = directory.path().join("new");
            fs::write(&new, format!("#!/bin/sh\necho {text}\n")).unwrap();
            fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
            fs::rename(&new, &path).unwrap();
        };
        let said = |program: &Path| Command::new(program).output().unwrap().stdout;
        write("first");
        let program = Program::open(&path).unwrap();
        write("second");
        assert_eq!(said(&path), b"second\n");
        assert_eq!(said(&program.executable()), b"first\n");
        fs::remove_file(&path).unwrap();
        assert_eq!(said(&program.executable()), b"first\n");
    }
}
