use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    Mount, mounts,
    visible_mounts::{top, visible},
};
use crate::{
    effective::Preset,
    files::{Access, Kind, Origin, Place, Places},
    mountinfo::{Mounted, parse},
};

/// Name of the file in an agent's state directory that holds a token that the agent made.
pub const ADMIN_TOKEN: &str = "admin-token";

/// Effect of a mount on its place, which has to be mounted again where it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Commands can't read what is there.
    Hide,
    /// Commands can't write what is there.
    Protect,
    /// Commands can't rename the directory.
    Pin,
    /// Commands have a directory of their own there, in memory, with so many bytes at most.
    Private(Option<u64>),
}

/// Place at which a mount has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Without symbolic links.
    pub path: PathBuf,
    /// What the mount does.
    pub guard: Guard,
}

/// Difference between the mounts of a sandbox and those that its policy needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A mount is gone, as after a rename onto the file that it was on.
    Lost(Guarded),
    /// Something of the machine is mounted that was not there before.
    Appeared(PathBuf),
}

/// Mounts that a sandbox needs, to be compared with those that the kernel lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountCheck {
    guarded: Vec<Guarded>,
    /// State directories of other agents, which are to be hidden.
    state_directories: Vec<Guarded>,
    /// Sockets of other programs, which are to be hidden.
    sockets: Vec<Guarded>,
    hides_sockets: bool,
    workspace: PathBuf,
    /// Everything that is mounted for the policy.
    own: BTreeSet<PathBuf>,
    places: Places,
    /// Those that were there at the last look, by number and device; none before the first.
    known: Option<BTreeSet<(u32, String)>>,
}

impl MountCheck {
    /// Collects the mounts that hold the rules of these places. Private directories have so many bytes at most.
    #[must_use]
    pub fn new(places: &Places, workspace: &Path, private_size: Option<u64>) -> Self {
        let mounts = mounts(places);
        let own = mounts.iter().filter_map(Mount::path).chain([Path::new("/")]);
        let own = own.map(Path::to_owned).collect();
        let guarded = |mount| guarded(mount, places, private_size);
        let guarded = mounts.into_iter().filter_map(guarded).collect();
        let (places, workspace) = (places.clone(), workspace.to_owned());
        Self { guarded, workspace, own, places, ..Self::default() }
    }

    /// Has sockets that other programs listen on be hidden, but in the workspace.
    #[must_use]
    pub fn without_sockets(self) -> Self {
        Self { hides_sockets: true, ..self }
    }

    /// Whether sockets are to be hidden.
    #[must_use]
    pub fn hides_sockets(&self) -> bool {
        self.hides_sockets
    }

    /// Whether sockets in a directory without symbolic links are to be hidden: those in the workspace, and in directories of the sandbox's own,
    /// are not.
    #[must_use]
    pub fn hides_sockets_in(&self, directory: &Path) -> bool {
        self.hides_sockets && !directory.starts_with(&self.workspace) && self.is_visible(directory)
    }

    /// Returns whether commands see what this machine has at a path.
    fn is_visible(&self, path: &Path) -> bool {
        !["/proc", "/dev"].iter().any(|own| path.starts_with(own))
            && self.places.access(path) > Access::Private
    }

    /// Takes the state directories of the other agents that run now, without symbolic links. Of one
    /// with the workspace or a mount of the policy in it, the file with the token is hidden.
    pub fn set_state_directories(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        let holds_own = |directory: &Path| {
            let own = self.own.iter().chain([&self.workspace]);
            own.into_iter().any(|own| own.starts_with(directory))
        };
        let hidden = directories.into_iter().map(|directory| {
            if holds_own(&directory) { directory.join(ADMIN_TOKEN) } else { directory }
        });
        let hidden = hidden.filter(|path| self.is_visible(path) && !self.own.contains(path));
        self.state_directories = hidden.map(|path| Guarded { path, guard: Guard::Hide }).collect();
    }

    /// Takes the sockets that there are now, without symbolic links. A rule for the very file of one decides. Those in a state directory are
    /// hidden with that.
    pub fn set_sockets(&mut self, sockets: impl IntoIterator<Item = PathBuf>) {
        let is_hidden = |path: &PathBuf| {
            let mut directories = self.state_directories.iter();
            self.hides_sockets_in(path)
                && !self.own.contains(path)
                && !directories.any(|directory| path.starts_with(&directory.path))
        };
        let guarded = |path| Guarded { path, guard: Guard::Hide };
        self.sockets = sockets.into_iter().filter(is_hidden).map(guarded).collect();
    }

