use std::{
    ffi::{CStr, CString, NulError, OsStr},
    mem,
    os::unix::ffi::OsStrExt,
    ptr,
};

use nix::{
    errno::Errno,
    libc::{self, c_char},
};

use super::launch::Launch;

/// What runs a file that the system can't execute by itself.
const SHELL: &CStr = c"/bin/sh";
/// Where programs are looked for if there is no `PATH`, as the C library does it.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// A program with its arguments and its environment as the system takes them: all that `execve` needs is
/// there before there is a process, since that may not allocate.
pub(super) struct Program {
    /// The directories to look in, with colons between them; one that is empty is the current directory.
    path: Vec<u8>,
    /// Its name, with the NUL that ends it.
    name: Vec<u8>,
    /// Room for the path of a file.
    file: Vec<u8>,
    /// The shell, then the arguments from the program's name on, then a null pointer.
    shell_and_args: Vec<*const c_char>,
    env: Vec<*const c_char>,
    /// What the pointers point to.
    _strings: Vec<CString>,
}

impl Program {
    /// # Errors
    /// Where a string has a NUL in it.
    pub(super) fn of(launch: &Launch) -> Result<Self, NulError> {
        let path = if launch.command.contains('/') {
            &[]
        } else {
            launch.env.get(OsStr::new("PATH")).map_or(DEFAULT_PATH, |path| path.as_bytes())
        };
        let mut strings = Vec::with_capacity(1 + launch.args.len() + launch.env.len());
        for arg in [&launch.command].into_iter().chain(&launch.args) {
            strings.push(CString::new(arg.as_str())?);
        }
        let args = strings.len();
        for (name, value) in &launch.env {
            strings.push(CString::new([name.as_bytes(), value.as_bytes()].join(&b'='))?);
        }
        let mut pointers = strings.iter().map(|string| string.as_ptr());
        let args = pointers.by_ref().take(args);
        let shell_and_args =
            [SHELL.as_ptr()].into_iter().chain(args).chain([ptr::null()]).collect();
        let env = pointers.chain([ptr::null()]).collect();
        let name = CString::new(launch.command.as_str())?.into_bytes_with_nul();
        Ok(Self {
            path: path.to_vec(),
            file: Vec::with_capacity(path.len() + 1 + name.len()),
            name,
            shell_and_args,
            env,
            _strings: strings,
        })
    }

    /// Replaces this process by the program, or says why it can't. It is looked for as by `execvp`: a
    /// name without a slash in the directories of `PATH`, and a file without a format that the system
    /// knows is a script (POSIX, exec).
    ///
    /// It only makes system calls, and allocates nothing.
    pub(super) fn execute(&mut self) -> Errno {
        let mut denied = false;
        let mut last = Errno::ENOENT;
        for directory in self.path.split(|byte| *byte == b':') {
            self.file.clear();
            if !directory.is_empty() {
                self.file.extend_from_slice(directory);
                self.file.push(b'/');
            }
            self.file.extend_from_slice(&self.name);
            last = execute(&self.file, &mut self.shell_and_args, &self.env);
            match last {
                // It may be a file of another directory that is meant.
                Errno::EACCES => denied = true,
                Errno::ENOENT
                | Errno::ENOTDIR
                | Errno::ESTALE
                | Errno::ENODEV
                | Errno::ETIMEDOUT => {}
                _ => return last,
            }
        }
        if denied { Errno::EACCES } else { last }
    }
}

/// Executes a file, whose path ends with a NUL, or has the shell run it.
fn execute(file: &[u8], shell_and_args: &mut [*const c_char], env: &[*const c_char]) -> Errno {
    let file = file.as_ptr().cast();
    let args = shell_and_args.get(1..).unwrap_or_default();
    let errno = execve(file, args, env);
    let [_, first, ..] = shell_and_args else {
        return errno;
    };
    if errno != Errno::ENOEXEC {
        return errno;
    }
    // The shell takes the file's path in the place of the program's name.
    let name = mem::replace(first, file);
    let errno = execve(SHELL.as_ptr(), shell_and_args, env);
    if let Some(first) = shell_and_args.get_mut(1) {
        *first = name;
    }
    errno
}

fn execve(file: *const c_char, args: &[*const c_char], env: &[*const c_char]) -> Errno {
    // SAFETY: the callers hand over a string that ends with a NUL and lists of such strings that end with
    // a null pointer, all of them alive. Safe wrappers make the lists themselves, which allocates.
    #[allow(unsafe_code)]
    unsafe {
        libc::execve(file, args.as_ptr(), env.as_ptr());
    }
    Errno::last()
}
