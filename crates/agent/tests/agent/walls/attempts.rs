//! The table of attempts: programs that try what walls are for. It is printed, for `docs/isolation.md`.

#[path = "../../../../../tests/support/attempt.rs"]
mod attempt;

use std::{
    env, fmt,
    fmt::Write as _,
    fs::{self, File},
    io::{self, Write as _},
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::chown,
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use nix::{
    sys::stat::Mode,
    unistd::{geteuid, mkfifo},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    NOBODY, User, Walled,
    exhaustion::{self, ENOUGH},
    later_mounts, planted_program, replaced_program, users, walls,
};
use crate::support::{
    Agent, MARKER, mark, marked, none_is_left, program_for_all, run_by, set_mode, shared_directory,
    until,
};

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Reached,
    Held,
    NotTried,
}

impl Outcome {
    pub(super) fn of(is_reached: bool) -> Self {
        if is_reached { Self::Reached } else { Self::Held }
    }
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

/// A script that ends well where it has reached what it tries. `$AGENT` is the agent's process id, `$EXECS` the directory of its
/// execs, `$TRY` a program that does what `$ATTEMPT` names.
#[derive(Deserialize)]
struct Script {
    name: String,
    #[serde(rename = "script")]
    text: String,
    #[serde(default)]
    pty: bool,
}

/// A file of its own: programs in other places can be had to try the same.
const SCRIPTS: &str = include_str!("../../../../../tests/support/attempts.json");

/// Nobody is kept from these where the network is the machine's.
const NETWORK: [&str; 3] = ["TCP to the machine", "UDP to the machine", "the agent's own port"];

/// No test but what others run as a command.
#[test]
#[ignore = "other tests run it behind walls"]
fn the_attempt() {
    attempt::attempt().unwrap();
}

/// A script that runs that test, where commands see both under every policy: the checkout may lie below `/tmp`, which is private.
pub(super) fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let tests = program_for_all(&env::current_exe().unwrap());
        let script = shared_directory().join("attempt");
        let line = "--ignored --exact walls::attempts::the_attempt --test-threads=1";
        fs::write(&script, format!("#!/bin/sh\nexec '{}' {line}\n", tests.display())).unwrap();
        set_mode(&script, 0o755);
        script
    });
    &PROGRAM
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
    fs::create_dir(workspace.join(".vscode")).unwrap();
    fs::write(workspace.join(".npmrc"), "").unwrap();
    let store = home.join(".local/share/pnpm/store");
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("linked"), "").unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id_ed25519"), "secret\n").unwrap();
    fs::write(home.join(".netrc"), "secret\n").unwrap();
    fs::create_dir(home.join("later")).unwrap();
    fs::write(home.join("token"), "a token that the agent was given by its descriptor\n").unwrap();
}

async fn attempts(user: User, policy: &str) -> Vec<(String, Outcome)> {
    let machine = Machine::new();
    let walled = Walled::start_with(user, &["--policy", policy], fill, |command, home| {
        command.env("SERVICE_TOKEN", "of another service");
        let token = home.join("token");
        let open = "exec 7<\"$0\"; shift; exec \"$@\"";
        run_by(command, &["sh", "-c", open, token.to_str().unwrap()]);
    });
    let agent = &walled.agent;
    agent.run("true").await;
    let environment = environment(&walled, &machine);
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
    let mut put = |name: &str, is_reached| {
        outcomes.push((name.to_owned(), Outcome::of(is_reached)));
    };
    for Script { name, text, pty } in serde_json::from_str::<Vec<Script>>(SCRIPTS).unwrap() {
        let finished = run(&text, pty).await;
        let mut is_reached = finished.exit_code() == 0;
        if name == "UDP to the machine" {
            // That it was sent does not say that it has come.
            is_reached = machine.heard();
        }
        put(&name, is_reached);
        // Where it was moved away it is put back for the next.
        if walled.workspace.join("old").exists() {
            fs::remove_dir_all(walled.workspace.join(".git")).unwrap();
            fs::rename(walled.workspace.join("old"), walled.workspace.join(".git")).unwrap();
        }
    }
    let [netrc, new, later] = [".netrc", "new", "later"].map(|name| walled.home.join(name));
    fs::write(&new, "secret\n").unwrap();
    if user == User::Ordinary && geteuid().is_root() {
        chown(&new, Some(NOBODY), None).unwrap();
    }
    fs::rename(&new, &netrc).unwrap();
    let succeeds = async |script: &str| run(script, false).await.exit_code() == 0;
    put("read `~/.netrc` when an editor has replaced it", succeeds("cat ~/.netrc").await);
    let socket = walled.home.join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    set_mode(&socket, 0o777);
    let connect = r#"perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); exit !connect($s, sockaddr_un("$ENV{HOME}/socket"))'"#;
    put("connect to a socket in the home", succeeds(connect).await);
    let change = "echo evil >> ~/.local/share/pnpm/store/linked";
    // Behind walls it is written to another store.
    walled.agent.run(change).await;
    let is_changed = fs::read(walled.home.join(".local/share/pnpm/store/linked")).unwrap() != b"";
    let name = "change a package that other projects link from pnpm's store";
    put(name, is_changed);
    fs::rename(&socket, walled.home.join("renamed")).unwrap();
    let connect = connect.replace("socket\")", "renamed\")");
    put("connect to a socket in the home that was renamed", succeeds(&connect).await);
    let name = "list the state directory of another agent";
    put(name, sees_another_agent(&walled, user).await);
    // The mode that it has, lest the machine is harmed.
    put("change the mode of `/dev/null`", succeeds("chmod 666 /dev/null").await);
    let pipe = walled.home.join("pipe");
    mkfifo(&pipe, Mode::empty()).unwrap();
    set_mode(&pipe, 0o666);
    let _reader = File::options().read(true).write(true).open(&pipe).unwrap();
    put("write to a named pipe in the home", succeeds("echo evil > ~/pipe").await);
    let mounted = "see what was mounted after the sandbox started";
    if geteuid().is_root() {
        later_mounts::mount_directory(&later);
        put(mounted, succeeds("test -e ~/later/of-the-machine").await);
        later_mounts::unmount(&later);
    } else {
        outcomes.push((mounted.to_owned(), Outcome::NotTried));
    }
    let mut put = |name: &str, is_reached| {
        outcomes.push((name.to_owned(), Outcome::of(is_reached)));
    };
    let marker = format!("attempt {user:?} {policy}");
    put("survive a stop by `setsid` and a double fork", survives_a_stop(agent, &marker).await);
    let stops_all = "stop all processes (`kill -STOP -1`)";
    if policy == "open" {
        outcomes.push((stops_all.to_owned(), Outcome::NotTried));
    } else {
        // It does not stop itself.
        agent.run("kill -STOP -1; true").await;
        let next = timeout(ENOUGH, agent.run("exit 4")).await;
        let is_held = next.is_ok_and(|next| next.exit_code() == 4);
        outcomes.push((stops_all.to_owned(), Outcome::of(!is_held)));
    }
    let killed = run("kill -9 $PPID; exit 5", false).await;
    let has_end = killed.0.last().is_some_and(|last| last.exit_code == Some(5));
    outcomes.push(("kill the box".to_owned(), Outcome::of(!has_end)));
    outcomes.push((
        "have its own program started as bubblewrap by `node_modules/.bin`".to_owned(),
        Outcome::of(is_planted_program_started(&walled, user).await),
    ));
    drop(walled);
    outcomes.extend(replaced_program::attempts(user, policy).await);
    outcomes.extend(exhaustion::attempts(user, policy).await);
    outcomes
}

