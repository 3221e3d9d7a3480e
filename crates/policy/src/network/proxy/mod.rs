//! What programs say to a proxy before it connects them: HTTP (RFC 9110, 9.3.6, and requests in absolute form, RFC 9112, 3.2.2) and
//! SOCKS 5 (RFC 1928). Pure: bytes go in, and what is to be done comes out.

mod http;
mod request;
mod socks;

pub use request::{Next, Outcome, Request};

use request::Protocol;

/// The most bytes before a connection.
const MAX_LEN: usize = 32 * 1024;

/// The beginning of a program's connection to the proxy.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    buffer: Vec<u8>,
    /// The program has been told that it needs no name and no password (RFC 1928, 3).
    is_greeted: bool,
}

impl Handshake {
    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Says what is to be done.
    pub fn advance(&mut self) -> Next {
        let next = match self.buffer.first() {
            None => Next::Read,
            Some(&socks::VERSION) if self.is_greeted => socks::request(&self.buffer),
            Some(&socks::VERSION) => {
                let next = socks::greeting(&mut self.buffer);
                self.is_greeted = matches!(next, Next::Reply(_));
                next
            }
            Some(_) if self.is_greeted => Next::Close(Vec::new()),
            Some(_) => http::request(&self.buffer),
        };
        if next == Next::Read && self.buffer.len() > MAX_LEN {
            return Next::Close(Vec::new());
        }
        next
    }
}

