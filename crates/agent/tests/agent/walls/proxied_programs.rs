//! Programs of every day that reach a host by the proxy that their environment names.

use std::{
    env,
    io::{Read, Write},
    net::{IpAddr, TcpListener, UdpSocket},
    path::PathBuf,
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
};

use super::{Walled, can_run, users, walls};
use crate::support::needs;

/// Name of a program, and a script that has it send a request to `$URL`, which its server does not
/// answer as it expects.
const PROGRAMS: [(&str, &str); 8] = [
    (
        "cargo",
        "CARGO_NET_RETRY=0 CARGO_REGISTRIES_A_INDEX=\"sparse+$URL/\" cargo search --registry a x",
    ),
    ("curl", "curl -s \"$URL/\""),
    ("git", "git ls-remote \"$URL/a.git\""),
    ("go", "GONOSUMDB='*' GOPROXY=\"$URL\" go mod download example.org/m@v1.0.0"),
    ("npm", "npm view x --registry \"$URL\" --fetch-retries=0"),
    (
        "pip",
        "pip download --retries 0 --no-deps --trusted-host \"${URL##*/}\" -i \"$URL/simple/\" x",
    ),
    ("python3", "python3 -c 'import os, urllib.request as u; u.urlopen(os.environ[\"URL\"])'"),
    ("wget", "wget -q -O- --tries=1 \"$URL/\""),
];

/// Libraries of Python that have ways of their own to read the variables.
const LIBRARIES: [&str; 2] = ["httpx", "requests"];

#[tokio::test]
async fn programs_reach_a_host_by_http_and_by_https() {
    if !walls() {
        return;
    }
    let address = own_address();
    needs(address.is_some(), "an address of this machine that others reach");
    let Some(address) = address else { return };
    let (port, requests) = serve(address);
    let change = |command: &mut Command| {
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        let rustup = env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
        command.env("RUSTUP_HOME", rustup);
        // As npx sets it.
        command.env("npm_config_noproxy", "");
    };
    let allowed = format!("{address}:{port}");
    let walled = Walled::start_with(
        users()[0],
        &["--allow-net", &allowed],
        |_, _| {},
        |command, _| change(command),
    );
    let libraries = LIBRARIES.map(|library| (library, python_with(library)));
    let libraries = libraries.into_iter().map(|(library, python)| {
        let script = format!("import os, {library}; {library}.get(os.environ[\"URL\"])");
        (library, python.map(|python| format!("{python} -c '{script}'")))
    });
    let programs = PROGRAMS.map(|(name, script)| (name, can_run(name).then(|| script.to_owned())));
    for (name, script) in programs.into_iter().chain(libraries) {
        if !needs(script.is_some(), name) {
            continue;
        }
        let script = script.unwrap_or_default();
        for (scheme, first) in [("http", b'G'), ("https", TLS_HANDSHAKE)] {
            let run = walled.agent.run(&format!("export URL={scheme}://{allowed}; {script}")).await;
            let seen: Vec<u8> = requests.try_iter().collect();
            assert!(seen.contains(&first), "{name} {scheme}: {seen:?} {}", run.output());
        }
    }
}

/// First byte of a connection by TLS (RFC 8446, 5.1).
const TLS_HANDSHAKE: u8 = 22;

/// Finds a Python that has a library; Debian's is known to no other one.
fn python_with(library: &str) -> Option<&'static str> {
    ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let import = format!("import {library}");
        Command::new(python).args(["-c", &import]).output().is_ok_and(|run| run.status.success())
    })
}

/// Serves on a port, and sends the first byte of each connection before it answers.
fn serve(address: IpAddr) -> (u16, Receiver<u8>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let sender = sender.clone();
            thread::spawn(move || {
                let mut request = [0; 4096];
                let count = stream.read(&mut request).unwrap_or(0);
                if count == 0 || sender.send(request[0]).is_err() {
                    return;
                }
                let head =
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _gone = stream.write_all(head.as_bytes());
            });
        }
    });
    (port, requests)
}

/// The address of this machine that others reach, if it has one.
pub(super) fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback()).then_some(address)
}
