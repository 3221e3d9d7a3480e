//! Clients that have no token, or a read-only one, and mean no good, next to one that works.

use std::{
    net::SocketAddr,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use nix::sys::{
    signal::Signal,
    socket::{setsockopt, sockopt},
};
use reqwest::{Client, RequestBuilder};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sandpipe_protocol::ExecItem;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    runtime,
    sync::oneshot,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::support::{
    ADMIN, Agent, READONLY, TIMEOUT, message_of, open_files, status_of, under, until, within,
};

const HOSTILE: usize = 1000;

/// An agent that may have so many descriptors.
fn limited(descriptors: u32) -> Agent {
    Agent::with(|command| under(command, &format!("--nofile={descriptors}")))
}

fn address_of(agent: &Agent) -> SocketAddr {
    agent.url.trim_start_matches("http://").parse().unwrap()
}

/// What a hostile client does, over and over.
#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Says nothing.
    Silent,
    /// Sends all of a head that may be, but its end.
    Unfinished,
    /// Sends a head byte by byte.
    Slow,
    /// Sends a head of 400 KB.
    Large,
    /// Asks for files and reads none.
    Unread,
    /// Asks for files without a pause, and takes them in drops.
    Dripping,
}

const ATTACKS: [Attack; 6] = [
    Attack::Silent,
    Attack::Unfinished,
    Attack::Slow,
    Attack::Large,
    Attack::Unread,
    Attack::Dripping,
];

impl Attack {
    async fn run(self, address: SocketAddr) -> std::io::Result<()> {
        let head = format!("GET /openapi.json HTTP/1.1\r\nHost: {address}\r\n");
        let socket = TcpSocket::new_v4()?;
        if matches!(self, Attack::Unread | Attack::Dripping) {
            // So that it is not the system's buffers that fill the memory.
            socket.set_recv_buffer_size(4096)?;
            setsockopt(&socket, sockopt::TcpMaxSeg, &536)?;
        }
        let mut stream = socket.connect(address).await?;
        match self {
            Attack::Silent => {}
            Attack::Unfinished => {
                let field = format!("x: {}\r\n", "x".repeat(1000));
                stream.write_all((head + &field.repeat(63)).as_bytes()).await?;
            }
            Attack::Slow => loop {
                stream.write_all(b"G").await?;
                sleep(Duration::from_secs(1)).await;
            },
            Attack::Large => {
                let field = format!("x: {}\r\n", "x".repeat(400_000));
                stream.write_all((head + &field).as_bytes()).await?;
            }
            Attack::Unread => {
                stream.write_all((head + "\r\n").repeat(100).as_bytes()).await?;
                return until_closed_unread(&stream).await;
            }
            Attack::Dripping => {
                stream.write_all((head + "\r\n").repeat(100).as_bytes()).await?;
                let mut drop = [0; 4096];
                while stream.read(&mut drop).await? > 0 {
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        stream.read_to_end(&mut Vec::new()).await?;
        Ok(())
    }
}

/// Waits for the end of a connection without reading what comes.
async fn until_closed_unread(stream: &TcpStream) -> std::io::Result<()> {
    loop {
        sleep(Duration::from_secs(1)).await;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
    }
}

/// Hostile clients in a thread of their own. Each comes back 3 s after it was shut out.
struct Siege {
    thread: JoinHandle<()>,
    over: oneshot::Sender<()>,
}

impl Siege {
    fn lay(address: SocketAddr, hostile: usize) -> Self {
        let (over, end) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut clients = JoinSet::new();
                for attack in ATTACKS.into_iter().cycle().take(hostile) {
                    clients.spawn(async move {
                        loop {
                            let _shut_out = attack.run(address).await;
                            sleep(Duration::from_secs(3)).await;
                        }
                    });
                }
                let _dropped = end.await;
            });
        });
        Self { thread, over }
    }

    fn lift(self) {
        drop(self.over);
        self.thread.join().unwrap();
    }
}

fn sockets_of(agent: &Agent) -> usize {
    let files = open_files(agent.pid());
    files.iter().filter(|file| file.to_string_lossy().starts_with("socket:")).count()
}

