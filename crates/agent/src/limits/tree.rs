use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use nix::errno::Errno;
use sandpipe_policy::walls::{Held, Mechanism};

use super::{
    controllers::names,
    group::{LimitGroup, enable},
};
use crate::cgroups::{self, OwnedCgroup};

const LIMITS: &str = "limits";
const AGENT: &str = "agent";
/// How long what is killed at the end may take to be gone. Only the system itself can hold it up.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// The cgroups of an agent; none until a policy needs some. All that was changed is as before when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct LimitTree(Mutex<Option<Tree>>);

#[derive(Debug)]
struct Tree {
    /// The one that the agent was started in.
    own: PathBuf,
    /// The one that it has moved to.
    moved_to: Option<OwnedCgroup>,
    top: OwnedCgroup,
    /// Those that hold limits.
    controllers: Vec<&'static str>,
    /// Those that others had not enabled before.
    enabled: Vec<&'static str>,
    /// How many groups there have been.
    groups: u64,
}

impl LimitTree {
    /// The controllers among these by which limits can be held.
    pub(crate) fn controllers(&self, needed: &[&'static str]) -> Vec<String> {
        if needed.is_empty() {
            return Vec::new();
        }
        let mut tree = self.tree();
        if tree.is_none() {
            *tree = Tree::make(needed)
                .inspect_err(|error| tracing::debug!(%error, "no cgroup can be made"))
                .ok();
        }
        let Some(tree) = tree.as_mut() else {
            return Vec::new();
        };
        for controller in needed {
            if let Err(error) = tree.enable(controller) {
                tracing::debug!(%error, controller, "a controller can't be used");
            }
        }
        let usable = needed.iter().filter(|controller| tree.controllers.contains(controller));
        usable.map(|controller| (*controller).to_owned()).collect()
    }

    /// Makes the cgroup of a policy, within that of a wider one; `None` where none of its limits is held so.
    ///
    /// # Errors
    /// The system refuses a limit.
    pub(crate) fn group(
        &self,
        held: &[Held],
        wider: Option<&Arc<LimitGroup>>,
    ) -> io::Result<Option<Arc<LimitGroup>>> {
        if !held.iter().any(|held| held.mechanism == Mechanism::Cgroup) {
            return Ok(None);
        }
        let mut tree = self.tree();
        let tree = tree.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let parent = wider.map_or(tree.top.path(), |wider| wider.path());
        enable(parent, &tree.controllers)?;
        let path = parent.join(format!("policy-{}", tree.groups));
        tree.groups += 1;
        LimitGroup::make(path, held, &tree.controllers, wider.cloned()).map(Some)
    }

    /// Ends what is left in them, and removes them.
    pub(crate) fn remove(&self) {
        if let Some(tree) = self.tree().take() {
            tree.remove();
        }
    }

    fn tree(&self) -> MutexGuard<'_, Option<Tree>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LimitTree {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Tree {
    /// Makes a cgroup, where one of these controllers may be there.
    fn make(needed: &[&'static str]) -> io::Result<Self> {
        let own = cgroups::own().ok_or(io::ErrorKind::NotFound)?;
        let available = fs::read_to_string(own.join("cgroup.controllers"))?;
        if !needed.iter().any(|controller| names(&available, controller)) {
            return Err(io::Error::other("it has no controller"));
        }
        let top = OwnedCgroup::make(LIMITS)?;
        let (controllers, enabled) = (Vec::new(), Vec::new());
        Ok(Self { own, moved_to: None, top, controllers, enabled, groups: 0 })
    }

    /// Has a controller hold limits below it.
    fn enable(&mut self, controller: &'static str) -> io::Result<()> {
        if self.controllers.contains(&controller) {
            return Ok(());
        }
        let before = fs::read_to_string(self.own.join("cgroup.subtree_control"))?;
        if !names(&before, controller) {
            self.enable_in_own(controller)?;
            self.enabled.push(controller);
        }
        enable(self.top.path(), &[controller])?;
        self.controllers.push(controller);
        Ok(())
    }

    fn enable_in_own(&mut self, controller: &str) -> io::Result<()> {
        let is_busy = |error: &io::Error| error.raw_os_error() == Some(Errno::EBUSY as i32);
        match enable(&self.own, &[controller]) {
            // Only the root of all cgroups may have processes itself.
            Err(error) if is_busy(&error) && self.moved_to.is_none() => {
                let place = OwnedCgroup::make(AGENT)?;
                let enabled = enter(place.path()).and_then(|()| enable(&self.own, &[controller]));
                if enabled.is_ok() {
                    self.moved_to = Some(place);
                } else {
                    // Others are there, too.
                    let _left = enter(&self.own).and_then(|()| fs::remove_dir(place.path()));
                }
                enabled
            }
            enabled => enabled,
        }
    }

    fn remove(&self) {
        let deadline = Instant::now() + END_TIMEOUT;
        retry_until(deadline, || {
            if cgroups::is_populated(self.top.path()) {
                cgroups::kill(self.top.path())?;
            }
            cgroups::remove(self.top.path())
        });
        for controller in &self.enabled {
            // It stays where another has come to use it.
            let _used =
                fs::write(self.own.join("cgroup.subtree_control"), format!("-{controller}"));
        }
        if let Some(place) = &self.moved_to
            && enter(&self.own).is_ok()
        {
            retry_until(deadline, || fs::remove_dir(place.path()));
        }
    }
}

/// Moves this process to a cgroup.
fn enter(cgroup: &Path) -> io::Result<()> {
    fs::write(cgroup.join("cgroup.procs"), "0")
}

fn retry_until(deadline: Instant, mut work: impl FnMut() -> io::Result<()>) {
    while let Err(error) = work() {
        if Instant::now() >= deadline {
            tracing::warn!(%error, "a cgroup can't be removed");
            return;
        }
        sleep(PAUSE);
    }
}