impl Request {
    /// What is to be sent to the program.
    #[must_use]
    pub fn answer(&self, outcome: Outcome<'_>) -> Vec<u8> {
        match self.protocol {
            Protocol::Socks => socks::answer(outcome),
            // What it connects to answers.
            Protocol::Http if outcome == Outcome::Connected => Vec::new(),
            Protocol::Tunnel | Protocol::Http => http::answer(outcome),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(bytes: &[u8]) -> Next {
        let mut handshake = Handshake::default();
        handshake.feed(bytes);
        handshake.advance()
    }

    fn connect(bytes: &[u8]) -> Request {
        match next(bytes) {
            Next::Connect(request) => request,
            other => panic!("{}: {other:?}", String::from_utf8_lossy(bytes)),
        }
    }

    #[test]
    fn http_connects() {
        let request =
            connect(b"CONNECT API.example.com:443 HTTP/1.1\r\nHost: other\r\n\r\n\x16\x03");
        assert_eq!(request.destination.to_string(), "api.example.com:443");
        assert_eq!(request.first, b"\x16\x03");
        assert!(request.answer(Outcome::Connected).starts_with(b"HTTP/1.1 200 "));
        let refused = String::from_utf8(request.answer(Outcome::Refused("no rule\r\nx"))).unwrap();
        assert!(
            refused.starts_with("HTTP/1.1 403 ") && refused.ends_with("\r\n\r\nno rule\r\nx\n"),
            "{refused}"
        );
        assert!(request.answer(Outcome::Failed("")).starts_with(b"HTTP/1.1 502 "));
        assert_eq!(connect(b"CONNECT [::1]:80 HTTP/1.0\n\n").destination.to_string(), "[::1]:80");
    }

    #[test]
    fn a_request_of_http_is_passed_on_once() {
        let request = connect(
            b"POST http://A.example:8080/path?q=http://b HTTP/1.1\r\nHost: b.example\r\nProxy-Connection: keep-alive\r\n\
              Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\nContent-Length: 2\r\n\r\nhi",
        );
        assert_eq!(request.destination.to_string(), "a.example:8080");
        assert_eq!(
            String::from_utf8(request.first.clone()).unwrap(),
            "POST /path?q=http://b HTTP/1.1\r\nHost: a.example:8080\r\nConnection: close\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nhi"
        );
        assert_eq!(request.answer(Outcome::Connected), b"");
        assert_eq!(connect(b"GET http://a.example HTTP/1.1\r\n\r\n").destination.port, 80);
        assert!(
            connect(b"GET http://a.example?q HTTP/1.1\r\n\r\n")
                .first
                .starts_with(b"GET /?q HTTP/1.1\r\nHost: a.example\r\n")
        );
    }

    #[test]
    fn socks_connects() {
        let mut handshake = Handshake::default();
        handshake.feed(b"\x05\x02\x02\x00\x05\x01\x00\x03\x0bexample.org\x01\xbbdata");
        assert_eq!(handshake.advance(), Next::Reply(vec![5, 0]));
        let Next::Connect(request) = handshake.advance() else { panic!() };
        assert_eq!(request.destination.to_string(), "example.org:443");
        assert_eq!(request.first, b"data");
        assert_eq!(request.answer(Outcome::Connected), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(request.answer(Outcome::Refused(""))[1], 2);
        assert_eq!(request.answer(Outcome::Failed(""))[1], 4);
        for (bytes, destination) in [
            (&b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"[..], "192.0.2.1:80"),
            (
                b"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50",
                "[2001:db8::1]:80",
            ),
            (b"\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50", "127.0.0.1:80"),
            (b"\x05\x01\x00\x03\x09127.0.0.1\x00\x50", "127.0.0.1:80"),
        ] {
            let mut handshake = Handshake { buffer: bytes.to_vec(), is_greeted: true };
            let Next::Connect(request) = handshake.advance() else { panic!("{destination}") };
            assert_eq!(request.destination.to_string(), destination);
        }
    }

    #[test]
    fn what_is_neither_is_closed() {
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"[..],
            b"GET https://a.example/ HTTP/1.1\r\n\r\n",
            b"GET http://user@a.example/ HTTP/1.1\r\n\r\n",
            b"CONNECT a.example HTTP/1.1\r\n\r\n",
            b"CONNECT a.example:443\r\n\r\n",
            b"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
            b"CONNECT a.example:443 HTTP/2\r\n\r\n",
            b"G\0T http://a.example/ HTTP/1.1\r\n\r\n",
            b"GET http://a.example/ HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET http://a.example/ HTTP/1.1\r\n folded: x\r\n\r\n",
            b"\x04\x01\x00\x50\x01\x02\x03\x04\x00\n\n",
            b"\xff\xff\n\n",
        ] {
            let next = next(bytes);
            let Next::Close(answer) = &next else {
                panic!("{}: {next:?}", String::from_utf8_lossy(bytes))
            };
            assert!(answer.starts_with(b"HTTP/1.1 400 "));
        }
        assert_eq!(next(b"\x05\x01\x02"), Next::Close(vec![5, 0xff]));
        for request in [
            &b"\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50"[..],
            b"\x05\x01\x00\x02",
            b"\x05\x01\x00\x03\x01 \x00\x50",
            b"\x04",
        ] {
            let mut handshake = Handshake { buffer: request.to_vec(), is_greeted: true };
            assert!(matches!(handshake.advance(), Next::Close(_)), "{request:?}");
        }
        assert_eq!(next(&vec![b'A'; MAX_LEN + 1]), Next::Close(Vec::new()));
    }

    proptest! {
        /// However the bytes come.
        #[test]
        fn a_cut_changes_nothing(
            bytes in prop::sample::select(vec![
                &b"CONNECT a.example:443 HTTP/1.1\r\nA: b\r\n\r\nrest"[..],
                b"GET http://a.example/ HTTP/1.1\r\nA: b\r\n\r\n",
                b"\x05\x01\x00\x05\x01\x00\x03\x01a\x01\xbb",
                b"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x01\xbb",
            ]),
            cut in 0..60_usize,
        ) {
            let run = |parts: &[&[u8]]| {
                let mut handshake = Handshake::default();
                let mut done = Vec::new();
                let mut left = Vec::new();
                for part in parts {
                    if done.iter().any(|next| matches!(next, Next::Connect(_))) {
                        left.extend_from_slice(part);
                        continue;
                    }
                    handshake.feed(part);
                    loop {
                        match handshake.advance() {
                            Next::Read => break,
                            next => {
                                let is_reply = matches!(next, Next::Reply(_));
                                done.push(next);
                                if !is_reply { break; }
                            }
                        }
                    }
                }
                if let Some(Next::Connect(request)) = done.last_mut() {
                    request.first.extend(left);
                }
                done
            };
            let cut = cut.min(bytes.len());
            prop_assert_eq!(run(&[&bytes[..cut], &bytes[cut..]]), run(&[bytes]));
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200), socks in any::<bool>()) {
            let mut handshake = Handshake { buffer: bytes, is_greeted: socks };
            handshake.advance();
        }
    }
}
