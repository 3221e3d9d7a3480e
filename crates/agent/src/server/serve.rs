use std::{pin::pin, sync::Arc};

use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1, service::Service};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::sync::watch;

use super::{connection::Connection, connections::Connections, listen::Listener, peer::Peer};

/// How many bytes the head of a request may have. As much is read of a request's body at a time.
const MAX_HEAD: usize = 64 * 1024;

/// Serves as many connections at a time as there may be; the others wait for the system to hand them over. When `closing` comes true it takes no more, and ends
/// each connection after the answer it is at.
pub(crate) async fn serve(
    mut listener: Listener,
    app: Router,
    connections: Connections,
    closing: watch::Receiver<bool>,
) {
    let mut closed = closing.clone();
    let mut closed = pin!(is_true(&mut closed));
    loop {
        let accept = async {
            let stream = listener.accept().await;
            connections.room().await;
            stream
        };
        let stream = tokio::select! {
            () = &mut closed => {
                if let Err(error) = listener.close() {
                    tracing::debug!(%error, "the end of listening");
                }
                return;
            }
            stream = accept => stream,
        };
        if let Err(error) = stream.set_options() {
            tracing::debug!(%error, "the options of a connection");
        }
        let (state, connections) = (connections.open(), connections.clone());
        let peer = Arc::new(Peer { state, connections });
        let connection = Connection::new(stream, Arc::clone(&peer));
        tokio::spawn(serve_connection(connection, peer, app.clone(), closing.clone()));
    }
}

/// Serves one connection.
async fn serve_connection(
    connection: Connection,
    peer: Arc<Peer>,
    app: Router,
    mut closing: watch::Receiver<bool>,
) {
    let app = TowerToHyperService::new(app);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        peer.begin();
        request.extensions_mut().insert(Arc::clone(&peer));
        let (peer, answer) = (Arc::clone(&peer), app.call(request));
        async move { answer.await.map(|response| peer.answer(response)) }
    });
    let connection = http1::Builder::new()
        // The connection sees to it by itself.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEAD)
        // Without it what is longer would be refused, with one status or another, or taken, by how its bytes arrive.
        .max_header_size(MAX_HEAD)
        .serve_connection(TokioIo::new(connection), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = is_true(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection was cut");
    }
}

