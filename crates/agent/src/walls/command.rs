//! `sandpipe-agent policy`: what a policy means on this machine, without an agent.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand};
use sandpipe_policy::{
    document::Network,
    effective::{Passing, Preset},
    explain::{explain_destination, explain_path, explain_variable},
    machine,
    network::Destination,
    walls::{Mechanism, RLimit},
};

use super::{AgentPolicy, PolicyError, PolicyOptions, Setting};
use crate::{
    limits::LimitTree,
    shown::{is_invisible, shown},
    state_dir::default_path,
};

/// Says what a policy lets commands touch on this machine.
#[derive(Debug, Parser)]
#[command(name = "sandpipe-agent policy", bin_name = "sandpipe-agent policy")]
struct PolicyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Prints the rules that hold, what holds them here, and what is missing; ends with 1 where something is.
    Check {
        /// A policy: a preset, or the path of a file; instead of --policy.
        #[arg(value_name = "NAME|FILE")]
        name: Option<String>,
        /// Prints bubblewrap's command line instead.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Says which rule decides about a path, about HOST:PORT, or about the variable $NAME.
    Explain {
        /// A policy before what it is asked about: open, workspace, offline, strict, or a file with a policy; instead of --policy
        /// [default: workspace].
        #[arg(value_name = "[NAME|FILE] PATH|HOST:PORT|$NAME", required = true)]
        targets: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Debug, Args)]
struct Place {
    /// The workspace [default: the current directory].
    #[arg(long, value_name = "DIRECTORY")]
    workspace: Option<PathBuf>,
    /// The agent's state directory.
    #[arg(long, value_name = "DIRECTORY")]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    policy: PolicyOptions,
}

/// Whether this process was started for that.
#[must_use]
pub fn is_policy_command() -> bool {
    env::args_os().nth(1).is_some_and(|role| role == "policy")
}

