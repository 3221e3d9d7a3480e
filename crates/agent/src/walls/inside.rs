//! What a box does about its walls from within: it learns of them by its arguments.

use std::{
    env,
    fs::{self, File},
    io,
    os::fd::{FromRawFd, RawFd},
    path::PathBuf,
    sync::OnceLock,
};

use nix::{
    errno::Errno,
    sys::resource::{Resource, setrlimit},
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use sandpipe_policy::walls::{
    Held, Mechanism, PLACES, RLimit, keep_from_clone3, keep_from_openat2,
    keep_from_sockets_and_pipes, writable_places,
};

use super::same_places;

/// What a box is told of its walls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inside {
    /// There are some.
    pub(super) has_walls: bool,
    /// What each process of a command may use.
    pub(super) limits: Vec<(Limit, u64)>,
    /// The descriptor from which it reads what is to be mounted.
    places: Option<RawFd>,
}

/// A limit of each process that a box sets. That on open files is part of each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    CpuTime,
    FileSize,
    Processes,
    Data,
}

/// File system of cgroups of version 2 (`CGROUP2_SUPER_MAGIC` of `linux/magic.h`).
const CGROUPS: i128 = 0x6367_7270;

const LIMITS: [(&str, Limit, Resource); 4] = [
    ("cpu-time", Limit::CpuTime, Resource::RLIMIT_CPU),
    ("file-size", Limit::FileSize, Resource::RLIMIT_FSIZE),
    ("processes", Limit::Processes, Resource::RLIMIT_NPROC),
    ("data", Limit::Data, Resource::RLIMIT_DATA),
];

/// That of this process, if it is a box. The child that becomes a command has a copy.
static INSIDE: OnceLock<Inside> = OnceLock::new();

impl Inside {
    pub(super) fn new(has_walls: bool, held: &[Held]) -> Self {
        let limit = |held: &Held| {
            let limit = match held.mechanism {
                Mechanism::Process(RLimit::CpuTime) => Limit::CpuTime,
                Mechanism::Process(RLimit::FileSize) => Limit::FileSize,
                // The box is one of those that are counted.
                Mechanism::Process(RLimit::Processes) => {
                    return Some((Limit::Processes, held.value.saturating_add(1)));
                }
                Mechanism::Process(RLimit::Data) => Limit::Data,
                Mechanism::Process(RLimit::OpenFiles) | Mechanism::Cgroup | Mechanism::Agent => {
                    return None;
                }
            };
            Some((limit, held.value))
        };
        let limits = held.iter().filter_map(limit).collect();
        Self { has_walls, limits, places: None }
    }

    /// What a box is started with behind its role.
    pub(super) fn arguments(&self) -> Vec<String> {
        let walls = self.has_walls.then(|| "--walls".to_owned());
        let limits = self.limits.iter().filter_map(|(limit, value)| {
            let (name, ..) = LIMITS.iter().find(|(_, known, _)| known == limit)?;
            Some(format!("--limit={name}={value}"))
        });
        walls.into_iter().chain(limits).collect()
    }

    fn parse(arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut inside = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--walls" => inside.has_walls = true,
                places if places.starts_with(PLACES) => {
                    let number = places.strip_prefix(PLACES)?.parse().ok()?;
                    inside.places = Some(number).filter(|number| *number > 2);
                }
                limit => {
                    let (name, value) = limit.strip_prefix("--limit=")?.split_once('=')?;
                    let (_, limit, _) = LIMITS.iter().find(|(known, ..)| *known == name)?;
                    inside.limits.push((*limit, value.parse().ok()?));
                }
            }
        }
        Some(inside)
    }
}

/// Reads what a box was told, and looks that what is mounted in it is what was to be. Called before it closes what it inherits.
///
/// # Errors
/// It was told something that it does not know, or something else is mounted.
pub(crate) fn begin_box() -> io::Result<()> {
    let arguments = env::args_os().skip(2).map(|argument| argument.to_string_lossy().into_owned());
    let inside = Inside::parse(arguments)
        .ok_or_else(|| io::Error::other("a box was started with what it does not know"))?;
    if let Some(places) = inside.places {
        // SAFETY: it is the descriptor that the box was started with, and nothing else has it.
        #[allow(unsafe_code)]
        same_places::check(unsafe { File::from_raw_fd(places) })?;
    }
    // There is one box a process.
    let _set = INSIDE.set(inside);
    Ok(())
}

