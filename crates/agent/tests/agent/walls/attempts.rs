//! The table of attempts: programs that try what walls are for. It is printed, for `docs/isolation.md`.

use std::{
    env, fmt,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
    path::Path,
    time::Duration,
};

use nix::libc;
use serde_json::json;

use super::{User, Walled, users, walls};
use crate::support::{MARKER, marked, none_is_left, run_by, until};

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Reached,
    Held,
    NotTried,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Reached => "reached",
            Self::Held => "held",
            Self::NotTried => "–",
        })
    }
}

/// Scripts that end well where they have reached what they try. `$AGENT` is the agent's process id, `$STATE` its state directory,
/// `$TRY` the program of these tests.
const SCRIPTS: [(&str, &str); 24] = [
    ("list the agent's state directory", "ls $STATE/execs"),
    (
        "the token in the agent's environment",
        "grep -qaz ^SANDPIPE_ADMIN_TOKEN= /proc/[0-9]*/environ",
    ),
    ("the agent's memory", "grep -q . /proc/$AGENT/maps"),
    ("read `~/.ssh`", "cat $HOME/.ssh/id_ed25519"),
    ("write another exec's output", "set -- $STATE/execs/*/; test -d $1 && touch $1/evil"),
    ("write `.git/hooks`", "echo evil > .git/hooks/pre-commit"),
    ("put another `.git` in place", "mv .git old && mkdir .git && echo evil > .git/config"),
    ("write `/etc`", "touch /etc/sandpipe-attempt && rm /etc/sandpipe-attempt"),
    (
        "read `~/.ssh` through a symbolic link",
        "ln -sf $HOME/.ssh/id_ed25519 /tmp/link$$ && cat /tmp/link$$",
    ),
    ("write `.git/config` through a hard link", "ln .git/config hard && echo evil >> hard"),
    (
        "read `~/.ssh` through `/proc/*/root`",
        "cat /proc/[0-9]*/root$HOME/.ssh/id_ed25519 | grep -q secret",
    ),
    (
        "mount something",
        "mkdir -p /tmp/m$$; unshare -m mount -t tmpfs none /tmp/m$$ || unshare -rm mount -t tmpfs none /tmp/m$$",
    ),
    ("signal the agent", "kill -CONT $AGENT"),
    ("a new user namespace", "unshare -U true"),
    ("more rights by a setuid program", "grep -q 'NoNewPrivs:.*0' /proc/self/status"),
    ("a descriptor of the agent's", "cat <&7"),
    ("TCP to the machine", "ATTEMPT=tcp $TRY"),
    ("UDP to the machine", "ATTEMPT=udp $TRY"),
    ("the agent's own port", "ATTEMPT=agent $TRY"),
    ("an abstract socket of the machine", "ATTEMPT=abstract $TRY"),
    ("raw packets, as of ICMP", "ATTEMPT=raw $TRY"),
    ("a socket to the hypervisor (vsock)", "ATTEMPT=vsock $TRY"),
    ("io_uring", "ATTEMPT=io_uring $TRY"),
    ("type into its terminal (TIOCSTI)", "ATTEMPT=tiocsti $TRY"),
];

/// Nobody is kept from these where the network is the machine's.
const NETWORK: [&str; 3] = ["TCP to the machine", "UDP to the machine", "the agent's own port"];

