use std::{fs, io, io::Read, num::NonZeroU64, path::PathBuf};

use clap::Args;
use sandpipe_policy::{
    document::{Cpus, Extend, InvalidPolicy, Limits, Network, Policy, Size, Span, parse},
    effective::{Effective, NotExtended, Preset, effective},
    env::NamePattern,
    files::PathPattern,
    network::HostRule,
};

/// What commands may touch: a policy, and flags that are added to it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What commands may touch")]
pub struct PolicyOptions {
    /// The policy: a preset (open, workspace, offline, strict), the path of a file, or the JSON itself. With the flags below alone it
    /// is `workspace` [default: open, commands have the agent's rights].
    #[arg(long, value_name = "NAME|FILE|JSON")]
    pub policy: Option<String>,

    /// A preset, or a part of one, that the policy extends besides, like `commits`; with `!` one that it leaves out. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub extend: Vec<Extend>,

    /// A path that commands may read and write. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub allow_write: Vec<PathPattern>,

    /// A path that commands may read. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub allow_read: Vec<PathPattern>,

    /// A path that is not there for commands. Repeatable.
    #[arg(long, value_name = "PATH")]
    pub hide: Vec<PathPattern>,

    /// What commands reach of the network.
    #[arg(long, value_name = "none|host", value_parser = parse_network, conflicts_with = "allow_net")]
    pub network: Option<Network>,

    /// A host that commands may reach, like `api.example.com:443` or `*.example.org`. Repeatable.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub allow_net: Vec<HostRule>,

    /// Keep commands from making Unix sockets but for connected pairs: databases, terminal multiplexers and others need some.
    #[arg(long)]
    pub no_unix_sockets: bool,

    /// A variable of the agent's environment that commands get; `*` is any part of a name. Repeatable; others they don't get then. What
    /// looks like a secret they get only by its very name.
    #[arg(long, value_name = "NAME")]
    pub pass_env: Vec<NamePattern>,

    /// A variable that commands have. Repeatable.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub set_env: Vec<(String, String)>,

    /// How much memory all commands may have together, like `2GiB`.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<Size>,

    /// How many processors all commands may keep busy together, like `2` or `0.5`.
    #[arg(long, value_name = "COUNT")]
    pub max_cpu: Option<Cpus>,

    /// How long each process may keep a processor busy, like `10min`.
    #[arg(long, value_name = "DURATION")]
    pub max_cpu_time: Option<Span>,

    /// How many processes and threads there may be at once.
    #[arg(long, value_name = "COUNT")]
    pub max_processes: Option<NonZeroU64>,

    /// How many files each process may have open.
    #[arg(long, value_name = "COUNT")]
    pub max_open_files: Option<NonZeroU64>,

    /// How large each file may be made, like `4GiB`.
    #[arg(long, value_name = "SIZE")]
    pub max_file_size: Option<Size>,

    /// How long each command may run, like `30min`.
    #[arg(long, value_name = "DURATION")]
    pub max_wall_time: Option<Span>,

    /// How much each command may write to its standard output and standard error together, like `1GiB`.
    #[arg(long, value_name = "SIZE")]
    pub max_output: Option<Size>,

    /// Run commands although this machine can't hold all limits.
    #[arg(long)]
    pub best_effort: bool,
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidOptions {
    #[error("--policy {0}{did_you_mean}: it is neither a preset ({names}) nor a file that can be read: {1}", did_you_mean = Preset::did_you_mean(.0), names = Preset::names())]
    Unreadable(String, io::Error),
    #[error("{0}: {1}")]
    Invalid(String, InvalidPolicy),
    #[error("{0}: {1}")]
    NotExtended(String, NotExtended),
}

impl PolicyOptions {
    /// The policy that is asked for. It may block: it reads a file.
    pub(crate) fn effective(&self) -> Result<Effective, InvalidOptions> {
        let name = self.policy.as_deref();
        let mut policy = match name {
            // Flags alone are added to what a policy adds to.
            None if self.has_flags() => Policy::default(),
            None => preset(Preset::Open),
            Some(name) => named(name)?,
        };
        self.add_to(&mut policy);
        let shown = name.unwrap_or("the policy").to_owned();
        effective(&policy).map_err(|error| InvalidOptions::NotExtended(shown, error))
    }

    /// The file that it is read from.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let name = self.policy.as_deref().filter(|name| !is_written(name))?;
        // What has no path, as a pipe by which a shell passes something, commands can't change.
        std::path::absolute(name).ok().filter(|path| path.canonicalize().is_ok())
    }

    fn has_flags(&self) -> bool {
        let mut policy = Policy::default();
        self.add_to(&mut policy);
        policy != Policy::default()
    }