/// Waits until it is to be closed.
pub(super) async fn is_true(closing: &mut watch::Receiver<bool>) {
    // An error would mean that the agent is gone.
    let _closing = closing.wait_for(|closing| *closing).await;
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, time::Duration};

    use axum::{
        Extension,
        extract::{WebSocketUpgrade, ws::Message},
        http::Uri,
        routing::{get, post},
    };
    use futures_util::StreamExt;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
        time::{Instant, sleep, timeout},
    };

    use super::{
        super::progress::{HEAD_TIMEOUT, IDLE_TIMEOUT},
        *,
    };
    use crate::{time_limits::STALL_TIMEOUT, token::Role};

    /// Serves `app` at so many places; returns the address.
    async fn start(app: Router, max: usize) -> SocketAddr {
        start_with(app, Connections::new(max, STALL_TIMEOUT)).await
    }

    async fn start_with(app: Router, connections: Connections) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (closing, closed) = watch::channel(false);
        tokio::spawn(async move {
            serve(Listener::Tcp(listener), app, connections, closed).await;
            drop(closing);
        });
        address
    }

    /// An application whose requests for `/mine…` and `/ws` count as authenticated. What is large is more
    /// than a socket holds.
    fn app() -> Router {
        let large = || vec![b'x'; 64 << 20];
        let mine = async |Extension(peer): Extension<Arc<Peer>>| {
            peer.authenticate(Role::Admin).unwrap();
            "mine"
        };
        let upgrade = async move |Extension(peer): Extension<Arc<Peer>>,
                                  uri: Uri,
                                  upgrade: WebSocketUpgrade| {
            peer.authenticate(Role::Admin).unwrap();
            if uri.path() == "/ws/pausing" {
                peer.may_pause();
            }
            upgrade.on_upgrade(async move |mut socket| {
                for _ in 0..64 {
                    let message = Message::Binary(vec![0; 1 << 20].into());
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
                while let Some(Ok(_)) = socket.recv().await {}
            })
        };
        Router::new()
            .route("/", get("hello"))
            .route("/asset", get(async move || large()))
            .route("/mine", get(mine))
            .route("/mine/large", get(async move |peer| (mine(peer).await, large()).1))
            .route("/ws", get(upgrade))
            .route("/ws/pausing", get(upgrade))
    }

    /// Connects and sends this.
    async fn send(address: SocketAddr, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    fn get_request(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    fn websocket_request(path: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
    }

    /// The answer to a request on a connection of its own, if it comes in time.
    async fn hello(address: SocketAddr, within: Duration) -> Option<String> {
        let mut stream =
            send(address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let mut answer = String::new();
        timeout(within, stream.read_to_string(&mut answer)).await.ok()?.unwrap();
        Some(answer)
    }

    /// Reads what there still is of a connection; returns how long it lasted, at most so long.
    async fn lasts(mut stream: TcpStream, max: Duration) -> Duration {
        let start = Instant::now();
        let mut rest = vec![0; 65_536];
        let read = async { while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
        let _end = timeout(max, read).await;
        start.elapsed()
    }

    // Where nothing happens, the clock goes on by itself.
    #[tokio::test(start_paused = true)]
    async fn a_websocket_takes_a_place_until_it_is_closed() {
        let address = start(app(), 1).await;
        let url = format!("ws://{address}/ws");
        let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        for _ in 0..64 {
            socket.next().await.unwrap().unwrap();
        }
        assert_eq!(hello(address, IDLE_TIMEOUT * 100).await, None);
        drop(socket);
        let answer = hello(address, IDLE_TIMEOUT).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
    }

    #[tokio::test]
    async fn the_system_asks_whether_a_client_is_still_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", post(async |body: String| body));
        let (_closing, closed) = watch::channel(false);
        tokio::spawn(serve(
            Listener::Tcp(listener),
            app,
            Connections::new(1, STALL_TIMEOUT),
            closed,
        ));
        let mut client = TcpStream::connect(address).await.unwrap();
        // It is in the midst of a body.
        let head =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        client.read_u8().await.unwrap();
        let port = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
        let ends = [port(address), port(client.local_addr().unwrap())].join(" ");
        // proc(5): the timer of the connection; 2 is that of keepalive. One that has sent waits for the
        // client's system first.
        let timer = || {
            let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
            let line = connections.lines().find(|line| line.contains(&ends)).unwrap();
            line.split_whitespace().nth(5).unwrap().split(':').next().unwrap().to_owned()
        };
        while timer() == "01" {
            tokio::task::yield_now().await;
        }
        assert_eq!(timer(), "02");
    }

    #[tokio::test(start_paused = true)]
    async fn what_sends_no_whole_head_is_closed_after_10_s() {
        let address = start(app(), 100).await;
        for request in ["", "GET / HTTP/1.1\r\nHost: "] {
            let stream = send(address, request).await;
            let lasted = lasts(stream, HEAD_TIMEOUT * 2).await;
            assert!(lasted >= HEAD_TIMEOUT && lasted < HEAD_TIMEOUT * 2, "{request:?}: {lasted:?}");
        }
        let stream = send(address, &get_request("/")).await;
        let lasted = lasts(stream, IDLE_TIMEOUT * 2).await;
        assert!(lasted >= IDLE_TIMEOUT && lasted < IDLE_TIMEOUT * 2, "idle: {lasted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_keeps_the_agent_waiting_makes_room_for_a_client_that_comes() {
        let address = start(app(), 8).await;
        let mut hostile = Vec::new();
        let asset = get_request("/asset");
        for request in [&asset, "", "GET / HT", &asset, "", &asset, "x", ""].repeat(10) {
            hostile.push(send(address, request).await);
        }
        let begin = Instant::now();
        let answer = hello(address, STALL_TIMEOUT).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
        assert!(begin.elapsed() < HEAD_TIMEOUT, "{:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn an_authenticated_request_is_never_cut_short_for_another_client() {
        // What is not read meanwhile is not given up, however slow the machine is.
        let address = start_with(app(), Connections::new(8, STALL_TIMEOUT * 100)).await;
        let mut streams = Vec::new();
        for _ in 0..7 {
            let mut stream = send(address, &get_request("/mine/large")).await;
            stream.read_u8().await.unwrap();
            streams.push(stream);
        }
        for _ in 0..20 {
            let answer = hello(address, HEAD_TIMEOUT).await.expect("it is never served");
            assert!(answer.ends_with("hello"), "{answer}");
        }
        for mut stream in streams {
            let mut rest = vec![0; 64 << 20];
            stream.read_exact(&mut rest).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_between_requests_makes_room_where_all_places_are_taken() {
        let address = start(app(), 4).await;
        let mut idle = Vec::new();
        for _ in 0..4 {
            let mut stream = send(address, &get_request("/mine")).await;
            stream.read_u8().await.unwrap();
            idle.push(stream);
            sleep(Duration::from_secs(1)).await;
        }
        let answer = hello(address, HEAD_TIMEOUT).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
        // It is the one that was idle for longest, and it alone.
        let first = idle.remove(0);
        assert_eq!(lasts(first, IDLE_TIMEOUT).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_cut_off_after_30_s() {
        let address = start(app(), 100).await;
        for path in ["/mine/large", "/asset"] {
            let mut stream = send(address, &get_request(path)).await;
            stream.read_u8().await.unwrap();
            let ended = || format!("{:?}", stream.try_write(b"x"));
            sleep(STALL_TIMEOUT * 9 / 10).await;
            assert_eq!(ended(), "Ok(1)", "{path}");
            sleep(STALL_TIMEOUT).await;
            let mut rest = Vec::new();
            let end = stream.read_to_end(&mut rest).await;
            assert!(end.is_err() && rest.len() < 64 << 20, "{path}: {end:?}, {}", rest.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_websocket_that_reads_nothing_is_cut_off_after_30_s_and_gives_its_place_back() {
        let address = start(app(), 1).await;
        let mut stream = send(address, &websocket_request("/ws")).await;
        stream.read_u8().await.unwrap();
        assert_eq!(hello(address, STALL_TIMEOUT / 2).await, None);
        let answer = hello(address, STALL_TIMEOUT * 2).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
        let mut rest = Vec::new();
        assert!(stream.read_to_end(&mut rest).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_websocket_whose_client_may_pause_goes_on_where_it_was() {
        let address = start(app(), 1).await;
        let mut stream = send(address, &websocket_request("/ws/pausing")).await;
        stream.read_u8().await.unwrap();
        sleep(STALL_TIMEOUT * 1000).await;
        let mut messages = vec![0; 64 << 20];
        stream.read_exact(&mut messages).await.unwrap();
    }
}
