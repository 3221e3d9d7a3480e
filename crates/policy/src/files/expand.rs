use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, Kind, Origin, Place, Placeholder, Places,
    pattern::{Segment, Start},
    resolve::{Resolved, resolve},
};
use crate::{effective::Preset, machine::user, wildcard};

/// What the paths of a policy begin at.
#[derive(Clone, Debug)]
pub struct Roots {
    /// The workspace, without symbolic links.
    pub workspace: PathBuf,
    /// What `~` is, without symbolic links; behind it other homes of the same user, whose secrets are hidden too, as the one of
    /// the user database where `HOME` is another.
    pub homes: Vec<PathBuf>,
    /// The homes of other users whom commands may be run as: what is hidden in `~` is hidden there, too.
    pub homes_of_others: Vec<PathBuf>,
    /// The agent's own files, and what else is out of reach under every policy.
    pub protected: Vec<PathBuf>,
    /// The file with the policy, which commands may not write under any: the next box may be built by it.
    pub policy_file: Option<PathBuf>,
}

/// Why the rules for files can't be held.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPlaces {
    /// What a rule names is not there.
    #[error("{0}: there is no {path}: make it, or take the rule out", path = .1.display())]
    Missing(FileRule, PathBuf),
    /// The agent's user has no home.
    #[error("{0}: it is not known where the home is: set HOME")]
    NoHome(FileRule),
    /// It can't be looked at.
    #[error("{0}: {path} can't be looked at: {2}", path = .1.display())]
    Unreadable(FileRule, PathBuf, io::Error),
    /// A symbolic link leads out of a place that commands may write: one of them may have made it.
    #[error("{0}: the symbolic link {link}, which a command could change, leads to {target}: name that itself, or take the link away", link = .1.display(), target = .2.display())]
    LeadsOut(FileRule, PathBuf, PathBuf),
    /// It matches too much.
    #[error(
        "{0}: matches more than {MAX_MATCHES} paths, or looks at more than {MAX_LOOKS}: name directories"
    )]
    TooMany(FileRule),
    /// A file in /dev or /proc.
    #[error(
        "{0}: /proc and what is in it are made anew for commands, as is /dev; only a device can be named, with \"write\""
    )]
    MadeAnew(FileRule),
    /// Only commands that are not to be walled in may write there.
    #[error("the workspace {} holds the home {}, so that commands could change what you run next: choose a directory in it", .0.display(), .1.display())]
    WorkspaceTooWide(PathBuf, PathBuf),
    /// What the agent keeps to itself.
    #[error("{0}: {path} is in what the agent keeps to itself", path = .1.display())]
    Protected(FileRule, PathBuf),
}

const MAX_MATCHES: usize = 2_000;
const MAX_LOOKS: usize = 1_000_000;