    /// Places at which a mount has to be, each behind those that it lies in.
    pub fn guarded(&self) -> impl Iterator<Item = &Guarded> {
        self.guarded.iter().chain(&self.state_directories).chain(&self.sockets)
    }

    /// Lists those of these paths at which something has to be there, since commands could make it: directories that they may not write, and
    /// their own. An empty directory disturbs few outside, as an empty file would: programs would read it, and git see a change. Settings of
    /// tools are left out: an editor that makes its directory anew is to find none.
    pub fn to_replace<'a>(&'a self, absent: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
        let is_kept = |guard| matches!(guard, Guard::Protect | Guard::Private(_));
        let is_directory = |path: &Path| {
            let is_kept = |place: &Place| {
                let is_setting = place.rule.origin == Origin::Preset(Preset::ToolSettings);
                place.path == path && place.kind == Kind::Directory && !is_setting
            };
            self.places.iter().any(is_kept)
        };
        let kept = self.guarded.iter().filter(move |guarded| is_kept(guarded.guard));
        let kept = kept.map(|guarded| guarded.path.as_path());
        kept.filter(move |path| absent.iter().any(|absent| absent == path) && is_directory(path))
    }

    /// Compares the mounts that a `mountinfo` lists with those that are needed. Lost ones come in the order in which they are to
    /// be mounted again.
    #[must_use]
    pub fn faults(&self, mountinfo: &[u8]) -> Vec<Fault> {
        let mounted = visible(parse(mountinfo));
        let top = top(&mounted);
        let appeared = mounted.iter().filter(|mounted| self.is_foreign(mounted));
        let appeared = appeared.map(|mounted| Fault::Appeared(mounted.point.clone()));
        let holds = |guarded: &Guarded| {
            top.get(&*guarded.path).is_some_and(|mounted| match guarded.guard {
                Guard::Hide | Guard::Protect => mounted.is_read_only,
                Guard::Private(_) => !mounted.is_read_only,
                Guard::Pin => true,
            })
        };
        let lost = self.guarded().filter(|guarded| !holds(guarded));
        appeared.chain(lost.cloned().map(Fault::Lost)).collect()
    }

    /// Takes what is mounted now as what belongs there.
    pub fn accept(&mut self, mountinfo: &[u8]) {
        let mounted = parse(mountinfo).into_iter();
        self.known = Some(mounted.map(|mounted| (mounted.id, mounted.device)).collect());
    }

    /// Takes what is mounted now at one of these paths, and below it, as what belongs there: it was mounted for the policy. Returns the
    /// numbers of these mounts.
    pub fn accept_at(&mut self, mountinfo: &[u8], paths: &BTreeSet<PathBuf>) -> BTreeSet<u32> {
        let is_at = |mounted: &Mounted| mounted.point.ancestors().any(|path| paths.contains(path));
        let mounted: Vec<_> = parse(mountinfo).into_iter().filter(is_at).collect();
        let ids = mounted.iter().map(|mounted| mounted.id).collect();
        if let Some(known) = &mut self.known {
            known.extend(mounted.into_iter().map(|mounted| (mounted.id, mounted.device)));
        }
        ids
    }

    /// Whether a mount gives commands something that the policy does not, or came later than the sandbox.
    fn is_foreign(&self, mounted: &Mounted) -> bool {
        // They are the sandbox's own.
        if ["/proc", "/dev"].iter().any(|own| mounted.point.starts_with(own)) {
            return false;
        }
        if let Some(known) = &self.known {
            return !known.contains(&(mounted.id, mounted.device.clone()));
        }
        let is_allowed = match self.places.access(&mounted.point) {
            Access::Hide | Access::Private => false,
            Access::Read => mounted.is_read_only,
            Access::Write => true,
        };
        !is_allowed && !self.own.contains(&mounted.point)
    }
}

