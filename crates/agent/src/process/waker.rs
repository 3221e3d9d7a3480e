use std::{
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

use nix::{
    errno::Errno,
    sys::eventfd::{EfdFlags, EventFd},
};
use rustix::event::epoll;

/// What is always ready to be read, for all wakers. It takes one descriptor, and a waker none.
static READY: Mutex<Option<Arc<EventFd>>> = Mutex::new(None);

/// Wakes the thread that waits at an epoll instance.
#[derive(Debug)]
pub(crate) struct Waker {
    queue: Arc<OwnedFd>,
    ready: Arc<EventFd>,
    key: u64,
}

impl Waker {
    /// One whose events have that key.
    pub(super) fn new(queue: &Arc<OwnedFd>, key: u64) -> Result<Self, Errno> {
        let waker = Self { queue: Arc::clone(queue), ready: ready()?, key };
        epoll::add(queue, &waker.ready, waker.data(), epoll::EventFlags::empty()).map_err(errno)?;
        Ok(waker)
    }

    /// Wakes it, now or as soon as it waits. It takes nothing that could be used up.
    pub(crate) fn wake(&self) {
        // It is told once, and not again before the next time (epoll_ctl(2), EPOLLONESHOT).
        let once = epoll::EventFlags::IN | epoll::EventFlags::ONESHOT;
        // That can only fail for what was not added before.
        let _added = epoll::modify(&self.queue, &self.ready, self.data(), once);
    }

    fn data(&self) -> epoll::EventData {
        epoll::EventData::new_u64(self.key)
    }
}

fn ready() -> Result<Arc<EventFd>, Errno> {
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(ready) = &*ready {
        return Ok(Arc::clone(ready));
    }
    let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
    let made = Arc::new(EventFd::from_value_and_flags(1, flags)?);
    Ok(Arc::clone(ready.insert(made)))
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use rustix::event::Timespec;

    use super::*;

    #[test]
    fn each_time_that_it_wakes_ends_one_wait() {
        let queue = || Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
        let (queue, other) = (queue(), queue());
        let (waker, _other) = (Waker::new(&queue, 3).unwrap(), Waker::new(&other, 3).unwrap());
        let woken = |queue: &OwnedFd| {
            let mut room = [const { MaybeUninit::uninit() }; 4];
            let (events, _) = epoll::wait(queue, &mut room, Some(&Timespec::default())).unwrap();
            events.iter().map(|event| event.data.u64()).collect::<Vec<u64>>()
        };
        for _ in 0..2 {
            assert!(woken(&queue).is_empty());
            waker.wake();
            waker.wake();
            assert_eq!(woken(&queue), [3]);
        }
        assert!(woken(&queue).is_empty());
        assert!(woken(&other).is_empty());
    }
}
