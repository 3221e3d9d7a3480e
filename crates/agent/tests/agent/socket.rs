//! An agent that listens on a Unix domain socket, with a token from its standard input: as in a container.

use std::{
    ffi::OsStr,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use nix::unistd::geteuid;

use crate::support::{READONLY, TIMEOUT, output_of, program, read_ready, run_to_end};

const TOKEN: &str = "token-of-standard-input";

fn spawn(directory: &Path, flags: &[&str]) -> Child {
    spawn_by(Command::new(program()), directory, flags)
}

fn spawn_by(mut program: Command, directory: &Path, flags: &[&str]) -> Child {
    program
        .arg("--listen-socket")
        .arg(directory.join("agent.sock"))
        .arg("--state-dir")
        .arg(directory.join("state"))
        .args(["--admin-token-stdin", "--until-stdin-closes"])
        .args(flags)
        .env("SANDPIPE_READONLY_TOKEN", READONLY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn give_token(agent: &mut Child) {
    writeln!(agent.stdin.as_mut().unwrap(), "{TOKEN}").unwrap();
}

/// What is answered to a request on a connection of its own.
fn ask(socket: &Path, head: &str, body: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head}\r\nHost: 127.0.0.1:1\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn with_token(request: &str, token: &str) -> String {
    format!("{request} HTTP/1.1\r\nAuthorization: Bearer {token}")
}

#[test]
fn it_serves_a_socket_with_the_token_of_its_standard_input_until_that_ends() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("agent.sock");
    let mut agent = spawn(directory.path(), &[]);
    give_token(&mut agent);
    let ready = read_ready(&mut agent);
    assert_eq!(ready["url"], format!("unix:{}", socket.display()));
    assert_eq!(ready["adminTokenFile"], serde_json::Value::Null);
    // Its folder says who can reach it.
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o666);

    let list = "GET /api/v1/execs";
    for (token, status) in [(TOKEN, "200"), (READONLY, "200"), ("wrong", "401")] {
        let answer = ask(&socket, &with_token(list, token), "");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{token}: {answer}");
    }
    let create = with_token("POST /api/v1/execs", TOKEN);
    let body = r#"{ "command": "sh", "args": ["-c", "env; cat /proc/$PPID/cmdline; head -c 3000000 /dev/zero | tr '\\0' x"] }"#;
    let answer = ask(&socket, &create, body);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let id = answer.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap();
    let stream = format!("GET /api/v1/stream/execs/{id}/io");
    let output = ask(&socket, &with_token(&stream, TOKEN), "");
    assert!(output.matches('x').count() >= 3_000_000, "{output:.2000}");
    assert!(!output.contains(TOKEN));

    drop(agent.stdin.take());
    assert!(output_of(agent).status.success());
}

#[test]
fn it_does_not_start_without_a_token_on_its_standard_input() {
    for input in ["", "\n", "two words\n"] {
        let directory = tempfile::tempdir().unwrap();
        let mut agent = spawn(directory.path(), &[]);
        agent.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = output_of(agent);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(said.contains("standard input holds no token"), "{input:?}: {said}");
    }
}

#[test]
fn it_has_read_its_standard_input_before_it_says_what_is_wrong() {
    for flag in ["--no-such-flag", "--workspace=/no/such", "--default-user=nobody-such"] {
        let directory = tempfile::tempdir().unwrap();
        let mut agent = spawn(directory.path(), &[flag]);
        let mut stdin = agent.stdin.take().unwrap();
        writeln!(stdin, "{TOKEN}").unwrap();
        let output = output_of(agent);
        assert!(!output.status.success());
        assert_ne!(output.stderr, b"");
        assert_eq!(rustix::io::ioctl_fionread(&stdin).unwrap(), 0, "{flag}");
    }
}

#[test]
fn it_takes_either_a_socket_or_an_address_and_no_path_where_something_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = spawn(directory.path(), &["--listen", "127.0.0.1:0"]);
    give_token(&mut agent);
    let said = output_of(agent).stderr;
    assert!(String::from_utf8(said).unwrap().contains("cannot be used with"));

    let socket = directory.path().join("agent.sock");
    std::fs::write(&socket, "").unwrap();
    let mut agent = spawn(directory.path(), &[]);
    give_token(&mut agent);
    let said = String::from_utf8(output_of(agent).stderr).unwrap();
    assert!(said.contains(&format!("can't listen on a socket at {}", socket.display())), "{said}");
}

/// A program as a user has it, also where that is root: without the rights to look into all processes (`mm_access` of
/// Linux asks for one of these).
fn ordinary(program: impl AsRef<OsStr>) -> Command {
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let without = "-sys_ptrace,-perfmon,-sys_admin";
    command.args([&format!("--bounding-set={without}"), &format!("--inh-caps={without}")]);
    command.arg(program);
    command
}

fn can_look_into(pid: u32) -> bool {
    let mut command = ordinary("cat");
    run_to_end(command.arg(format!("/proc/{pid}/environ"))).status.success()
}

#[test]
fn no_process_of_its_user_can_look_into_it() {
    let mut other = ordinary("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It is what it is to be when it answers.
    other.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert!(can_look_into(other.id()));
    other.kill().unwrap();
    other.wait().unwrap();

    let directory = tempfile::tempdir().unwrap();
    let mut agent = spawn_by(ordinary(program()), directory.path(), &[]);
    give_token(&mut agent);
    read_ready(&mut agent);
    assert!(!can_look_into(agent.id()));
    agent.kill().unwrap();
    agent.wait().unwrap();
}