/// No test but what others run as a command: it ends well where it reaches what `ATTEMPT` names.
#[test]
#[ignore = "other tests run it behind walls"]
fn the_attempt() {
    let port = |name: &str| -> u16 { env::var(name).unwrap().parse().unwrap() };
    // SAFETY: none of these gets an address but that of a byte, which lives.
    #[allow(unsafe_code)]
    let call = |outcome: i64| if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    #[allow(unsafe_code)]
    let outcome = match env::var("ATTEMPT").unwrap_or_default().as_str() {
        "tcp" => TcpStream::connect(("127.0.0.1", port("TCP_PORT"))).map(drop),
        "agent" => TcpStream::connect(("127.0.0.1", port("AGENT_PORT"))).map(drop),
        "udp" => UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"attempt", ("127.0.0.1", port("UDP_PORT"))))
            .map(drop),
        "abstract" => {
            let name = format!("sandpipe-attempt-{}", port("TCP_PORT"));
            let address = SocketAddr::from_abstract_name(name).unwrap();
            UnixStream::connect_addr(&address).map(drop)
        }
        // SAFETY: it takes numbers.
        "raw" => call(unsafe { libc::socket(libc::AF_INET, libc::SOCK_RAW, 1) }.into()),
        // SAFETY: it takes numbers.
        "vsock" => call(unsafe { libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0) }.into()),
        "io_uring" => {
            let mut parameters = [0_u64; 15];
            // SAFETY: they are as large as the kernel's (io_uring_setup(2)).
            call(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
        }
        // SAFETY: the kernel reads one byte.
        "tiocsti" => call(unsafe { libc::ioctl(0, libc::TIOCSTI, b"x".as_ptr()) }.into()),
        _ => return,
    };
    outcome.unwrap();
}

/// What listens on the machine.
struct Machine {
    tcp: TcpListener,
    udp: UdpSocket,
    _abstract: UnixListener,
}

impl Machine {
    fn new() -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let name = format!("sandpipe-attempt-{}", tcp.local_addr().unwrap().port());
        let name = SocketAddr::from_abstract_name(name).unwrap();
        Self { tcp, udp, _abstract: UnixListener::bind_addr(&name).unwrap() }
    }

    /// Whether a packet has come.
    fn heard(&self) -> bool {
        let mut packet = [0; 16];
        self.udp.recv(&mut packet).is_ok()
    }
}

fn fill(workspace: &Path, home: &Path) {
    fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
    fs::write(workspace.join(".git/config"), "[core]\n").unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_ed25519"), "secret\n").unwrap();
    fs::write(home.join("token"), "a token that the agent was given by its descriptor\n").unwrap();
}

async fn attempts(user: User, policy: &str) -> Vec<(&'static str, Outcome)> {
    let machine = Machine::new();
    let walled = Walled::start_with(user, &["--policy", policy], fill, |command, home| {
        let token = home.join("token");
        let open = "exec 7<\"$0\"; shift; exec \"$@\"";
        run_by(command, &["sh", "-c", open, token.to_str().unwrap()]);
    });
    let agent = &walled.agent;
    agent.run("true").await;
    let program = env::current_exe().unwrap();
    let arguments = "--ignored --exact walls::attempts::the_attempt --test-threads=1";
    let environment = json!({
        "AGENT": agent.pid().to_string(),
        "STATE": agent.state,
        "HOME": walled.home,
        "TRY": format!("{} {arguments}", program.display()),
        "TCP_PORT": machine.tcp.local_addr().unwrap().port().to_string(),
        "UDP_PORT": machine.udp.local_addr().unwrap().port().to_string(),
        "AGENT_PORT": agent.url.rsplit(':').next().unwrap(),
        "RUST_BACKTRACE": "0",
    });
    let run = async |script: &str, pty: bool| {
        let script = format!("{script}\n");
        let exec = agent
            .create(
                json!({ "command": "sh", "args": ["-c", script], "env": environment, "pty": pty }),
            )
            .await;
        agent.finish(&exec.id).await
    };
    let mut outcomes = Vec::new();
    let mut put = |name, is_reached| {
        outcomes.push((name, if is_reached { Outcome::Reached } else { Outcome::Held }));
    };
    for (name, script) in SCRIPTS {
        let finished = run(script, name.contains("TIOCSTI")).await;
        let mut is_reached = finished.exit_code() == 0;
        if name == "UDP to the machine" {
            // That it was sent does not say that it has come.
            is_reached = machine.heard();
        }
        put(name, is_reached);
        // Where it was moved away it is put back for the next.
        if walled.workspace.join("old").exists() {
            fs::remove_dir_all(walled.workspace.join(".git")).unwrap();
            fs::rename(walled.workspace.join("old"), walled.workspace.join(".git")).unwrap();
        }
    }
    let marker = format!("attempt-{user:?}-{policy}-{}", std::process::id());
    let script = "setsid -f sh -c 'setsid -f sleep 600'; sleep 600";
    let exec = agent
        .create(json!({ "command": "sh", "args": ["-c", script], "env": { MARKER: marker } }))
        .await;
    until("it runs", async || marked(&marker).len() >= 2).await;
    agent.delete(&exec.id).await;
    let survives = tokio::time::timeout(Duration::from_secs(5), none_is_left(&marker)).await;
    put("survive a stop by `setsid` and a double fork", survives.is_err());
    let stops_all = "stop all processes (`kill -STOP -1`)";
    if policy == "open" {
        outcomes.push((stops_all, Outcome::NotTried));
    } else {
        // It does not stop itself.
        agent.run("kill -STOP -1; true").await;
        let next = tokio::time::timeout(Duration::from_secs(20), agent.run("exit 4")).await;
        let is_held = next.is_ok_and(|next| next.exit_code() == 4);
        outcomes.push((stops_all, if is_held { Outcome::Held } else { Outcome::Reached }));
    }
    let killed = run("kill -9 $PPID; exit 5", false).await;
    let has_end = killed.0.last().is_some_and(|last| last.exit_code == Some(5));
    outcomes.push(("kill the box", if has_end { Outcome::Held } else { Outcome::Reached }));
    outcomes
}

