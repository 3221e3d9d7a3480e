//! Hosts that programs reach without the proxy: named ports of this machine's loopback, and names.

use std::{
    fs,
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener},
    path::Path,
    process::Command,
    thread,
};

use serde_json::json;

use super::{User, Walled, can_run, proxied_programs::own_address, users, walls};
use crate::support::{message_of, needs, needs_root, run_by};

/// Has a client read what a port answers.
const ASK: &str = "import socket, sys
answer = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60).makefile().readline()
print(answer.strip())";

/// Listens where another one does, in every way, and then where nobody does.
const BIND: &str = "import socket, sys
for address in ['127.0.0.1', '0.0.0.0', '::1', '::']:
    for option in [None, socket.SO_REUSEADDR, socket.SO_REUSEPORT]:
        server = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET)
        if option is not None:
            server.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            server.bind((address, int(sys.argv[1])))
            server.listen()
            print('bound', address, option)
        except OSError as error:
            assert error.errno == 98, error
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b'own\\n')
print(client.makefile().readline().strip())";

/// Serves on a port of this machine, whose answer is a text and a line of what it is asked.
fn serve(listener: TcpListener, text: &'static str) -> u16 {
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _gone = stream.unwrap().write_all(format!("{text}\n").as_bytes());
        }
    });
    port
}

fn serve_on(address: impl Into<IpAddr>, text: &'static str) -> u16 {
    serve(TcpListener::bind((address.into(), 0)).unwrap(), text)
}

/// Runs a script of Python; returns what it writes.
async fn python(walled: &Walled, script: &str, args: &[&str]) -> String {
    let args: Vec<&str> = ["-c", script].iter().chain(args).copied().collect();
    let exec = walled.agent.create(json!({ "command": "/usr/bin/python3", "args": args })).await;
    walled.agent.finish(&exec.id).await.output()
}

async fn ask(walled: &Walled, host: &str, port: u16) -> String {
    python(walled, ASK, &[host, &port.to_string()]).await
}

fn can_test() -> bool {
    walls() && needs(can_run("/usr/bin/python3"), "Debian's Python")
}

#[tokio::test]
async fn a_port_of_loopback_is_reached_where_the_policy_names_it() {
    if !can_test() {
        return;
    }
    let named = serve_on(Ipv4Addr::LOCALHOST, "named");
    let by_name = serve_on(Ipv4Addr::LOCALHOST, "by name");
    let other = serve_on(Ipv4Addr::LOCALHOST, "other");
    for user in users() {
        let rules = [format!("127.0.0.1:{named}"), format!("localhost:{by_name}")];
        let args = ["--allow-net", &rules[0], "--allow-net", &rules[1]];
        let walled = Walled::start_as(*user, &args);
        for host in ["127.0.0.1", "localhost"] {
            assert_eq!(ask(&walled, host, named).await, "named\n", "{user:?} {host}");
            assert_eq!(ask(&walled, host, by_name).await, "by name\n", "{user:?} {host}");
            let refused = ask(&walled, host, other).await;
            assert!(refused.contains("ConnectionRefusedError"), "{user:?} {host}: {refused}");
        }
        // A command takes its place from no other, and keeps its own servers.
        for port in [named, by_name] {
            let bound = python(&walled, BIND, &[&port.to_string()]).await;
            let foreign = |line: &&str| line.starts_with("bound 127") || line.contains("0.0.0.0");
            assert!(bound.ends_with("own\n"), "{user:?}: {bound}");
            assert_eq!(bound.lines().find(foreign), None, "{user:?}: {bound}");
        }
        assert_eq!(ask(&walled, "127.0.0.1", named).await, "named\n", "{user:?}");
    }
}

#[tokio::test]
async fn a_port_of_ipv6_is_reached_where_the_policy_names_it() {
    let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if !can_test() || !needs(has_ipv6, "IPv6") {
        return;
    }
    let port = serve_on(Ipv6Addr::LOCALHOST, "six");
    let walled = Walled::start(&["--allow-net", &format!("[::1]:{port}")]);
    assert_eq!(ask(&walled, "::1", port).await, "six\n");
    let refused = ask(&walled, "127.0.0.1", port).await;
    assert!(refused.contains("ConnectionRefusedError"), "{refused}");
}