fn guarded(mount: Mount, places: &Places, private_size: Option<u64>) -> Option<Guarded> {
    let is_place = |path: &Path| places.deciding(path).is_some_and(|place| place.path == path);
    let (path, guard) = match mount {
        Mount::Read(path) => (path, Guard::Protect),
        Mount::EmptyDirectory(path) if places.access(&path) == Access::Read => {
            (path, Guard::Protect)
        }
        Mount::EmptyDirectory(path) | Mount::NoFile(path) => (path, Guard::Hide),
        Mount::Private(path) => (path, Guard::Private(private_size)),
        Mount::Write(path) if !is_place(&path) => (path, Guard::Pin),
        Mount::Write(_) | Mount::Device(_) | Mount::Proc | Mount::Dev => return None,
    };
    (path != Path::new("/")).then_some(Guarded { path, guard })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FileRule, IfMissing, Origin, Place};
    use crate::walls::writable_places;

    fn places(rules: &[(&str, Access, Kind)]) -> Places {
        rules.iter().fold(Places::default(), |places, (path, access, kind)| {
            let rule = FileRule {
                access: *access,
                path: path.parse().unwrap(),
                origin: Origin::Policy,
                if_missing: IfMissing::Fail,
            };
            places.with(Place { path: path.into(), kind: *kind, exists: true, rule })
        })
    }

    fn check() -> MountCheck {
        let places = places(&[
            ("/", Access::Read, Kind::Directory),
            ("/home/u/.ssh", Access::Hide, Kind::Directory),
            ("/run", Access::Hide, Kind::Directory),
            ("/tmp", Access::Private, Kind::Directory),
            ("/work", Access::Write, Kind::Directory),
            ("/work/a/.env", Access::Hide, Kind::File),
            ("/work/policy.json", Access::Read, Kind::File),
        ]);
        MountCheck::new(&places, Path::new("/work"), Some(1 << 20))
    }

    /// Number, the mount that it is on, place, options.
    const MOUNTED: &[(u32, u32, &str, &str)] = &[
        (1, 0, "/", "ro,nosuid"),
        (2, 1, "/run/user", "rw"),
        (3, 1, "/mnt", "ro"),
        (4, 1, "/dev", "ro"),
        (5, 1, "/proc", "rw"),
        (6, 1, "/home/u/.ssh", "ro"),
        (7, 1, "/run", "ro"),
        (8, 1, "/tmp", "rw"),
        (10, 1, "/work", "rw"),
        (11, 10, "/work/a", "rw"),
        (12, 11, "/work/a/.env", "ro"),
        (13, 10, "/work/policy.json", "ro"),
    ];

    fn mountinfo(mounted: &[(u32, u32, &str, &str)]) -> Vec<u8> {
        let line = |(id, parent, path, options): &(u32, u32, &str, &str)| {
            format!("{id} {parent} 0:{id} /root {path} {options} master:1 - ext4 /dev/x rw\n")
        };
        mounted.iter().map(line).collect::<String>().into_bytes()
    }

    fn without(ids: &[u32]) -> Vec<u8> {
        let kept = MOUNTED.iter().filter(|(id, ..)| !ids.contains(id));
        mountinfo(&kept.copied().collect::<Vec<_>>())
    }

    fn with(more: (u32, u32, &'static str, &'static str)) -> Vec<u8> {
        mountinfo(&[MOUNTED, &[more]].concat())
    }

    fn lost(path: &str, guard: Guard) -> Fault {
        Fault::Lost(Guarded { path: path.into(), guard })
    }

    #[test]
    fn accepts_what_the_policy_needs_and_what_it_covers() {
        assert_eq!(check().faults(&mountinfo(MOUNTED)), []);
    }

    #[test]
    fn finds_lost_mounts_with_outer_ones_first() {
        let expected = [lost("/work/a", Guard::Pin), lost("/work/a/.env", Guard::Hide)];
        assert_eq!(check().faults(&without(&[11, 12])), expected);
        let expected = [lost("/work/policy.json", Guard::Protect)];
        assert_eq!(check().faults(&without(&[13])), expected);
        assert_eq!(check().faults(&without(&[8])), [lost("/tmp", Guard::Private(Some(1 << 20)))]);
        // It has gone with its file to another name.
        let moved: Vec<_> = MOUNTED
            .iter()
            .map(|mount| if mount.0 == 13 { (13, 10, "/work/policy.json~", "ro") } else { *mount })
            .collect();
        assert_eq!(check().faults(&mountinfo(&moved)), expected);
    }

    #[test]
    fn a_mount_that_may_be_written_protects_nothing() {
        let faults = check().faults(&with((20, 13, "/work/policy.json", "rw")));
        assert_eq!(faults, [lost("/work/policy.json", Guard::Protect)]);
        // On top of it a covering one counts, and none that is covered.
        assert_eq!(check().faults(&with((20, 1, "/work/policy.json", "rw"))), []);
    }

    #[test]
    fn what_may_be_written_is_what_no_mount_on_top_forbids() {
        let writable = |mountinfo: &[u8]| {
            let mut paths = writable_places(mountinfo);
            paths.sort();
            paths
        };
        let expected = ["/proc", "/tmp", "/work", "/work/a"].map(PathBuf::from);
        assert_eq!(writable(&mountinfo(MOUNTED)), expected);
        let expected = ["/proc", "/tmp", "/work"].map(PathBuf::from);
        assert_eq!(writable(&with((20, 11, "/work/a", "ro"))), expected);
    }

    #[test]
    fn hides_sockets_of_other_programs() {
        let sockets = [
            "/home/u/tmux",
            "/home/u/.ssh/agent",
            "/tmp/own",
            "/work/a/own",
            "/work/policy.json",
            "/dev/log",
        ];
        let sockets = || sockets.iter().map(PathBuf::from);
        let mut check = check();
        check.set_sockets(sockets());
        assert_eq!(check.faults(&mountinfo(MOUNTED)), []);
        let mut check = check.without_sockets();
        check.set_sockets(sockets());
        assert_eq!(check.faults(&mountinfo(MOUNTED)), [lost("/home/u/tmux", Guard::Hide)]);
        assert_eq!(check.faults(&with((20, 1, "/home/u/tmux", "ro"))), []);
        check.set_sockets([]);
        assert_eq!(check.faults(&mountinfo(MOUNTED)), []);
    }

    #[test]
    fn hides_state_directories_of_other_agents() {
        let mut check = check();
        for (directory, hidden) in [
            ("/home/u/state", Some("/home/u/state")),
            ("/work/a/state", Some("/work/a/state")),
            // The workspace stays.
            ("/work", Some("/work/admin-token")),
            ("/", Some("/admin-token")),
            // Commands don't see them.
            ("/home/u/.ssh/state", None),
            ("/tmp/state", None),
        ] {
            check.set_state_directories([directory.into()]);
            let expected = hidden.map(|path| lost(path, Guard::Hide));
            assert_eq!(
                check.faults(&mountinfo(MOUNTED)),
                expected.into_iter().collect::<Vec<_>>(),
                "{directory}"
            );
        }
        check.set_state_directories(["/home/u/state".into()]);
        assert_eq!(check.faults(&with((20, 1, "/home/u/state", "ro"))), []);
    }

    #[test]
    fn finds_what_gives_more_than_the_policy() {
        for (path, options, is_fault) in [
            ("/media/usb", "rw", true),
            ("/media/usb", "ro", false),
            ("/dev/shm", "rw", false),
            ("/proc/sys/fs", "rw", false),
        ] {
            let faults = check().faults(&with((20, 1, path, options)));
            let expected = is_fault.then(|| Fault::Appeared(path.into()));
            assert_eq!(faults, expected.into_iter().collect::<Vec<_>>(), "{path} {options}");
        }
        let in_hidden = with((20, 7, "/run/user", "ro"));
        assert_eq!(check().faults(&in_hidden), [Fault::Appeared("/run/user".into())]);
    }

    #[test]
    fn finds_whatever_comes_later() {
        let mut check = check();
        check.accept(&mountinfo(MOUNTED));
        assert_eq!(check.faults(&mountinfo(MOUNTED)), []);
        for path in ["/media/usb", "/work/data"] {
            let later = with((20, 1, path, "ro"));
            let is_visible = path != "/work/data";
            let expected = is_visible.then(|| Fault::Appeared(path.into()));
            assert_eq!(check.faults(&later), expected.into_iter().collect::<Vec<_>>());
        }
        let later = with((20, 10, "/work/data", "rw"));
        assert_eq!(check.accept_at(&later, &["/work/dat".into()].into()), [].into());
        assert_eq!(check.faults(&later), [Fault::Appeared("/work/data".into())]);
        assert_eq!(check.accept_at(&later, &["/work/data".into()].into()), [20].into());
        assert_eq!(check.faults(&later), []);
    }
}