/// Runs it; returns whether nothing is missing.
///
/// # Errors
/// The policy can't be held, or nothing can be written.
pub fn run_policy_command() -> Result<bool, PolicyError> {
    let command = PolicyCommand::parse_from(env::args_os().skip(1));
    let (text, is_complete) = match command.action {
        Action::Check { name, dry_run: prints, mut place } => {
            place.policy.policy = name.or(place.policy.policy);
            place.confine_by_default();
            if prints { (dry_run(&place)?, true) } else { check(&place)? }
        }
        Action::Explain { mut targets, mut place } => {
            let is_named = matches!(&*targets, [first, _, ..] if is_policy(first));
            if is_named && place.policy.policy.is_none() {
                place.policy.policy = Some(targets.remove(0));
            }
            place.confine_by_default();
            (explain(&place, &targets)?, true)
        }
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(other)?;
    Ok(is_complete)
}

/// Returns whether a word names a policy: a preset, or a file as policies are in. A path of that name begins with `./`.
fn is_policy(word: &str) -> bool {
    let is_file = |extension| Path::new(word).extension() == Some(OsStr::new(extension));
    word.parse::<Preset>().is_ok() || is_file("json") || is_file("jsonc")
}

fn other(error: io::Error) -> PolicyError {
    PolicyError::Invalid(error.into())
}

impl Place {
    /// Takes the policy of `sandpipe run` where none is named.
    fn confine_by_default(&mut self) {
        self.policy.policy.get_or_insert_with(|| Preset::Workspace.name().to_owned());
    }

    fn open(&self) -> Result<(AgentPolicy, Setting), PolicyError> {
        // What it takes to find out is undone when that is known.
        let limits = LimitTree::default();
        let workspace = match &self.workspace {
            Some(workspace) => workspace.clone(),
            None => env::current_dir().map_err(other)?,
        };
        let workspace = match workspace.canonicalize() {
            Ok(directory) if directory.is_dir() => directory,
            _ => {
                let path = workspace.display();
                let message = format!("the workspace {path} is not a directory that exists");
                return Err(PolicyError::Invalid(message.into()));
            }
        };
        let state_dir = self.state_dir.clone().or_else(|| default_path().ok());
        let own_files = state_dir.into_iter().collect();
        let policy_file = self.policy.file();
        let setting = Setting { workspace, own_files, policy_file, box_program: None };
        Ok((AgentPolicy::new(self.policy.effective()?, &setting, &limits)?, setting))
    }
}

fn check(place: &Place) -> Result<(String, bool), PolicyError> {
    let (policy, _) = place.open()?;
    let places = policy.places()?;
    let effective = &policy.effective;
    let mut lines = vec![format!("policy: {}", effective.name())];
    lines.push(format!("workspace: {}", policy.roots.workspace.display()));
    if effective.has_walls() {
        lines.push("files:".to_owned());
    }
    for place in places.iter().filter(|_| effective.has_walls()) {
        let missing = if place.exists { "" } else { ", which is not there and can't be made" };
        let path = place.path.display();
        lines.push(format!(
            "  {:7} {path}{missing}  ({})",
            place.rule.access.to_string(),
            place.rule.origin
        ));
    }
    let network = match &effective.network {
        Network::None => "none".to_owned(),
        Network::Host => "host".to_owned(),
        Network::Allow(hosts) => {
            let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            format!("by a proxy, to {}", hosts.join(", "))
        }
    };
    if effective.has_walls() {
        lines.push(format!("network: {network}"));
    }
    if !effective.unix_sockets {
        lines.push("Unix sockets: connected pairs alone".to_owned());
    }
    let pass: Vec<_> = effective.pass.iter().map(ToString::to_string).collect();
    let set: Vec<_> = effective.set.keys().cloned().collect();
    lines.push(format!("environment: passed {}; set {}", listed(&pass), listed(&set)));
    let is_withheld = |(name, value): &(OsString, OsString)| {
        effective.passing(name.as_bytes(), value.as_bytes()) == Passing::Withheld
    };
    let withheld = env::vars_os().filter(is_withheld);
    let mut withheld: Vec<_> =
        withheld.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    if !withheld.is_empty() {
        withheld.sort();
        let names = listed(&withheld);
        lines.push(format!(
            "  not passed, since they look like secrets or lead to other programs: {names}; env.pass can name them"
        ));
    }
    for held in policy.held() {
        let by = match held.mechanism {
            Mechanism::Cgroup => "a control group",
            Mechanism::Process(RLimit::Data) => {
                "a limit on the memory of each process, not of all together"
            }
            Mechanism::Process(_) => "a limit of each process",
            Mechanism::Agent => "the agent",
        };
        lines.push(format!("{}: held by {by}", held.field));
    }
    let is_complete = if effective.has_walls() {
        let found = policy
            .find_bubblewrap(Some(&places))
            .and_then(|found| Ok(machine::bubblewrap(&found)?));
        let (found, is_complete) = match found {
            Ok(found) => {
                let path = found.program.path().display();
                (format!("bubblewrap {} ({path})", found.version), true)
            }
            Err(missing) => (format!("missing: {missing}"), false),
        };
        lines.push(format!("walls: {found}"));
        if effective.network == Network::Host && !machine::scopes_abstract_sockets() {
            lines.push("abstract sockets: those of the machine can be connected to, as the rest of its network: this needs Linux 6.12 with Landlock".to_owned());
        }
        if !machine::restricts_named_pipes() {
            lines.push("named pipes: those that files.write does not name can be written, too: to keep commands from them takes Linux 5.19 with Landlock".to_owned());
        }
        is_complete
    } else {
        lines.push(format!("files and network: {NOTHING_ENFORCED}"));
        true
    };
    // A path may have any character, also one that would make a line of its own.
    let lines = lines.iter().map(|line| shown(line) + "\n").collect();
    Ok((lines, is_complete))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

/// Meaning of a policy without isolation for files and the network.
const NOTHING_ENFORCED: &str =
    "nothing is enforced: commands run unconfined, with the agent's permissions";

fn explain(place: &Place, targets: &[String]) -> Result<String, PolicyError> {
    let (policy, _) = place.open()?;
    let places = policy.places()?;
    let mut text = String::new();
    for target in targets {
        if let Some(name) = target.strip_prefix('$') {
            let value = env::var_os(name).unwrap_or_default();
            let line = explain_variable(&policy.effective, name, value.as_bytes());
            text.push_str(&shown(&line));
            text.push('\n');
            continue;
        }
        if !policy.effective.has_walls() {
            text.push_str(&shown(&format!("{target}: {NOTHING_ENFORCED}")));
            text.push('\n');
            continue;
        }
        let is_path =
            target.starts_with(['/', '.', '~']) || policy.roots.workspace.join(target).exists();
        let destination = Destination::parse(target).filter(|_| !is_path);
        if !is_path && destination.is_none() {
            check_word(target)?;
        }
        let line = if let Some(destination) = destination {
            explain_destination(&policy.effective, &destination)
        } else {
            let home = policy.roots.homes.first().map_or(Path::new("~"), PathBuf::as_path);
            let path = match target.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    home.join(rest.trim_start_matches('/'))
                }
                _ => policy.roots.workspace.join(target),
            };
            explain_path(&places, &path).map_err(|error| {
                let message = format!("{} can't be looked at: {error}", path.display());
                other(io::Error::new(error.kind(), message))
            })?
        };
        text.push_str(&shown(&line));
        text.push('\n');
    }
    Ok(text)
}

