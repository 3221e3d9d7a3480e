use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Origin, Place, Placeholder, Places, Roots,
    at_path::{guard, guarded, is_absent, place},
    git_settings::nested_git_settings,
    other_mounts::hide_elsewhere,
    pattern::Start,
    repositories::{only_where_writable, repositories_elsewhere, with_repositories},
    resolve::{Resolved, resolve},
    search::Search,
    surrounding_repository::with_surrounding_repository,
    tool_settings::{is_tool_setting, nested_tool_settings},
};
use crate::effective::Preset;

/// Looks for the places that rules mean, as the file system is now.
///
/// # Errors
///
/// A rule that can't be held.
pub fn expand(rules: &[FileRule], roots: &Roots) -> Result<Places, InvalidPlaces> {
    let found = find(rules, roots)?;
    let mut places = Vec::new();
    let mut absent = Vec::new();
    // A command of another policy may have written the workspace, even where those of this one may not.
    let mut writable = vec![roots.workspace.clone()];
    let mut led_by_links = Vec::new();
    let mut hidden = Vec::new();
    let mut repositories = Vec::new();
    let mut named = Vec::new();
    for (rule, path) in found {
        match resolve(&path) {
            Ok(Resolved { path, links }) => {
                if rule.origin == Origin::Policy && !rule.path.is_wild() {
                    named.push((rule.clone(), path.clone()));
                }
                if let Some(Placeholder { path, kind }) = guarded(&rule, &path) {
                    absent.push((path.clone(), rule.clone()));
                    places.push(Place { path, kind, exists: false, rule });
                    continue;
                }
                if rule.access == Access::Write {
                    writable.push(path.clone());
                }
                // A link to settings that several share is no error: the agent says when a
                // command has changed it.
                if !links.is_empty() && !is_tool_setting(&rule) {
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
                IfMissing::Guard(kind) => {
                    let guard = guard(&rule, &path, kind)?;
                    let is_itself = |guard: &&Place| guard.path.file_name() == path.file_name();
                    let resolved = guard.as_ref().filter(is_itself).map(|guard| guard.path.clone());
                    // Where commands can't make it, it will be as the rule says once it is there.
                    absent.push((resolved.unwrap_or(path), rule));
                    places.extend(guard);
                }
            },
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && (rule.if_missing == IfMissing::Skip || rule.access == Access::Private) =>
            {
                absent.push((path, rule));
            }
            Err(error) => return Err(InvalidPlaces::Unreadable(rule, path, error)),
        }
    }
    let mut places = with_repositories(only_where_writable(places, absent), repositories)?;
    places = with_surrounding_repository(places, rules, &roots.workspace)?;
    if let Some(file) = &roots.policy_file {
        let rule = of_agent(Access::Read, file);
        let Resolved { path, links } = resolve(file)
            .map_err(|error| InvalidPlaces::Unreadable(rule.clone(), file.clone(), error))?;
        if places.access(&path) == Access::Write {
            places = places.with(place(rule.clone(), path.clone())?);
        }
        led_by_links.push((rule, links, path));
    }
    if let Some(store) = &roots.pnpm_store
        && places.access(store) == Access::Read
    {
        let rule = by_path(Access::Private, store, Origin::Preset(Preset::Caches));
        places = places.with(place(rule, store.clone())?);
    }
    // What is hidden under its own name stays so whatever links to it.
    led_by_links.retain(|(rule, _, target)| {
        rule.access != Access::Hide || !hidden.iter().any(|place| target.starts_with(place))
    });
    for (rule, links, target) in led_by_links {
        check_links(&rule, &links, &target, &writable, &places)?;
    }
    check_protected(&places, roots)?;
    check_workspace(rules, &places, &roots.workspace)?;
    check_effect(named, &places)?;
    Ok(hide_elsewhere(places))
}

/// Finds what the rules name, with the rule of each.
fn find(rules: &[FileRule], roots: &Roots) -> Result<Vec<(FileRule, PathBuf)>, InvalidPlaces> {
    let protected = roots.protected.iter().map(|path| (of_agent(Access::Hide, path), path.clone()));
    let mut found: Vec<(FileRule, PathBuf)> = protected.collect();
    found.extend(named_secrets(rules, roots));
    found.extend(own_stores(rules, roots));
    for rule in rules.iter().chain(&repositories_elsewhere(rules)) {
        if is_workspace_of_preset(rule)
            && let Some(home) = roots.homes.iter().find(|home| home.starts_with(&roots.workspace))
        {
            return Err(InvalidPlaces::WorkspaceTooWide(roots.workspace.clone(), home.clone()));
        }
        let no_home = [PathBuf::new()];
        let homes = match (rule.path.start, roots.homes.as_slice()) {
            (Start::Home, []) if rule.if_missing != IfMissing::Fail => continue,
            (Start::Home, []) => return Err(InvalidPlaces::NoHome(rule.clone())),
            (Start::Home, homes) if rule.if_missing != IfMissing::Fail => homes,
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
    found.extend(nested_tool_settings(rules, roots)?);
    found.extend(nested_git_settings(rules, roots)?);
    Ok(found)
}

/// A rule of the agent's own.
fn of_agent(access: Access, path: &Path) -> FileRule {
    by_path(access, path, Origin::Agent)
}

fn by_path(access: Access, path: &Path, origin: Origin) -> FileRule {
    let path = path.to_string_lossy().parse().unwrap_or_else(|_| agent_files());
    FileRule { access, path, origin, if_missing: IfMissing::Skip }
}

/// Rule for the workspace's own stores, where a policy has caches.
fn own_stores(rules: &[FileRule], roots: &Roots) -> Option<(FileRule, PathBuf)> {
    let origin = Origin::Preset(Preset::Caches);
    let has_caches = rules.iter().any(|rule| rule.origin == origin);
    let stores = roots.stores.clone().filter(|_| has_caches)?;
    Some((by_path(Access::Write, &stores, origin), stores))
}

/// Rules for the secrets that the environment names, but for those that the policy itself opens by their very path, and what is above
/// the workspace or a home.
fn named_secrets(rules: &[FileRule], roots: &Roots) -> Vec<(FileRule, PathBuf)> {
    let origin = Origin::Preset(Preset::Secrets);
    if !rules.iter().any(|rule| rule.origin == origin) {
        return Vec::new();
    }
    let no_home = PathBuf::new();
    let home = roots.homes.first().unwrap_or(&no_home);
    let real = |path: PathBuf| resolve(&path).map_or(path, |resolved| resolved.path);
    let opened: Vec<PathBuf> = rules
        .iter()
        .filter(|rule| rule.origin == Origin::Policy && rule.access >= Access::Read)
        .filter_map(|rule| {
            let (base, rest) = rule.path.base(&roots.workspace, home);
            rest.is_empty().then(|| real(base))
        })
        .collect();
    let is_above =
        |path: &Path| roots.homes.iter().chain([&roots.workspace]).any(|own| own.starts_with(path));
    let made_anew = |path: &Path| path.starts_with("/proc") || path.starts_with("/dev");
    let secrets = roots.secrets.iter().map(|path| real(path.clone()));
    let secrets =
        secrets.filter(|path| !opened.contains(path) && !is_above(path) && !made_anew(path));
    secrets.map(|path| (by_path(Access::Hide, &path, origin), path)).collect()
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

/// Commands work in the workspace itself, not in something private or hidden in its place.
fn check_workspace(
    rules: &[FileRule],
    places: &Places,
    workspace: &Path,
) -> Result<(), InvalidPlaces> {
    let is_preset =
        |rule: &FileRule| matches!(rule.origin, Origin::Preset(Preset::Workspace | Preset::Strict));
    let is_meant = rules.iter().any(is_preset);
    match places.deciding(workspace).filter(|_| is_meant) {
        Some(place) if place.rule.access <= Access::Private => {
            Err(InvalidPlaces::WorkspaceNotThere(workspace.to_owned(), place.rule.clone()))
        }
        _ => Ok(()),
    }
}

/// What a policy itself names by its path is not closed by a preset, which nobody would notice.
fn check_effect(named: Vec<(FileRule, PathBuf)>, places: &Places) -> Result<(), InvalidPlaces> {
    for (rule, path) in named {
        let deciding = places.deciding(&path).filter(|place| place.path == path);
        if let Some(place) = deciding
            && place.rule.access < rule.access
            && matches!(place.rule.origin, Origin::Preset(_))
        {
            return Err(InvalidPlaces::NoEffect(rule, Box::new(place.rule.clone())));
        }
    }
    Ok(())
}

fn check_protected(places: &Places, roots: &Roots) -> Result<(), InvalidPlaces> {
    let of_agent = places.iter().filter(|place| place.rule.origin == Origin::Agent);
    let of_agent: Vec<_> = of_agent.collect();
    let is_protected = |path: &Path| of_agent.iter().any(|place| path.starts_with(&place.path));
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
