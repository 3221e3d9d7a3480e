//! Which ports are listened on, and whose they are.

use std::net::TcpListener;

use reqwest::Method;
use sandpipe_protocol::{PortInfo, PortsListResponse};
use serde_json::json;

use super::listening;
use crate::{
    support::{Agent, Events, READONLY, needs, needs_root, open_files, until, within},
    walls::{Walled, walls},
};

/// What waits for the end of its input.
const WAIT: &str = "<STDIN>;";

impl Agent {
    async fn ports(&self) -> Vec<PortInfo> {
        let response = within(self.request(Method::GET, "/api/v1/ports").send()).await.unwrap();
        assert_eq!(response.status(), 200);
        within(response.json::<PortsListResponse>()).await.unwrap().ports
    }

    /// What is told of a port.
    async fn port(&self, port: u16) -> Option<PortInfo> {
        self.ports().await.into_iter().find(|info| info.port == port)
    }

    fn port_of_itself(&self) -> u16 {
        self.url.rsplit(':').next().unwrap().parse().unwrap()
    }
}

/// The next list in which a port is, or is not.
async fn until_listed(stream: &mut Events, port: u16, is_listed: bool) -> Option<PortInfo> {
    within(async {
        loop {
            let list: PortsListResponse =
                serde_json::from_str(&stream.next().await.expect("it goes on")).unwrap();
            let found = list.ports.into_iter().find(|info| info.port == port);
            if found.is_some() == is_listed {
                return found;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_port_comes_and_goes_in_the_stream() {
    let agent = Agent::start();
    let mut stream = Events::of(&agent, "/api/v1/stream/ports").await;
    // At once, whatever there is.
    stream.next().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let info = until_listed(&mut stream, port, true).await.unwrap();
    assert_eq!(info.address, "127.0.0.1");
    assert_eq!(info.pid, Some(std::process::id()));
    // It is the tests' own, and no exec's.
    assert_eq!(info.exec, None);
    drop(listener);
    until_listed(&mut stream, port, false).await;
    let worker = agent.worker_pids()[0];
    drop(stream);
    if !needs_root("look into the worker") {
        return;
    }
    until("nobody looks any more", async || open_files(worker).len() == 3).await;
}

#[tokio::test]
async fn the_process_and_the_exec_that_have_a_port_are_told() {
    let agent = Agent::start();
    let has_ipv6 = needs(TcpListener::bind("[::1]:0").is_ok(), "IPv6 on this machine");
    let addresses = ["127.0.0.1", "0.0.0.0", "::1", "::"];
    for address in addresses.into_iter().filter(|address| has_ipv6 || !address.contains(':')) {
        let (id, port) = agent.serve(&(listening(address) + WAIT), json!({})).await;
        let info = agent.port(port).await.unwrap();
        let exec = agent.get(&id).await;
        let expected = PortInfo {
            port,
            address: address.into(),
            pid: Some(exec.pid),
            command: Some("perl".into()),
            exec: Some(id),
        };
        assert_eq!(info, expected);
    }
    // In order.
    let ports = agent.ports().await;
    assert!(ports.is_sorted_by_key(|info| (info.port, info.address.clone())));
    // The agent's own is none.
    assert_eq!(agent.port(agent.port_of_itself()).await, None);
}

#[tokio::test]
async fn what_has_left_its_exec_is_still_its_own() {
    let agent = Agent::start();
    // A daemon in a session of its own, whose parent has ended.
    let daemon = format!(
        "use POSIX; if (fork) {{ <STDIN>; exit }} POSIX::setsid(); exit if fork; {} sleep 600;",
        listening("127.0.0.1")
    );
    for more in [json!({}), json!({ "pty": true })] {
        let (id, port) = agent.serve(&daemon, more).await;
        let info = agent.port(port).await.unwrap();
        assert_eq!(info.exec.as_ref(), Some(&id));
        assert_ne!(info.pid, Some(agent.get(&id).await.pid));
        agent.delete(&id).await;
        until("it is stopped with its exec", async || agent.port(port).await.is_none()).await;
    }
    // Of a socket that was handed on, the process that has made it is told, and then the next.
    let handed_on = listening("127.0.0.1") + "if (!fork) { sleep 600 } <STDIN>;";
    let (id, port) = agent.serve(&handed_on, json!({ "contain": false })).await;
    let parent = agent.get(&id).await.pid;
    let mut stream = Events::of(&agent, "/api/v1/stream/ports").await;
    let first = until_listed(&mut stream, port, true).await.unwrap();
    assert_eq!((first.pid, first.exec.as_ref()), (Some(parent), Some(&id)));
    agent.write(&id, "\n").await;
    let next = within(async {
        loop {
            let next = until_listed(&mut stream, port, true).await.unwrap();
            if next.pid != Some(parent) {
                return next;
            }
        }
    });
    assert_eq!(next.await.exec, Some(id));
}

#[tokio::test]
async fn that_of_another_user_is_told_too() {
    if !needs_root("run commands as another user") {
        return;
    }
    let agent = Agent::start();
    let more = json!({ "user": "nobody", "cwd": "/" });
    let (id, port) = agent.serve(&(listening("127.0.0.1") + WAIT), more.clone()).await;
    assert_eq!(agent.port(port).await.unwrap().exec, Some(id));
    // Behind walls nobody but that user may look into its processes.
    if walls() {
        let walled = Walled::start(&["--policy", "offline"]);
        let (id, port) = walled.agent.serve(&(listening("127.0.0.1") + WAIT), more).await;
        let info = walled.agent.port(port).await.unwrap();
        assert_eq!((info.exec, info.command), (Some(id), Some("perl".into())));
    }
}

#[tokio::test]
async fn behind_walls_without_a_network_only_what_listens_there_is_listed() {
    if !walls() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let walled = Walled::start(&["--policy", "offline"]);
    let agent = &walled.agent;
    let (id, port) = agent.serve(&(listening("127.0.0.1") + WAIT), json!({})).await;
    let ports = agent.ports().await;
    let [only] = &ports[..] else { panic!("{ports:?} besides {outside:?}") };
    assert_eq!((only.port, only.exec.as_ref()), (port, Some(&id)));
    // Another one's port of the agent's number is not the agent's.
    let own = agent.port_of_itself();
    let script = listening("127.0.0.1").replace("LocalPort => 0", &format!("LocalPort => {own}"));
    let (id, _) = agent.serve(&(script + WAIT), json!({})).await;
    assert_eq!(agent.port(own).await.unwrap().exec, Some(id));

    // What the agent listens on there for those hosts that may be reached is its own.
    let walled = Walled::start(&["--policy", "workspace", "--allow-net", "example.com:443"]);
    assert_eq!(walled.agent.ports().await, []);
}

#[tokio::test]
async fn the_read_only_token_may_list_them() {
    let agent = Agent::start();
    for path in ["/api/v1/ports", "/api/v1/stream/ports"] {
        let request = agent.anonymous(Method::GET, path).bearer_auth(READONLY);
        assert_eq!(within(request.send()).await.unwrap().status(), 200, "{path}");
        let anonymous = within(agent.anonymous(Method::GET, path).send()).await.unwrap();
        assert_eq!(anonymous.status(), 401, "{path}");
    }
    let without = Agent::with_args(&["--without", "ports"]);
    let response = within(without.request(Method::GET, "/api/v1/ports").send()).await.unwrap();
    assert_eq!(response.status(), 404);
}