/// Makes a request on a connection of its own, again if that breaks: before its request has come, a connection is like the hostile ones.
async fn request_apart(request: impl Fn(&Client) -> RequestBuilder) -> String {
    let start = Instant::now();
    loop {
        let client = Client::builder().no_proxy().build().unwrap();
        match within(request(&client).send()).await {
            Ok(response) => {
                assert!(response.status().is_success(), "{}", response.status());
                return within(response.text()).await.unwrap();
            }
            // How often that is depends on how long the request waits for the processor.
            Err(broken) => assert!(start.elapsed() < TIMEOUT, "{broken:?}"),
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Runs `echo NUMBER; exit NUMBER` with requests that all have a connection of their own.
async fn run_apart(agent: &Agent, number: i32) {
    let execs = format!("{}/api/v1/execs", agent.url);
    let script = format!("echo {number}; exit {number}");
    let exec = request_apart(|client| {
        let create = client.post(&execs).bearer_auth(ADMIN);
        create
            .header("Idempotency-Key", format!("apart-{number}"))
            .json(&json!({ "command": "sh", "args": ["-c", script] }))
    });
    let exec: ExecItem = serde_json::from_str(&exec.await).unwrap();
    let stream = format!("{}/api/v1/stream/execs/{}/io", agent.url, exec.id);
    let text = request_apart(|client| client.get(&stream).bearer_auth(ADMIN)).await;
    assert!(text.contains(&format!("\"output\":\"{number}\\n\"")), "{text}");
    assert!(text.contains(&format!("\"exitCode\":{number}")), "{text}");
}

async fn withstands_a_siege(mut agent: Agent, hostile: usize) {
    let sockets = sockets_of(&agent);
    run_apart(&agent, 0).await;
    let memory = status_of(agent.pid(), "VmHWM").unwrap();

    let siege = Siege::lay(address_of(&agent), hostile);
    // A stream that lasts as long as all of it.
    let long = agent.sh("while read line; do echo $line; done; exit 7").await;
    let mut output = agent.stream(&long.id, "").await;
    for number in 1..=5 {
        run_apart(&agent, number).await;
        let health = format!("{}/health", agent.url);
        assert!(request_apart(|client| client.get(&health)).await.contains("sandpipe-agent"));
        assert_eq!(agent.write(&long.id, &format!("line {number}\n")).await.status(), 200);
        output.until_output(&format!("line {number}\n")).await;
    }
    agent.send(&long.id, "eof", "").await;
    let mut last = None;
    while let Some(event) = output.next_output().await {
        last = Some(event);
    }
    assert_eq!(last.unwrap().exit_code, Some(7));
    drop(output);

    let grown = status_of(agent.pid(), "VmHWM").unwrap() - memory;
    assert!(grown < 96 * 1024, "it grew by {grown} KiB");
    siege.lift();
    agent.disconnect();
    until("all places are free", async || sockets_of(&agent) == sockets).await;
}

#[tokio::test]
async fn hostile_clients_do_not_keep_another_from_its_work() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    // Thirty for each place that those without a token have.
    withstands_a_siege(limited(128), HOSTILE / 4).await;
    withstands_a_siege(limited(256), HOSTILE / 2).await;
    withstands_a_siege(Agent::start(), HOSTILE).await;
}

#[tokio::test]
async fn streams_with_the_read_only_token_leave_places_for_the_admin() {
    let agent = limited(128);
    let long = agent.sh("sleep 1000").await;
    let list = format!("{}/api/v1/stream/execs", agent.url);
    let open = async || {
        let client = Client::builder().no_proxy().build().unwrap();
        within(client.get(&list).bearer_auth(READONLY).send()).await
    };
    let mut streams = Vec::new();
    let mut refused = 0;
    for _ in 0..40 {
        let stream = open().await.unwrap();
        match stream.status().as_u16() {
            200 => streams.push(stream),
            429 => refused += 1,
            status => panic!("{status}"),
        }
    }
    // A quarter of the descriptors are places, and half of those are for the read-only token.
    assert_eq!((streams.len(), refused), (16, 24));
    let message = message_of(open().await.unwrap()).await;
    assert!(message.contains("16 requests with the read-only token"), "{message}");

    for number in 1..=3 {
        run_apart(&agent, number).await;
    }
    assert_eq!(agent.signal_exec(&long.id, "KILL").await.status(), 200);
    // All that are open are served, and a place that is free is for the next one.
    for stream in &mut streams {
        assert!(within(stream.chunk()).await.unwrap().is_some());
    }
    streams.pop();
    until("there is a place again", async || open().await.unwrap().status() == 200).await;
}

#[tokio::test]
async fn connections_that_come_all_at_once_wait_for_the_agent() {
    let agent = Agent::start();
    let address = address_of(&agent);
    agent.signal(Signal::SIGSTOP);
    // The system answers for the agent, as long as it has room for one more: as many as it keeps at most.
    let room = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = HOSTILE.min(room.trim().parse().unwrap());
    let connecting = async {
        let mut clients = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
            clients.push(stream);
        }
        Ok::<_, std::io::Error>(clients)
    };
    let clients = timeout(TIMEOUT, connecting).await;
    agent.signal(Signal::SIGCONT);
    for mut stream in clients.expect("there is room for all").unwrap() {
        let mut status = [0; 12];
        within(stream.read_exact(&mut status)).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
}