    fn add_to(&self, policy: &mut Policy) {
        let flags = self.clone();
        if !flags.extend.is_empty() {
            let extends =
                policy.extends.get_or_insert_with(|| vec![Extend::With(Preset::Workspace)]);
            extends.extend(flags.extend);
        }
        policy.files.write.extend(flags.allow_write);
        policy.files.read.extend(flags.allow_read);
        policy.files.hide.extend(flags.hide);
        if let Some(network) = flags.network {
            policy.network = Some(network);
        }
        if !flags.allow_net.is_empty() {
            match &mut policy.network {
                Some(Network::Allow(hosts)) => hosts.extend(flags.allow_net),
                network => *network = Some(Network::Allow(flags.allow_net)),
            }
        }
        if flags.no_unix_sockets {
            policy.unix_sockets = Some(false);
        }
        if !flags.pass_env.is_empty() {
            policy.env.pass = Some(flags.pass_env);
        }
        policy.env.set.extend(flags.set_env);
        policy.limits = std::mem::take(&mut policy.limits).overridden_by(&Limits {
            memory: flags.max_memory,
            cpu: flags.max_cpu,
            cpu_time: flags.max_cpu_time,
            processes: flags.max_processes,
            open_files: flags.max_open_files,
            file_size: flags.max_file_size,
            wall_time: flags.max_wall_time,
            output: flags.max_output,
        });
        if flags.best_effort {
            policy.best_effort = Some(true);
        }
    }
}

/// That of a preset, or one as JSON.
///
/// # Errors
/// It is neither.
pub(super) fn written(text: &str) -> Result<Policy, InvalidPolicy> {
    text.parse().map_or_else(|_| parse(text), |known| Ok(preset(known)))
}

/// That of a preset, one as JSON, or that of a file.
fn named(name: &str) -> Result<Policy, InvalidOptions> {
    if is_written(name) {
        return written(name).map_err(|error| InvalidOptions::Invalid("--policy".into(), error));
    }
    let text = read(name).map_err(|error| InvalidOptions::Unreadable(name.to_owned(), error))?;
    parse(&text).map_err(|error| InvalidOptions::Invalid(name.to_owned(), error))
}

/// Whether it is no file.
fn is_written(name: &str) -> bool {
    name.parse::<Preset>().is_ok() || name.trim_start().starts_with('{')
}

fn preset(preset: Preset) -> Policy {
    Policy { extends: Some(vec![Extend::With(preset)]), ..Policy::default() }
}

/// Larger is no policy.
const MAX_LEN: u64 = 1024 * 1024;

fn read(name: &str) -> io::Result<String> {
    // A word alone is no file: a command may have made one for a preset that is misspelt.
    if !name.contains(['/', '.']) {
        return Err(io::Error::other("the path of a file has a / or a dot"));
    }
    let mut text = String::new();
    fs::File::open(name)?.take(MAX_LEN).read_to_string(&mut text)?;
    Ok(text)
}

fn parse_network(text: &str) -> Result<Network, String> {
    match text {
        "none" => Ok(Network::None),
        "host" => Ok(Network::Host),
        _ => Err("it is none or host; some hosts are named with --allow-net".into()),
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        policy: PolicyOptions,
    }

    fn policy(flags: &[&str]) -> Result<Effective, InvalidOptions> {
        Flags::parse_from([&["agent"], flags].concat()).policy.effective()
    }

    #[test]
    fn without_flags_it_is_open_and_with_some_it_is_workspace() {
        assert_eq!(policy(&[]).unwrap().name(), "open");
        assert_eq!(policy(&["--policy", "strict"]).unwrap().name(), "strict");
        let added = policy(&["--allow-write", "~/x", "--allow-net", "a.example:443"]).unwrap();
        assert_eq!(added.presets, Effective::of(Preset::Workspace).presets);
        assert_eq!(added.network, Network::Allow(vec!["a.example:443".parse().unwrap()]));
        let extended = policy(&["--extend", "commits", "--extend", "!caches"]).unwrap();
        let with = r#"{ "extends": ["workspace", "commits", "!caches"] }"#;
        assert_eq!(extended, policy(&["--policy", with]).unwrap());
        let open = policy(&["--policy", "open", "--max-memory", "1GiB"]).unwrap();
        assert!(!open.has_walls());
        assert_eq!(open.limits.memory, "1 GiB".parse().ok());
    }

    #[test]
    fn flags_add_to_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(
            file.path(),
            r#"{ "network": { "allow": ["a.example"] }, "limits": { "cpu": 1 } }"#,
        )
        .unwrap();
        let path = file.path().to_str().unwrap();
        let added = policy(&[
            "--policy",
            path,
            "--allow-net",
            "b.example",
            "--max-cpu",
            "2",
            "--best-effort",
            "--no-unix-sockets",
        ])
        .unwrap();
        assert!(matches!(&added.network, Network::Allow(hosts) if hosts.len() == 2));
        assert_eq!(added.limits.cpu, "2".parse().ok());
        assert!(added.best_effort && !added.unix_sockets);
    }

    #[test]
    fn what_is_no_policy_is_told_with_its_name() {
        let error = policy(&["--policy", "no-such-preset"]).unwrap_err().to_string();
        assert!(
            error.starts_with("--policy no-such-preset: it is neither a preset (open, workspace,"),
            "{error}"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), r#"{ "flies": {} }"#).unwrap();
        let path = file.path().to_str().unwrap();
        let error = policy(&["--policy", path]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path}: flies: unknown field")), "{error}");
        let error = policy(&["--policy", r#"{ "flies": {} }"#]).unwrap_err().to_string();
        assert!(error.starts_with("--policy: flies: unknown field"), "{error}");
        assert_eq!(policy(&["--policy", r#"{ "extends": ["strict"] }"#]).unwrap().name(), "strict");
    }
}
