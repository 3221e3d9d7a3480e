//! Requests of programs to an HTTP proxy before it connects them: CONNECT (RFC 9110, 9.3.6) and requests in absolute form (RFC 9112,
//! 3.2.2). Pure: bytes go in, and what is to be done comes out.

mod http;
mod request;

pub use request::{Next, Outcome, Request};

/// Most bytes before a connection.
const MAX_LEN: usize = 32 * 1024;

/// Beginning of a program's connection to the proxy.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    buffer: Vec<u8>,
}

impl Handshake {
    /// Takes what was read.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Says what is to be done.
    #[must_use]
    pub fn next(&self) -> Next {
        match http::request(&self.buffer) {
            Next::Read if self.buffer.len() > MAX_LEN => Next::Close(Vec::new()),
            next => next,
        }
    }
}

impl Request {
    /// Returns what is to be sent to the program.
    #[must_use]
    pub fn answer(&self, outcome: Outcome<'_>) -> Vec<u8> {
        // What a request is passed on to answers it.
        let answers_itself = !self.is_tunnel && outcome == Outcome::Connected;
        if answers_itself { Vec::new() } else { http::answer(outcome) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(bytes: &[u8]) -> Next {
        let mut handshake = Handshake::default();
        handshake.feed(bytes);
        handshake.next()
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
    fn what_is_no_request_to_a_proxy_is_closed() {
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
            b"\x05\x01\x00\n\n",
        ] {
            let next = next(bytes);
            let Next::Close(answer) = &next else {
                panic!("{}: {next:?}", String::from_utf8_lossy(bytes))
            };
            assert!(answer.starts_with(b"HTTP/1.1 400 "));
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
            ]),
            cut in 0..60_usize,
        ) {
            let run = |parts: &[&[u8]]| {
                let mut handshake = Handshake::default();
                let mut done = Next::Read;
                for part in parts {
                    match &mut done {
                        Next::Connect(request) => request.first.extend_from_slice(part),
                        done => {
                            handshake.feed(part);
                            *done = handshake.next();
                        }
                    }
                }
                done
            };
            let cut = cut.min(bytes.len());
            prop_assert_eq!(run(&[&bytes[..cut], &bytes[cut..]]), run(&[bytes]));
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            next(&bytes);
        }
    }
}