/// Refuses a word that may be meant as something else than a path.
fn check_word(word: &str) -> Result<(), PolicyError> {
    let host = word.split_once("://").map_or(word, |(_, rest)| rest).split('/').next();
    let meant = if word.contains("://") {
        format!("for a host write {}", with_port(host.unwrap_or_default()))
    } else if word.contains('/') {
        return Ok(());
    } else if is_policy(word) {
        "say what the policy is to decide about".to_owned()
    } else if word.contains('.') {
        format!("for a host write {}, for a path ./{word}", with_port(word))
    } else {
        format!("for a path write ./{word}, for a variable '${word}'")
    };
    let did_you_mean = Preset::did_you_mean(word);
    Err(PolicyError::Invalid(
        format!(
            "{word:?}{did_you_mean} is no path that is there, no HOST:PORT and no '$NAME': {meant}"
        )
        .into(),
    ))
}

fn with_port(host: &str) -> String {
    if host.contains(':') { host.to_owned() } else { format!("{host}:443") }
}

fn dry_run(place: &Place) -> Result<String, PolicyError> {
    let (policy, setting) = place.open()?;
    if !policy.effective.has_walls() {
        return Ok("# no walls: commands have the agent's rights\n".to_owned());
    }
    let bubblewrap = machine::bubblewrap(&policy.find_bubblewrap(Some(&policy.places()?))?)?;
    let path = bubblewrap.program.path().as_os_str().to_owned();
    let plan = policy.walls_by(bubblewrap, &setting).plan()?;
    // Behind the standard streams.
    let args = plan.args(|index| i32::try_from(index + 3).unwrap_or(i32::MAX));
    let words = std::iter::once(path).chain(args).map(|word| quoted(&word));
    Ok(words.collect::<Vec<_>>().join(" ") + "\n")
}

/// Writes a word as a shell reads it, in which every character shows.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(byte);
    if !word.is_empty() && word.as_bytes().iter().all(is_plain) {
        return word.to_string_lossy().into_owned();
    }
    match word.to_str() {
        Some(text) if !text.contains(is_invisible) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        // POSIX.1-2024, "Dollar-Single-Quotes".
        _ => format!("$'{}'", word.as_bytes().escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_by_a_shell() {
        for (word, line) in [
            (b"--ro-bind".as_slice(), "--ro-bind"),
            (b"a b", "'a b'"),
            (b"it's", "'it'\\''s'"),
            (b"", "''"),
            ("é".as_bytes(), "'é'"),
            (b"a\n\x1b'\\", r"$'a\n\x1b\'\\'"),
            ("\u{200b}".as_bytes(), r"$'\xe2\x80\x8b'"),
            (b"\xff", r"$'\xff'"),
        ] {
            assert_eq!(quoted(OsStr::from_bytes(word)), line);
        }
    }
}