/// Looks for the places that rules mean, as the file system is now.
///
/// # Errors
///
/// A rule that can't be held.
pub fn expand(rules: &[FileRule], roots: &Roots) -> Result<Places, InvalidPlaces> {
    let protected = roots.protected.iter().map(|path| (of_agent(Access::Hide, path), path.clone()));
    let mut found: Vec<(FileRule, PathBuf)> = protected.collect();
    for rule in rules {
        if is_workspace_of_preset(rule)
            && let Some(home) = roots.homes.iter().find(|home| home.starts_with(&roots.workspace))
        {
            return Err(InvalidPlaces::WorkspaceTooWide(roots.workspace.clone(), home.clone()));
        }
        let no_home = [PathBuf::new()];
        let homes = match (rule.path.start, roots.homes.as_slice()) {
            (Start::Home, []) if rule.if_missing == IfMissing::Skip => continue,
            (Start::Home, []) => return Err(InvalidPlaces::NoHome(rule.clone())),
            (Start::Home, homes) if rule.if_missing == IfMissing::Skip => homes,
            (Start::Home, [home, ..]) => std::slice::from_ref(home),
            (Start::Root | Start::Workspace { .. }, _) => &no_home,
        };
        let is_secret = rule.path.start == Start::Home
            && rule.access == Access::Hide
            && rule.if_missing == IfMissing::Skip;
        let others = if is_secret { roots.homes_of_others.as_slice() } else { &[] };
        for home in homes.iter().chain(others) {
            let (base, rest) = rule.path.base(&roots.workspace, home);
            let mut search = Search { rule, looks: 0, matches: Vec::new() };
            search.find(base, rest)?;
            found.extend(search.matches.into_iter().map(|path| (rule.clone(), path)));
        }
    }
    let mut places = Vec::new();
    let mut absent = Vec::new();
    // A command of another policy may have written the workspace, even where those of this one may not.
    let mut writable = vec![roots.workspace.clone()];
    let mut led_by_links = Vec::new();
    for (rule, path) in found {
        match resolve(&path) {
            Ok(Resolved { path, links }) => {
                if let Some(Placeholder { path, kind }) = guarded(&rule, &path) {
                    places.push(Place { path, kind, exists: false, rule });
                    continue;
                }
                if rule.access == Access::Write {
                    writable.push(path.clone());
                }
                if !links.is_empty() && matches!(rule.access, Access::Read | Access::Write) {
                    led_by_links.push((rule.clone(), links, path.clone()));
                }
                places.push(place(rule, path)?);
            }
            Err(error) if is_absent(&error) => match rule.if_missing {
                IfMissing::Fail => return Err(InvalidPlaces::Missing(rule, path)),
                IfMissing::Skip => absent.push((path, rule)),
                IfMissing::Guard(kind) => places.push(guard(rule, &path, kind)?),
            },
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && rule.if_missing == IfMissing::Skip =>
            {
                absent.push((path, rule));
            }
            Err(error) => return Err(InvalidPlaces::Unreadable(rule, path, error)),
        }
    }
    let mut places = Places::new(places, absent);
    if let Some(file) = &roots.policy_file {
        let rule = of_agent(Access::Read, file);
        let Resolved { path, links } = resolve(file)
            .map_err(|error| InvalidPlaces::Unreadable(rule.clone(), file.clone(), error))?;
        if places.access(&path) == Access::Write {
            places = places.with(place(rule.clone(), path.clone())?);
        }
        led_by_links.push((rule, links, path));
    }
    for (rule, links, target) in led_by_links {
        check_links(&rule, &links, &target, &writable, &places)?;
    }
    check_protected(&places, roots)?;
    Ok(places)
}

/// A rule of the agent's own.
fn of_agent(access: Access, path: &Path) -> FileRule {
    let path = path.to_string_lossy().parse().unwrap_or_else(|_| agent_files());
    FileRule { access, path, origin: Origin::Agent, if_missing: IfMissing::Skip }
}

/// For a path of the agent's that is no text.
fn agent_files() -> super::PathPattern {
    super::PathPattern::root()
}

fn is_workspace_of_preset(rule: &FileRule) -> bool {
    rule.origin == Origin::Preset(Preset::Workspace) && rule.access == Access::Write
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn place(rule: FileRule, path: PathBuf) -> Result<Place, InvalidPlaces> {
    let kind = match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Kind::Directory,
        Ok(_) => Kind::File,
        Err(error) => return Err(InvalidPlaces::Unreadable(rule, path, error)),
    };
    let is_device = path.starts_with("/dev") && path != Path::new("/dev");
    let is_made_anew = path.starts_with("/proc") || path.starts_with("/dev");
    if is_made_anew && !(is_device && rule.access == Access::Write) {
        return Err(InvalidPlaces::MadeAnew(rule));
    }
    Ok(Place { path, kind, exists: true, rule })
}

/// What agents have made where a rule's place is missing.
fn guarded(rule: &FileRule, path: &Path) -> Option<Placeholder> {
    matches!(rule.if_missing, IfMissing::Guard(_)).then(|| Placeholder::find(path))?
}

/// The first name of a path that is not there, or the file where a directory would have to be.
fn guard(rule: FileRule, path: &Path, kind: Kind) -> Result<Place, InvalidPlaces> {
    let mut missing = path;
    for parent in path.ancestors().skip(1) {
        match resolve(parent) {
            // What is missing is to be mounted on, not what others mount on.
            Ok(Resolved { path, .. }) if Placeholder::find(&path).is_some() => missing = parent,
            Ok(Resolved { path: parent, .. }) if parent.is_dir() => {
                let kind = if missing == path { kind } else { Kind::Directory };
                let path = parent.join(missing.file_name().unwrap_or_default());
                // A link that leads nowhere: a command could make what it leads to.
                if path.is_symlink() {
                    return Err(InvalidPlaces::LeadsOut(rule, path, missing.to_owned()));
                }
                return Ok(Place { path, kind, exists: false, rule });
            }
            Ok(Resolved { path, .. }) => {
                return Ok(Place { path, kind: Kind::File, exists: true, rule });
            }
            Err(error) if is_absent(&error) => missing = parent,
            Err(error) => return Err(InvalidPlaces::Unreadable(rule, parent.to_owned(), error)),
        }
    }
    Err(InvalidPlaces::Missing(rule, path.to_owned()))
}

