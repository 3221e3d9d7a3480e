use std::io;

use nix::{errno::Errno, libc};

/// Closes all but the standard streams. What has owned the others is not to be dropped any more.
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: nothing of this process that is dropped owns a descriptor.
    #[allow(unsafe_code)]
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    match Errno::result(closed) {
        Ok(_) => Ok(()),
        Err(Errno::ENOSYS) => close_one_by_one(),
        Err(errno) => Err(errno.into()),
    }
}

/// The same before Linux 5.9.
fn close_one_by_one() -> io::Result<()> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let open: Vec<i32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: nothing of this process owns it. That of the directory is closed already.
        #[allow(unsafe_code)]
        unsafe {
            libc::close(descriptor);
        }
    }
    Ok(())
}
