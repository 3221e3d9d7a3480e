use std::{io, os::fd::AsRawFd, pin::pin, sync::Arc, time::Duration};

use axum::{Router, serve::Listener};
use hyper::{server::conn::http1, service::Service};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use nix::sys::socket::{Shutdown, setsockopt, shutdown, sockopt};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};

use super::{
    connection::{Connection, Connections},
    exchange::Exchange,
};

/// How long a client may take for the head of a request, and a connection may wait for its next one.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// How long a connection may be idle before the system asks the client's whether it is still there; how long
/// between two times that it asks, in seconds; and how often. A client that went away without a word would
/// keep its place for ever.
const KEEPALIVE: (u32, u32, u32) = (60, 30, 10);

/// Serves at most `most` connections at a time; the others wait for the system to hand them over.
/// When `closing` comes true it takes no more, and ends each connection after the answer it is at.
pub(crate) async fn serve(
    mut listener: TcpListener,
    app: Router,
    connections: Connections,
    most: usize,
    closing: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(most));
    let mut closed = closing.clone();
    let mut closed = pin!(is_true(&mut closed));
    loop {
        let accept = async {
            let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
            // It waits a second where there is no descriptor left for one more.
            let (stream, _) = Listener::accept(&mut listener).await;
            Some((slot, stream))
        };
        let (slot, stream) = tokio::select! {
            () = &mut closed => {
                // A child whose program is still being executed has the socket too: it would go on
                // taking connections that nobody serves.
                if let Err(error) = shutdown(listener.as_raw_fd(), Shutdown::Both) {
                    tracing::debug!(%error, "the end of listening");
                }
                return;
            }
            accepted = accept => match accepted {
                Some(accepted) => accepted,
                None => return,
            },
        };
        if let Err(error) = set_options(&stream) {
            tracing::debug!(%error, "the options of a connection");
        }
        let exchange = Exchange::default();
        let connection = connections.open(stream, exchange.clone(), slot);
        tokio::spawn(attend(connection, exchange, app.clone(), closing.clone()));
    }
}

fn set_options(stream: &TcpStream) -> io::Result<()> {
    // Small pieces of output are to go out at once.
    stream.set_nodelay(true)?;
    let (idle, interval, count) = KEEPALIVE;
    setsockopt(stream, sockopt::TcpKeepIdle, &idle)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &interval)?;
    setsockopt(stream, sockopt::TcpKeepCount, &count)?;
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    Ok(())
}

/// Serves one connection.
async fn attend(
    connection: Connection,
    exchange: Exchange,
    app: Router,
    mut closing: watch::Receiver<bool>,
) {
    let app = TowerToHyperService::new(app);
    let service = hyper::service::service_fn(move |request| {
        exchange.begin();
        let (exchange, answer) = (exchange.clone(), app.call(request));
        async move { answer.await.map(|response| exchange.with(response)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
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

async fn is_true(closing: &mut watch::Receiver<bool>) {
    // An error would mean that the agent is gone.
    let _closing = closing.wait_for(|closing| *closing).await;
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::{
        extract::WebSocketUpgrade,
        routing::{get, post},
    };
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::{Instant, timeout},
    };

    use super::*;

    /// The answer to a request on a connection of its own, if it comes in time.
    async fn hello(address: SocketAddr, patience: Duration) -> Option<String> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        timeout(patience, stream.read_to_string(&mut answer)).await.ok()?.unwrap();
        Some(answer)
    }

    // Where nothing happens, the clock goes on by itself.
    #[tokio::test(start_paused = true)]
    async fn a_websocket_takes_a_place_until_it_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let upgrade = async |upgrade: WebSocketUpgrade| {
            upgrade.on_upgrade(async |mut socket| while let Some(Ok(_)) = socket.recv().await {})
        };
        let app = Router::new().route("/", get("hello")).route("/ws", get(upgrade));
        let (_closing, closed) = watch::channel(false);
        tokio::spawn(serve(listener, app, Connections::default(), 1, closed));
        let url = format!("ws://{address}/ws");
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        assert_eq!(hello(address, HEAD_PATIENCE * 2).await, None);
        drop(socket);
        let answer = hello(address, HEAD_PATIENCE * 2).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
    }

    #[tokio::test]
    async fn the_system_asks_whether_a_client_is_still_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", post(async |body: String| body));
        let (_closing, closed) = watch::channel(false);
        tokio::spawn(serve(listener, app, Connections::default(), 1, closed));
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
    async fn what_sends_no_whole_head_is_closed_and_gives_its_place_to_another() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().route("/", get("hello"));
        let (_closing, closed) = watch::channel(false);
        tokio::spawn(serve(listener, app, Connections::default(), 2, closed));
        let start = Instant::now();
        let mut half_open = Vec::new();
        for head in ["", "GET / HTTP/1.1\r\nHost: "] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            half_open.push(stream);
        }
        let answer = hello(address, HEAD_PATIENCE * 2).await.expect("it is never served");
        assert!(answer.ends_with("hello"), "{answer}");
        assert!(start.elapsed() >= HEAD_PATIENCE, "it did not have to wait");
        for mut stream in half_open {
            let read = timeout(HEAD_PATIENCE, stream.read_u8()).await;
            assert!(read.expect("it is not closed").is_err());
        }
    }
}
