use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use axum::http::HeaderValue;
use clap::Parser;

use crate::{
    execs::RetentionLimits,
    features::Without,
    output::SpoolLimit,
    time_limits::{TimeLimit, TimeLimits},
    walls::PolicyOptions,
};

/// Runs commands beside an HTTP interface.
///
/// When it is ready it prints one line of JSON on standard output: its address, and the file with the
/// admin token. The tokens come from files, or from `SANDPIPE_ADMIN_TOKEN` and
/// `SANDPIPE_READONLY_TOKEN`; without an admin token it makes a new one with each start.
#[derive(Clone, Debug, Parser)]
// As with most commands, of an option that is given twice the last one counts.
#[command(name = "sandpipe-agent", version, args_override_self = true)]
// Each is a flag of the command line.
#[allow(clippy::struct_excessive_bools)]
pub struct Options {
    /// The address to listen on. Port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:57468")]
    pub listen: SocketAddr,

    /// Listen on a Unix domain socket instead, which is made at this path. Whoever can reach it may connect, as with
    /// a port of the loopback address.
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub listen_socket: Option<PathBuf>,

    /// Listen on standard input and output instead, until standard input ends. After the line that says
    /// that the agent is ready they are one HTTP/2 connection, on which each CONNECT request opens a
    /// connection to the agent.
    #[arg(long, conflicts_with_all = ["listen", "listen_socket", "until_stdin_closes"])]
    pub listen_stdio: bool,

    /// The working directory of commands that ask for none [default: the current directory].
    #[arg(long, value_name = "DIRECTORY")]
    pub workspace: Option<PathBuf>,

    /// Where the output of commands and a token that the agent makes are kept. Nobody else may be able to
    /// change what is there
    /// [default: $XDG_STATE_HOME/sandpipe-agent, or ~/.local/state/sandpipe-agent].
    #[arg(long, value_name = "DIRECTORY")]
    pub state_dir: Option<PathBuf>,

    /// Keep nothing: at its end the agent removes the output of its commands, and the state directory
    /// too if it made it. Otherwise an agent that is started again knows the commands of before.
    #[arg(long)]
    pub ephemeral: bool,

    /// The file with the token that may do everything. It is the agent's user's, who alone may be able to read
    /// it, or root's.
    #[arg(long, value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,

    /// The token that may do everything is the first line of standard input. No command can find it there: it is
    /// neither in a file nor in the environment, and nobody without root's rights over the machine may look into
    /// the agent's memory.
    #[arg(long, conflicts_with = "admin_token_file")]
    pub admin_token_stdin: bool,

    /// The file with the token that may list execs and read their output.
    #[arg(long, value_name = "FILE")]
    pub readonly_token_file: Option<PathBuf>,

    /// How much of each command's output is kept on disk: bytes, or a number with KiB, MiB or GiB.
    /// At least 64KiB; the oldest is dropped first.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = parse_spool_limit)]
    pub spool_limit: SpoolLimit,

    /// How many commands are kept that have ended, with their output: 1 to 100000. Those that ended first
    /// go first; one of which a process lives stays. So does one that ended in the last minute, or whose
    /// output is being read, unless there are four times as many.
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = parse_keep_execs)]
    pub keep_execs: usize,

    /// How long a command is kept that has ended, like `90s`, `30min`, `24h` or `7days`.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = parse_keep_for)]
    pub keep_for: Duration,

    /// How many bytes of output and records the commands that have ended may have together, in the form of
    /// `--spool-limit`; on disk each file takes whole blocks. The last one to end stays in any case, and what
    /// is in use up to four times as much, as with `--keep-execs`.
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = parse_size)]
    pub spool_total: u64,

    /// A web origin that may use the agent from a browser, like `https://console.example`; `*` for
    /// any. Repeatable.
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub allow_origin: Vec<HeaderValue>,

    /// A host name under which the agent may be reached besides its address. Repeatable.
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,

    /// The user of commands that ask for none, as `user[:group]`; a number without an entry in `/etc/passwd`
    /// needs a group [default: the agent's own].
    #[arg(long, value_name = "USER")]
    pub default_user: Option<String>,

    /// A feature that `/health` names, to be turned off: the agent is then as if it never had it. `all`
    /// for every one. Repeatable.
    #[arg(long, value_name = "FEATURE")]
    pub without: Vec<Without>,

    /// What commands may touch.
    #[command(flatten)]
    pub policy: PolicyOptions,

    /// What to log on standard error: a level, or a filter like `sandpipe_agent=debug`.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub log: String,

    /// Stop when standard input reaches its end, as by SIGTERM: the agent then ends with the parent
    /// that holds the other end of the pipe.
    #[arg(long)]
    pub until_stdin_closes: bool,

    /// Start no agent, but ask the one at `--listen` whether it is well, and end with 0 if it is, 1 if it is
    /// not: a container's health check.
    #[arg(long)]
    pub health_check: bool,

    /// A time limit for tests, in place of its default. Repeatable.
    #[arg(long, value_name = "NAME=DURATION", hide = true)]
    pub time_limit: Vec<TimeLimit>,

    /// The program that runs the commands, where that is not the running one: the agent's own, for those who run an agent within
    /// another program.
    #[arg(skip)]
    pub box_program: Option<OsString>,
}