/// A link that a command may have made or could change leads nowhere else, and no rule against writing depends on one.
fn check_links(
    rule: &FileRule,
    links: &[PathBuf],
    target: &Path,
    writable: &[PathBuf],
    places: &Places,
) -> Result<(), InvalidPlaces> {
    for link in links {
        let leads_out = writable
            .iter()
            .any(|place| link.starts_with(place) && link != place && !target.starts_with(place));
        let can_be_changed =
            places.above(link).map(|place| place.rule.access) == Some(Access::Write);
        if leads_out || (rule.access == Access::Read && can_be_changed) {
            return Err(InvalidPlaces::LeadsOut(rule.clone(), link.clone(), target.to_owned()));
        }
    }
    Ok(())
}

fn check_protected(places: &Places, roots: &Roots) -> Result<(), InvalidPlaces> {
    let is_protected = |path: &Path| {
        places
            .iter()
            .any(|place| place.rule.origin == Origin::Agent && path.starts_with(&place.path))
    };
    let inside = places.iter().find(|place| {
        place.rule.origin != Origin::Agent
            && place.rule.access > Access::Hide
            && (is_protected(&place.path)
                || place.path == roots.workspace && is_protected(&roots.workspace))
    });
    match inside {
        Some(place) => Err(InvalidPlaces::Protected(place.rule.clone(), place.path.clone())),
        None => Ok(()),
    }
}

/// The search for what a path with wildcards means. It follows no symbolic links to directories, and doesn't look into `/proc`.
struct Search<'a> {
    rule: &'a FileRule,
    looks: usize,
    matches: Vec<PathBuf>,
}

impl Search<'_> {
    fn find(&mut self, path: PathBuf, segments: &[Segment]) -> Result<(), InvalidPlaces> {
        match segments {
            [] => {
                self.matches.push(path);
                self.check(self.matches.len() > MAX_MATCHES)
            }
            [Segment::Name(name), rest @ ..] => {
                let path = path.join(name);
                // What a wildcard is followed by need not be everywhere.
                if path.symlink_metadata().is_ok() { self.find(path, rest) } else { Ok(()) }
            }
            [Segment::Wild(pattern), rest @ ..] => {
                for (name, is_directory) in self.read(&path)? {
                    let is_match = wildcard::matches(pattern.as_bytes(), name.as_bytes());
                    if is_match && (is_directory || rest.is_empty()) {
                        self.find(path.join(name), rest)?;
                    }
                }
                Ok(())
            }
            [Segment::AnyDepth, rest @ ..] => {
                self.find(path.clone(), rest)?;
                for (name, is_directory) in self.read(&path)? {
                    let path = path.join(name);
                    if is_directory && path != Path::new("/proc") {
                        self.find(path, segments)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn read(&mut self, path: &Path) -> Result<Vec<(std::ffi::OsString, bool)>, InvalidPlaces> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) if is_closed_to_commands(path, &error) => return Ok(Vec::new()),
            Err(error) => return Err(self.unreadable(path, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.unreadable(path, error))?;
            let file_type = entry.file_type().map_err(|error| self.unreadable(path, error))?;
            names.push((entry.file_name(), file_type.is_dir()));
            self.looks += 1;
            self.check(self.looks > MAX_LOOKS)?;
        }
        Ok(names)
    }

    fn check(&self, is_too_many: bool) -> Result<(), InvalidPlaces> {
        if is_too_many { Err(InvalidPlaces::TooMany(self.rule.clone())) } else { Ok(()) }
    }

    fn unreadable(&self, path: &Path, error: io::Error) -> InvalidPlaces {
        InvalidPlaces::Unreadable(self.rule.clone(), path.to_owned(), error)
    }
}

/// Whether what the agent's user may not look into is another user's, so that commands can't change that.
fn is_closed_to_commands(path: &Path, error: &io::Error) -> bool {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    is_denied && path.symlink_metadata().is_ok_and(|metadata| metadata.uid() != user())
}
