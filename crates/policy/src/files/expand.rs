use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Origin, Place, Placeholder, Places,
    at_path::{guard, guarded, is_absent, place},
    pattern::Start,
    repositories::{only_where_writable, repositories_elsewhere, with_repositories},
    resolve::{Resolved, resolve},
    search::Search,
};
use crate::effective::Preset;

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

/// Looks for the places that rules mean, as the file system is now.
///
/// # Errors
///
/// A rule that can't be held.
pub fn expand(rules: &[FileRule], roots: &Roots) -> Result<Places, InvalidPlaces> {
    let protected = roots.protected.iter().map(|path| (of_agent(Access::Hide, path), path.clone()));
    let mut found: Vec<(FileRule, PathBuf)> = protected.collect();
    for rule in rules.iter().chain(&repositories_elsewhere(rules)) {
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
            let mut search = Search::new(rule);
            search.find(base, rest)?;
            found.extend(search.matches.into_iter().map(|path| (rule.clone(), path)));
        }
    }
    let mut places = Vec::new();
    let mut absent = Vec::new();
    // A command of another policy may have written the workspace, even where those of this one may not.
    let mut writable = vec![roots.workspace.clone()];
    let mut led_by_links = Vec::new();
    let mut hidden = Vec::new();
    let mut repositories = Vec::new();
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
                if !links.is_empty() {
                    led_by_links.push((rule.clone(), links, path.clone()));
                } else if rule.access == Access::Hide {
                    hidden.push(path.clone());
                }
                if rule.origin == Origin::Preset(Preset::Git) {
                    repositories.push((rule.clone(), path.clone()));
                }
                places.push(place(rule, path)?);
            }
            Err(error) if is_absent(&error) => match rule.if_missing {
                IfMissing::Fail => return Err(InvalidPlaces::Missing(rule, path)),
                IfMissing::Skip => absent.push((path, rule)),
                IfMissing::Guard(kind) => match guard(&rule, &path, kind)? {
                    Some(place) => places.push(place),
                    None => absent.push((path, rule)),
                },
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
    let mut places = with_repositories(only_where_writable(places, absent), repositories)?;
    if let Some(file) = &roots.policy_file {
        let rule = of_agent(Access::Read, file);
        let Resolved { path, links } = resolve(file)
            .map_err(|error| InvalidPlaces::Unreadable(rule.clone(), file.clone(), error))?;
        if places.access(&path) == Access::Write {
            places = places.with(place(rule.clone(), path.clone())?);
        }
        led_by_links.push((rule, links, path));
    }
    // What is hidden under its own name stays so whatever links to it.
    led_by_links.retain(|(rule, _, target)| {
        rule.access != Access::Hide || !hidden.iter().any(|place| target.starts_with(place))
    });
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

/// A link that a command may have made or could change opens nothing elsewhere, and what takes rights away depends on none: of a link that
/// was changed the next box would only know the new target.
fn check_links(
    rule: &FileRule,
    links: &[PathBuf],
    target: &Path,
    writable: &[PathBuf],
    places: &Places,
) -> Result<(), InvalidPlaces> {
    for link in links {
        let leads_out = matches!(rule.access, Access::Read | Access::Write)
            && writable.iter().any(|place| {
                link.starts_with(place) && link != place && !target.starts_with(place)
            });
        let can_be_changed =
            places.above(link).map(|place| place.rule.access) == Some(Access::Write);
        if leads_out || (rule.access < Access::Write && can_be_changed) {
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
