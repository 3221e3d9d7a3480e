use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// How long the agent may take to be connected to, and for each part of its answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an answer is read: its first line is shorter.
const MAX_LINE: usize = 256;

/// Why an agent is not healthy.
#[derive(Debug, thiserror::Error)]
pub enum HealthCheckError {
    /// It can't be reached, or does not answer in time.
    #[error("the agent at {address} does not answer")]
    NoAnswer { address: SocketAddr, source: io::Error },
    /// It answers, but not that it is well.
    #[error("the agent at {address} answers {answer:?}")]
    Unwell { address: SocketAddr, answer: String },
}

/// Asks the agent that listens on an address for `/health`, as a container's health check does: an image with
/// nothing but the agent in it has no `curl`. To connect to all addresses (`0.0.0.0`) is on Linux to connect to
/// the machine itself.
///
/// # Errors
/// The agent can't be reached, is silent for 5 s, or answers with something else than 200.
pub fn check_health(address: SocketAddr) -> Result<(), HealthCheckError> {
    let answer = ask(address).map_err(|source| HealthCheckError::NoAnswer { address, source })?;
    let mut words = answer.split(' ');
    // RFC 9112, 4: the version, the status code, and a reason.
    match (words.next(), words.next()) {
        (Some("HTTP/1.1"), Some("200")) => Ok(()),
        _ => Err(HealthCheckError::Unwell { address, answer }),
    }
}

/// Returns the first line of the answer.
fn ask(address: SocketAddr) -> io::Result<String> {
    let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE && connection.read(&mut byte)? > 0 && byte != *b"\r" {
        line.extend(byte);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