#[tokio::test]
async fn a_port_that_nobody_serves_is_reset() {
    if !can_test() {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let walled = Walled::start(&["--allow-net", &format!("127.0.0.1:{port}")]);
    let reset = ask(&walled, "127.0.0.1", port).await;
    assert!(reset.contains("ConnectionResetError"), "{reset}");
}

#[tokio::test]
async fn a_narrower_policy_has_the_ports_that_it_names() {
    if !can_test() {
        return;
    }
    let first = serve_on(Ipv4Addr::LOCALHOST, "first");
    let second = serve_on(Ipv4Addr::LOCALHOST, "second");
    let rules = [first, second].map(|port| format!("127.0.0.1:{port}"));
    let walled = Walled::start(&["--allow-net", &rules[0], "--allow-net", &rules[1]]);
    for (port, expected) in [(first, "first"), (second, "ConnectionRefusedError")] {
        let policy = json!({ "network": { "allow": [rules[0]] } });
        let create = json!({
            "command": "/usr/bin/python3",
            "args": ["-c", ASK, "127.0.0.1", port.to_string()],
            "policy": policy.to_string(),
        });
        let exec = walled.agent.create(create).await;
        let output = walled.agent.finish(&exec.id).await.output();
        assert!(output.contains(expected), "{output}");
    }
    // Under a rule for all names this one leads nowhere.
    let walled = Walled::start(&["--allow-net", "*"]);
    let policy = json!({ "network": { "allow": [format!("localhost:{first}")] } });
    let create = json!({ "command": "true", "args": [], "policy": policy.to_string() });
    let response = walled.agent.try_create(create).await;
    assert_eq!(response.status(), 403);
    assert!(message_of(response).await.contains("network is wider"));
}

#[tokio::test]
async fn a_port_below_1024_is_reached_by_every_user() {
    if !can_test() || !needs_root("listen at a port below 1024") {
        return;
    }
    let port = serve(low_port(Ipv4Addr::LOCALHOST.into()), "low");
    for user in users() {
        let walled = Walled::start_as(*user, &["--allow-net", &format!("127.0.0.1:{port}")]);
        assert_eq!(ask(&walled, "127.0.0.1", port).await, "low\n", "{user:?}");
    }
}

/// Listens at a port that only root may listen at, and nobody uses.
fn low_port(address: IpAddr) -> TcpListener {
    (600..1024).find_map(|port| TcpListener::bind((address, port)).ok()).unwrap()
}

#[tokio::test]
async fn programs_that_know_no_proxy_reach_a_name() {
    if !can_test() || !needs_root("say what a name leads to") || !needs(can_run("node"), "Node.js")
    {
        return;
    }
    let address = own_address();
    needs(address.is_some(), "an address of this machine that others reach");
    let Some(address) = address else { return };
    let listener = low_port(address);
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            // It may come in parts.
            while !request.ends_with(b"\r\n\r\n") {
                let mut some = [0; 4096];
                match stream.read(&mut some) {
                    Ok(count) if count > 0 => request.extend_from_slice(&some[..count]),
                    _ => break,
                }
            }
            let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nnamed";
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    let hosts = |workspace: &Path, _: &Path| {
        fs::write(workspace.join("hosts"), format!("{address} own.example\n")).unwrap();
    };
    for user in ["0", "1"] {
        let with_hosts = |command: &mut Command, home: &Path| {
            let mount = "mount --bind \"$0/workspace/hosts\" /etc/hosts && \
                chown -R \"$NUMBER\" \"$0\" && shift && \
                exec setpriv --reuid \"$NUMBER\" --regid 1 --clear-groups \"$@\"";
            let root = home.parent().unwrap().to_str().unwrap();
            run_by(command, &["unshare", "--mount", "sh", "-c", mount, root]);
            command.env("NUMBER", user);
        };
        let rules = [format!("own.example:{port}"), format!("{address}:{port}")];
        let args = ["--allow-net", &rules[0], "--allow-net", &rules[1]];
        let walled = Walled::start_with(User::Root, &args, hosts, with_hosts);
        // As Node.js before 22.21 does it.
        let fetch = "delete process.env.NODE_USE_ENV_PROXY; \
                     fetch(process.argv[1]).then(async (got) => console.log(await got.text()))";
        let url = format!("http://own.example:{port}/");
        let run = format!("unset NODE_USE_ENV_PROXY; node -e '{fetch}' '{url}'; cat /etc/hosts");
        let output = walled.agent.run(&run).await.output();
        let expected = format!("named\n127.83.0.1 own.example\n{address} own.example\n");
        assert_eq!(output, expected, "{user}");
        // The proxy is used by those that know it.
        let curl = walled.agent.run(&format!("curl -sv '{url}' 2>&1")).await.output();
        assert!(curl.contains("named") && curl.contains("57469"), "{user}: {curl}");
        walled.refuses(&["echo > /etc/hosts", "rm /etc/hosts", "mv /etc/hosts /tmp/"]).await;
    }
}
