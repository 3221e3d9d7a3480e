//! Which rule decides.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    document::Network,
    effective::{Effective, Passing},
    files::{Access, Places},
    machine::has_address,
    network::{Destination, check_address, check_name},
};

/// Says what commands may do at an absolute path, and which rule decides.
///
/// # Errors
///
/// It can't be looked at.
pub fn explain_path(places: &Places, path: &Path) -> io::Result<String> {
    let real = real_path(path)?;
    let shown = real.display();
    if real.starts_with("/proc") || real.starts_with("/dev") {
        if let Some(place) = places.deciding(&real).filter(|place| place.path.starts_with("/dev")) {
            return Ok(format!("{shown}: {}, by the rule: {}", place.rule.access, place.rule));
        }
        return Ok(format!(
            "{shown}: made anew for commands, with their own processes and the usual devices alone"
        ));
    }
    let absent = places.absent().find(|(absent, _)| real.starts_with(absent));
    let later = absent.map_or_else(String::new, |(_, rule)| {
        format!("; where it is there when a box starts, by the rule: {rule}")
    });
    let Some(place) = places.deciding(&real) else {
        return Ok(format!("{shown}: hide, since no rule names it or a directory above it{later}"));
    };
    let what = match place.rule.access {
        Access::Private => "private (a directory of the commands' own)".to_owned(),
        access => access.to_string(),
    };
    Ok(format!("{shown}: {what}, by the rule: {}{later}", place.rule))
}

/// A path without symbolic links, of which the last names need not exist.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(real_path(parent)?.join(name)),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Says whether commands get a variable of the agent's environment, and why.
#[must_use]
pub fn explain_variable(policy: &Effective, name: &str, value: &[u8]) -> String {
    match policy.passing(name.as_bytes(), value) {
        Passing::Passed => {
            let pattern = policy.pass.iter().find(|pattern| pattern.matches(name.as_bytes()));
            let pattern = pattern.map(ToString::to_string).unwrap_or_default();
            format!("${name}: passed, by the rule: env.pass {pattern}")
        }
        Passing::NotNamed => {
            format!("${name}: not passed, since env.pass has no name that means it")
        }
        Passing::Withheld => format!(
            "${name}: not passed, since it looks like a secret or leads to another program (preset secrets), and env.pass does not have its very name"
        ),
    }
}

/// Says whether commands reach a host, and which rule decides. A name is not looked up.
#[must_use]
pub fn explain_destination(policy: &Effective, destination: &Destination) -> String {
    let hosts = match &policy.network {
        Network::Host => return format!("{destination}: reached, since network is \"host\""),
        Network::None => return format!("{destination}: refused, since network is \"none\""),
        Network::Allow(hosts) => hosts,
    };
    let address = match destination.host {
        crate::network::Host::Address(address) => Some(address),
        crate::network::Host::Name(_) => None,
    };
    let checked = check_name(hosts, destination).and_then(|rule| match address {
        Some(address) => {
            check_address(hosts, destination, address, has_address(address)).map(|()| rule)
        }
        None => Ok(rule),
    });
    match checked {
        Ok(rule) => format!("{destination}: reached, by the rule: network.allow {rule}"),
        Err(refusal) => format!("{destination}: refused: {refusal}"),
    }
}