impl Options {
    /// What is kept of commands that have ended.
    pub(crate) fn limits(&self) -> RetentionLimits {
        RetentionLimits { execs: self.keep_execs, age: self.keep_for, bytes: self.spool_total }
    }

    /// How long the agent waits for others.
    pub(crate) fn time_limits(&self) -> TimeLimits {
        TimeLimits::with(&self.time_limit)
    }
}

/// The most execs that are kept: so many fit into a list that clients read.
const MAX_KEPT_EXECS: usize = 100_000;

fn parse_keep_execs(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MAX_KEPT_EXECS).contains(count));
    count.ok_or_else(|| format!("{text:?} is not a number from 1 to {MAX_KEPT_EXECS}"))
}

fn parse_keep_for(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("a command has to be kept for some time".into()),
        Ok(duration) => Ok(duration),
        Err(error) => {
            Err(format!("{text:?} is not a duration like 90s, 30min, 24h or 7days: {error}"))
        }
    }
}

fn parse_spool_limit(text: &str) -> Result<SpoolLimit, String> {
    SpoolLimit::new(parse_size(text)?)
        .ok_or_else(|| format!("{text} is out of range: it is at least {} bytes", SpoolLimit::MIN))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match text.strip_prefix(digits).unwrap_or_default().trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        unit => return Err(format!("the unit {unit:?} is not B, KiB, MiB or GiB")),
    };
    let count: u64 = digits
        .parse()
        .map_err(|_| format!("{text:?} is not a number of bytes, like 1048576 or 256MiB"))?;
    count.checked_mul(unit).ok_or_else(|| format!("{text} is more than can be counted"))
}

fn parse_origin(text: &str) -> Result<HeaderValue, String> {
    if text == "*" {
        return Ok(HeaderValue::from_static("*"));
    }
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or("an origin begins with http:// or https://, or is *")?;
    if rest.is_empty() || rest.contains(['/', '?', '#', ' ']) {
        return Err("an origin is a scheme, a host and perhaps a port, with nothing after".into());
    }
    // A browser sends it in lower case (RFC 6454, 6.2).
    HeaderValue::from_str(&text.to_ascii_lowercase()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        let bytes = |text| parse_spool_limit(text).unwrap();
        assert_eq!(bytes("65536"), SpoolLimit::new(65_536).unwrap());
        assert_eq!(bytes("64KiB"), SpoolLimit::new(65_536).unwrap());
        assert_eq!(bytes("256MiB"), SpoolLimit::new(1 << 28).unwrap());
        assert_eq!(bytes("2 GiB"), SpoolLimit::new(1 << 31).unwrap());
        for wrong in ["", "KiB", "64KB", "-1", "1.5MiB", "63KiB", "99999999999GiB"] {
            assert!(parse_spool_limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_kept_has_limits() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_keep_execs("100000"), Ok(100_000));
        for wrong in ["", "0", "-1", "100001", "1e3"] {
            assert!(parse_keep_execs(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_keep_for("24h"), Ok(Duration::from_hours(24)));
        assert_eq!(parse_keep_for("30min"), Ok(Duration::from_mins(30)));
        for wrong in ["", "0s", "24", "-1h", "a day"] {
            assert!(parse_keep_for(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn origins_are_what_a_browser_sends() {
        for right in ["*", "http://localhost:5173", "https://Console.example"] {
            assert!(parse_origin(right).is_ok(), "{right}");
        }
        for wrong in ["", "localhost", "https://", "https://a.example/", "https://a.example/x"] {
            assert!(parse_origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