#[tokio::test]
async fn what_walls_are_for_is_tried_by_programs() {
    let mut columns = Vec::new();
    let policies =
        if walls() { &["open", "workspace", "offline", "strict"][..] } else { &["open"] };
    for user in users() {
        for policy in policies {
            columns.push((*user, *policy, attempts(*user, policy).await));
        }
    }
    let (_, _, first) = &columns[0];
    let mut table = "\n| attempt |".to_owned();
    for (user, policy, _) in &columns {
        write!(table, " `{policy}`, {} |", if *user == User::Root { "root" } else { "user" })
            .unwrap();
    }
    write!(table, "\n|---|{}\n", "---|".repeat(columns.len())).unwrap();
    for (index, (name, _)) in first.iter().enumerate() {
        write!(table, "| {name} |").unwrap();
        for (_, _, outcomes) in &columns {
            write!(table, " {} |", outcomes[index].1).unwrap();
        }
        table.push('\n');
    }
    writeln!(io::stderr(), "{table}").unwrap();
    let documented = include_str!("../../../../../docs/isolation.md");
    for (name, _) in first {
        assert!(documented.contains(&format!("| {name} |")), "docs/isolation.md lacks: {name}");
    }
    for (user, policy, outcomes) in &columns {
        for (name, outcome) in outcomes {
            let may_be_reached = *policy == "open"
                || (*policy == "workspace" && NETWORK.contains(name))
                // A kernel before 6.12.
                || (*policy == "workspace" && name.starts_with("an abstract socket"));
            assert!(
                *outcome != Outcome::Reached || may_be_reached,
                "{user:?} {policy}: {name}\n{table}"
            );
        }
        // They do try.
        let reached = |name: &str| outcomes.contains(&(name, Outcome::Reached));
        if *policy == "open" {
            for name in [
                "read `~/.ssh`",
                "write `.git/hooks`",
                "put another `.git` in place",
                "TCP to the machine",
            ] {
                assert!(reached(name), "{user:?} {policy}: {name}\n{table}");
            }
        }
        if *policy == "workspace" {
            for name in NETWORK {
                assert!(reached(name), "{user:?} {policy}: {name}\n{table}");
            }
        }
    }
}
