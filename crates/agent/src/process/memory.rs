//! Where the agent's memory has a limit, as by `ulimit -v`, it ends with the next bit that it needs, and
//! all commands with it. What needs much is refused before.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use nix::{
    errno::Errno,
    sys::resource::{RLIM_INFINITY, Resource, getrlimit},
    unistd::{SysconfVar, sysconf},
};

/// How many bytes are left in any case: so much may be taken to observe those commands that run, and
/// to answer clients.
const RESERVE: usize = 32 * 1024 * 1024;

/// How many bytes were promised and may not have been taken yet.
static PROMISED: AtomicUsize = AtomicUsize::new(0);

/// What tells how much the agent has. It stays open: at a limit on descriptors it could not be opened any
/// more. None where the system has no such file.
static STATM: OnceLock<Option<File>> = OnceLock::new();

/// Opens what tells how much memory the agent has.
pub(crate) fn open_statm() -> Option<&'static File> {
    STATM.get_or_init(|| File::open("/proc/self/statm").ok()).as_ref()
}

/// Memory that may be taken, until it is dropped: by then it is taken, or not needed.
#[derive(Debug)]
pub(crate) struct Memory(usize);

impl Memory {
    /// Promises so many bytes.
    ///
    /// # Errors
    /// `ENOMEM` where there are not so many, beside what others were promised.
    pub(crate) fn promise(bytes: usize) -> Result<Self, Errno> {
        let (limit, _) = getrlimit(Resource::RLIMIT_AS)?;
        if limit == RLIM_INFINITY {
            return Ok(Self(0));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // What is taken is read after what is promised: between the two a promise may be counted twice,
        // and is never left out.
        let more = |promised: usize| {
            let promised = promised.saturating_add(bytes);
            let taken = taken().unwrap_or_default();
            fits(limit, taken, promised).then_some(promised)
        };
        let promised = PROMISED.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        promised.map(|_| Self(bytes)).map_err(|_| Errno::ENOMEM)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        PROMISED.fetch_sub(self.0, Ordering::AcqRel);
    }
}

fn fits(limit: usize, taken: usize, promised: usize) -> bool {
    limit.saturating_sub(taken).checked_sub(RESERVE).is_some_and(|free| promised <= free)
}

/// How many bytes of address space the agent has; `None` where the system does not say.
fn taken() -> Option<usize> {
    let mut buffer = [0; 128];
    let len = open_statm()?.read_at(&mut buffer, 0).ok()?;
    let page = usize::try_from(sysconf(SysconfVar::PAGE_SIZE).ok()??).ok()?;
    // proc(5), /proc/pid/statm: the first number is the size in pages.
    let text = str::from_utf8(buffer.get(..len)?).ok()?;
    text.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(page)
}

#[cfg(test)]
mod tests {
    use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    use super::*;

    #[test]
    fn a_reserve_is_left_beside_what_was_promised() {
        const MIB: usize = 1 << 20;
        assert!(fits(100 * MIB, 60 * MIB, 8 * MIB));
        assert!(!fits(100 * MIB, 60 * MIB, 8 * MIB + 1));
        assert!(!fits(100 * MIB, 101 * MIB, 0));
        assert!(!fits(usize::MAX, 0, usize::MAX));
    }

    #[test]
    fn what_is_taken_grows_with_what_is_mapped() {
        // Far more than what other tests give back meanwhile. None of it is used.
        const BLOCK: usize = 64 << 30;
        let before = taken().unwrap();
        let (prot, flags) = (ProtFlags::PROT_NONE, MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE);
        // SAFETY: nobody has the block but this test.
        #[allow(unsafe_code)]
        let block = unsafe { mmap_anonymous(None, BLOCK.try_into().unwrap(), prot, flags) };
        let block = block.unwrap();
        assert!(taken().unwrap() >= before + BLOCK / 2);
        // SAFETY: it is the block, and nothing is in it.
        #[allow(unsafe_code)]
        unsafe { munmap(block, BLOCK) }.unwrap();
    }
}
