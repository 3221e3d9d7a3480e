use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    process::Command,
    thread,
};

use serde_json::json;

use super::{User, Walled, proxied_programs::own_address, users, walls};
use crate::support::{needs, needs_root, run_by};

#[tokio::test]
async fn hosts_that_are_named_are_reached_and_no_others() {
    if !walls() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            // It may come in parts.
            while !request.ends_with(b"\r\n\r\n") {
                let mut some = [0; 4096];
                let count = stream.read(&mut some).unwrap();
                assert!(count > 0, "{request:?}");
                request.extend_from_slice(&some[..count]);
            }
            let request = String::from_utf8_lossy(&request).replace("\r\n", "|");
            let status = if request.starts_with("GET /redirect ") {
                "302 Found\r\nLocation: http://elsewhere.example/"
            } else {
                "200 OK"
            };
            let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{request}");
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    let allowed = format!("localhost:{port}");
    let walled = Walled::start(&[
        "--policy",
        "workspace",
        "--allow-net",
        &allowed,
        "--allow-net",
        "*.invalid",
    ]);
    let via = |request: &str| {
        format!("exec 3<>/dev/tcp/127.0.0.1/57469 && printf '{request}' >&3 && timeout 50 cat <&3")
    };
    let bash = async |script: &str| {
        let exec = walled.agent.create(json!({ "command": "bash", "args": ["-c", script] })).await;
        walled.agent.finish(&exec.id).await.output()
    };
    let tunnel =
        bash(&via(&format!("CONNECT {allowed} HTTP/1.1\\r\\n\\r\\nGET /x HTTP/1.0\\r\\n\\r\\n")))
            .await;
    assert!(
        tunnel.contains("200 Connection established") && tunnel.contains("GET /x HTTP/1.0||"),
        "{tunnel}"
    );
    let passed = bash(&via(&format!(
        "GET http://{allowed}/y HTTP/1.1\\r\\nProxy-Connection: x\\r\\n\\r\\n"
    )))
    .await;
    assert!(
        passed.ends_with(&format!("GET /y HTTP/1.1|Host: {allowed}|Connection: close||")),
        "{passed}"
    );
    for other in [
        format!("127.0.0.1:{port}"),
        "localhost:1".into(),
        "example.com:443".into(),
        "169.254.169.254:80".into(),
        format!("[::1]:{port}"),
    ] {
        let answer = bash(&via(&format!("CONNECT {other} HTTP/1.1\\r\\n\\r\\n"))).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{other}: {answer}");
        assert!(
            answer.contains(&format!("no rule of the policy's network.allow names {other}")),
            "{answer}"
        );
    }
    // A redirect leads nowhere else, either.
    let redirect = bash(&via(&format!("GET http://{allowed}/redirect HTTP/1.1\\r\\n\\r\\n"))).await;
    let (_, destination) = redirect.split_once("Location: ").unwrap();
    let destination = destination.lines().next().unwrap();
    let answer = bash(&via(&format!("GET {destination} HTTP/1.1\\r\\n\\r\\n"))).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{destination}: {answer}");
    let unknown = bash(&via("CONNECT no-such-name.invalid:80 HTTP/1.1\\r\\n\\r\\n")).await;
    assert!(unknown.starts_with("HTTP/1.1 502 "), "{unknown}");
    let direct = bash(&format!("echo > /dev/tcp/127.0.0.2/{port} && echo DONE")).await;
    assert!(!direct.contains("DONE"), "{direct}");
    let name = bash("getent hosts example.com && echo DONE").await;
    assert!(!name.contains("DONE"), "{name}");
    let udp = bash("echo x > /dev/udp/192.0.2.1/53 && echo DONE").await;
    assert!(!udp.contains("DONE"), "{udp}");
    assert!(bash("echo $https_proxy").await.contains("http://127.0.0.1:57469"));
}

#[tokio::test]
async fn a_rule_for_all_names_leads_neither_to_the_machine_nor_to_its_metadata() {
    if !walls() {
        return;
    }
    for user in users() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let walled = Walled::start_as(*user, &["--allow-net", "*"]);
        for destination in [
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("127.1:{port}"),
            format!("2130706433:{port}"),
            format!("[::1]:{port}"),
            format!("[::ffff:127.0.0.1]:{port}"),
            "169.254.169.254:80".into(),
        ] {
            let script = format!(
                "exec 3<>/dev/tcp/127.0.0.1/57469 && printf 'CONNECT {destination} HTTP/1.1\\r\\n\\r\\n' >&3 && timeout 50 cat <&3"
            );
            let exec =
                walled.agent.create(json!({ "command": "bash", "args": ["-c", script] })).await;
            let answer = walled.agent.finish(&exec.id).await.output();
            let is_refused = ["HTTP/1.1 403 ", "HTTP/1.1 400 ", "HTTP/1.1 502 "]
                .iter()
                .any(|status| answer.starts_with(status));
            assert!(is_refused, "{user:?} {destination}: {answer}");
            if destination.starts_with("localhost") {
                assert!(answer.contains("is 127.0.0.1, this machine"), "{user:?}: {answer}");
            }
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "somebody has got through");
    }
}

#[tokio::test]
async fn a_rule_for_a_name_does_not_lead_to_this_machines_own_address() {
    if !walls() || !needs_root("say what a name leads to") {
        return;
    }
    let address = own_address();
    needs(address.is_some(), "an address of this machine that others reach");
    let Some(address) = address else { return };
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let hosts = |workspace: &Path, _: &Path| {
        fs::write(workspace.join("hosts"), format!("{address} own.example\n")).unwrap();
    };
    let with_hosts = |command: &mut Command, home: &Path| {
        let hosts = home.with_file_name("workspace").join("hosts");
        let mount = "mount --bind \"$0\" /etc/hosts && shift && exec \"$@\"";
        run_by(command, &["unshare", "--mount", "sh", "-c", mount, hosts.to_str().unwrap()]);
    };
    let args = ["--allow-net", "*.example"];
    let walled = Walled::start_with(User::Root, &args, hosts, with_hosts);
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/57469 && printf 'CONNECT own.example:{port} HTTP/1.1\\r\\n\\r\\n' >&3 && timeout 50 cat <&3"
    );
    let exec = walled.agent.create(json!({ "command": "bash", "args": ["-c", script] })).await;
    let answer = walled.agent.finish(&exec.id).await.output();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains(&format!("is {address}, this machine")), "{answer}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody has got through");
}