/// Finds the file system of cgroups of version 2, where a policy does not hide it.
fn cgroups() -> Option<PathBuf> {
    sandpipe_policy::effective::CGROUPS.map(PathBuf::from).into_iter().find(|place| {
        rustix::fs::statfs(place).is_ok_and(|system| i128::from(system.f_type) == CGROUPS)
    })
}

/// Returns whether the machine has cgroups of version 2 (cgroups(7)).
fn has_cgroups() -> bool {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    own.lines().any(|line| line.starts_with("0::"))
}

/// Prepares a box before its first command.
///
/// # Errors
/// The system refuses what is asked for.
pub(crate) fn prepare_box() -> io::Result<()> {
    let Some(inside) = INSIDE.get() else {
        return Ok(());
    };
    if inside.has_walls {
        let mut writable = writable_places(&fs::read("/proc/self/mountinfo")?);
        // Its devices are there to be written, although nothing can be made in it.
        writable.push("/dev".into());
        match cgroups() {
            // In cgroups this process alone writes, to kill commands: by a descriptor of the agent's.
            Some(cgroups) => writable.push(cgroups),
            // The rule can't be made, and commands could not be stopped.
            None if has_cgroups() => writable.clear(),
            None => {}
        }
        keep_from_sockets_and_pipes(&writable).map_err(io::Error::other)?;
        empty_bounding_set()?;
    }
    Ok(())
}

/// Empties the set of capabilities that any program may ever get, for this process and all that it starts. What root's box has it keeps, but
/// for that which this takes; the box of another user has none.
fn empty_bounding_set() -> io::Result<()> {
    let mut own = capabilities(None)?;
    if !own.effective.contains(CapabilitySet::SETPCAP) {
        return Ok(());
    }
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(capability) {
            Ok(true) => remove_capability_from_bounding_set(capability)?,
            Ok(false) => {}
            // The kernel has no more.
            Err(_) => break,
        }
    }
    for set in [&mut own.effective, &mut own.permitted, &mut own.inheritable] {
        set.remove(CapabilitySet::SETPCAP);
    }
    Ok(set_capabilities(None, own)?)
}

/// Takes from the child that is to become a command what the box alone needs, and sets its limits. Called after the change of the user.
///
/// # Errors
/// The system refuses.
pub(crate) fn confine_command() -> Result<(), Errno> {
    let Some(inside) = INSIDE.get() else {
        return Ok(());
    };
    for (limit, value) in &inside.limits {
        for (_, _, resource) in LIMITS.iter().filter(|(_, known, _)| known == limit) {
            // At the soft one a process is told which limit it was, a second later it is killed.
            let hard = if *limit == Limit::CpuTime { value.saturating_add(1) } else { *value };
            setrlimit(*resource, *value, hard)?;
        }
    }
    drop_rights(inside)?;
    if inside.has_walls {
        keep_from_openat2().map_err(|_| Errno::last())?;
    }
    Ok(())
}

/// The same for a child that is to become a worker: what it does for clients is not limited as a command's processes are, and openat2
/// keeps it in a directory.
///
/// # Errors
/// The system refuses.
pub(crate) fn confine_worker() -> Result<(), Errno> {
    INSIDE.get().map_or(Ok(()), drop_rights)
}

fn drop_rights(inside: &Inside) -> Result<(), Errno> {
    if inside.has_walls {
        // The box of root may become other users. With `no_new_privs`, which bubblewrap has set, execve gives nothing back.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        keep_from_clone3().map_err(|_| Errno::last())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_told_what_it_was_to_be_told() {
        let inside = Inside {
            has_walls: true,
            limits: vec![(Limit::CpuTime, 2), (Limit::Processes, 513), (Limit::FileSize, 1 << 40)],
            places: Some(7),
        };
        let arguments = inside.arguments().into_iter().chain(["--places=7".to_owned()]);
        assert_eq!(Inside::parse(arguments), Some(inside));
        assert_eq!(Inside::parse([].into_iter()), Some(Inside::default()));
        for wrong in [
            "",
            "--wall",
            "--places=",
            "--places=x",
            "--limit=cpu-time",
            "--limit=cpu-time=",
            "--limit=x=1",
        ] {
            assert_eq!(Inside::parse([wrong.to_owned()].into_iter()), None, "{wrong}");
        }
    }
}
