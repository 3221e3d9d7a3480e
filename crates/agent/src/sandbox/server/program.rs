use std::ffi::{CStr, CString};

use nix::{
    errno::Errno,
    unistd::{AccessFlags, access, execve},
};

/// What runs a file that the system can't execute by itself.
const SHELL: &CStr = c"/bin/sh";
/// Where programs are looked for if there is no `PATH`, as the C library does it.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// Replaces this process by a program, or says why it can't. It is looked for as by `execvp`: a name without a slash in the
/// directories of `PATH`, and a file without a format that the system knows is a script (POSIX, exec).
pub(super) fn execute(args: &[CString], env: &[&CStr]) -> Errno {
    let Some(name) = args.first() else {
        return Errno::ENOENT;
    };
    if name.as_bytes().contains(&b'/') {
        return execute_file(name, args, env);
    }
    let path = env.iter().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="));
    let mut denied = false;
    for directory in path.unwrap_or(DEFAULT_PATH).split(|byte| *byte == b':') {
        // One that is empty is the current directory.
        let file = match directory {
            [] => name.clone(),
            directory => {
                let file = [directory, b"/", name.as_bytes()].concat();
                CString::new(file).unwrap_or_default()
            }
        };
        match execute_file(&file, args, env) {
            // It may be a file of another directory that is meant. The system says this also of a directory that can't be looked into.
            Errno::EACCES => denied |= access(file.as_c_str(), AccessFlags::F_OK).is_ok(),
            Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE | Errno::ENODEV | Errno::ETIMEDOUT => {}
            errno => return errno,
        }
    }
    if denied { Errno::EACCES } else { Errno::ENOENT }
}

/// Executes a file, or has the shell run it.
fn execute_file(file: &CStr, args: &[CString], env: &[&CStr]) -> Errno {
    let Err(errno) = execve(file, args, env);
    if errno != Errno::ENOEXEC {
        return errno;
    }
    // The shell takes the file's path in the place of the program's name.
    let args: Vec<&CStr> =
        [SHELL, file].into_iter().chain(args.iter().skip(1).map(CString::as_c_str)).collect();
    let Err(errno) = execve(SHELL, &args, env);
    errno
}