/// Makes the environment of the scripts.
fn environment(walled: &Walled, machine: &Machine) -> Value {
    let agent = &walled.agent;
    json!({
        "AGENT": agent.pid().to_string(),
        "EXECS": agent.state.join("execs"),
        "HOME": walled.home,
        "TRY": program(),
        "TCP_PORT": machine.tcp.local_addr().unwrap().port().to_string(),
        "UDP_PORT": machine.udp.local_addr().unwrap().port().to_string(),
        "AGENT_PORT": agent.url.rsplit(':').next().unwrap(),
        "RUST_BACKTRACE": "0",
    })
}

async fn sees_another_agent(walled: &Walled, user: User) -> bool {
    let other = walled.another(user, &[]);
    other.run("true").await;
    let list = format!("ls '{}'", other.state.join("execs").display());
    walled.agent.run(&list).await.exit_code() == 0
}

async fn survives_a_stop(agent: &Agent, marker: &str) -> bool {
    let script = "setsid sh -c 'setsid sleep 600 &' & sleep 600";
    let exec = agent
        .create(json!({ "command": "sh", "args": ["-c", script], "env": { MARKER: mark(marker) } }))
        .await;
    until("it runs", async || marked(marker).len() >= 2).await;
    agent.delete(&exec.id).await;
    timeout(ENOUGH, none_is_left(marker)).await.is_err()
}

async fn is_planted_program_started(walled: &Walled, user: User) -> bool {
    let plants = "mkdir -p node_modules/.bin && cd node_modules/.bin &&
        printf '#!/bin/sh\\n: > \"%s\"\\n' \"$PWD/ran\" > bwrap && chmod 755 bwrap";
    walled.agent.run(plants).await;
    let programs = walled.workspace.join("node_modules/.bin");
    if walls() {
        // The next agent, as npx starts it.
        let next = walled.another_with(user, &["--policy", "strict"], |command| {
            planted_program::search_first(command, &programs);
        });
        next.run("true").await;
    }
    programs.join("ran").exists()
}

#[tokio::test]
async fn what_walls_are_for_is_tried_by_programs() {
    if geteuid().is_root() {
        later_mounts::share_mounts();
    }
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
                || (*policy == "workspace" && NETWORK.contains(&&**name))
                // A kernel before 6.12.
                || (*policy == "workspace" && name.starts_with("an abstract socket"));
            assert!(
                *outcome != Outcome::Reached || may_be_reached,
                "{user:?} {policy}: {name}\n{table}"
            );
        }
        // They do try.
        let reached = |name: &str| outcomes.contains(&(name.to_owned(), Outcome::Reached));
        if *policy == "open" {
            for name in [
                "a token of another service in the agent's environment",
                "read `~/.ssh`",
                "write `.git/hooks`",
                "lead git to settings of its own by `.git/commondir`",
                "put another `.git` in place",
                "have npm run a shell of its own by `.npmrc`",
                "put another `.vscode` in place",
                "read `~/.netrc` when an editor has replaced it",
                "connect to a socket in the home",
                "change a package that other projects link from pnpm's store",
                "connect to a socket in the home that was renamed",
                "list the state directory of another agent",
                "write to a named pipe in the home",
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
