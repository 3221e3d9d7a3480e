use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use serde::{Deserialize, Serialize};

use super::owners::Owner;

/// The state of a socket that listens (`TCP_LISTEN` of `net/tcp_states.h`).
const LISTENING: &str = "0A";

/// A TCP socket that listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    /// The user that has made it.
    pub(crate) user: u32,
    /// The number of the socket, which no other has, in no network namespace.
    pub(crate) inode: u64,
    /// The process that has it, if that is known.
    pub(crate) owner: Option<Owner>,
}

/// The sockets of this network namespace that listen, in order of their ports and addresses (proc(5), `/proc/net/tcp`).
///
/// # Errors
/// The system does not tell.
pub(crate) fn listeners() -> io::Result<Vec<Listener>> {
    let mut found = parse(&fs::read_to_string("/proc/self/net/tcp")?);
    match fs::read_to_string("/proc/self/net/tcp6") {
        Ok(table) => found.extend(parse(&table)),
        // The system has no IPv6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    found.sort_by_key(|listener| (listener.address.port(), listener.address.ip(), listener.inode));
    Ok(found)
}

fn parse(table: &str) -> Vec<Listener> {
    // The first line has the names of the columns.
    table.lines().skip(1).filter_map(parse_line).collect()
}

/// Reads `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`.
fn parse_line(line: &str) -> Option<Listener> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (address, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    if state != LISTENING {
        return None;
    }
    let user = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Listener { address: parse_address(address)?, user, inode, owner: None })
}

/// Reads an address as words of 32 bits in hexadecimal, each as this machine has the bytes of it in memory, and a port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = [0; 16];
    let mut count = 0;
    for (place, word) in bytes.chunks_exact_mut(4).zip(words.as_bytes().chunks(8)) {
        let word = u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok()?;
        place.copy_from_slice(&word.to_ne_bytes());
        count += 1;
    }
    let ip = match (words.len(), count) {
        (8, 1) => {
            let [a, b, c, d, ..] = bytes;
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        // One that takes IPv4 alone is told as that.
        (32, 4) => Ipv6Addr::from(bytes).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;
    use crate::needs::needs;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0000000000000000 20 0 0 10 -1
   3: 0100007F:D431 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0000000000000000
";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 444 1 0000000000000000 100 0 0 10 0
   1: 00000000000000000000000001000000:0BB9 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 555 1 0000000000000000 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:0BBA 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 666 1 0000000000000000 100 0 0 10 0
   3: B80D0120000000000000000001000000:0BBB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0000000000000000 100 0 0 10 0
";

    #[test]
    fn what_listens_is_found_in_the_systems_tables() {
        let found = |table| -> Vec<_> {
            let listeners = parse(table).into_iter();
            listeners.map(|found| (found.address.to_string(), found.user, found.inode)).collect()
        };
        assert_eq!(
            found(TCP),
            [("127.0.0.1:8080".to_owned(), 1000, 12_345), ("0.0.0.0:22".to_owned(), 0, 222)]
        );
        assert_eq!(
            found(TCP6),
            [
                ("[::]:3000".to_owned(), 0, 444),
                ("[::1]:3001".to_owned(), 33, 555),
                ("127.0.0.1:3002".to_owned(), 0, 666),
                ("[2001:db8::1]:3003".to_owned(), 0, 777),
            ]
        );
    }

    #[test]
    fn what_is_no_such_line_is_passed_over() {
        for line in [
            "",
            "x",
            "0: x:y z 0A",
            "0: 0100007F:1F90 0:0 0A 0:0 0:0 0 0 0",
            "0: 7F:1 0:0 0A 0 0 0 0 0 1",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }

    #[test]
    fn finds_a_socket_of_this_process() {
        use std::os::{fd::AsRawFd, linux::fs::MetadataExt};

        let has_ipv6 = std::net::TcpListener::bind("[::1]:0").is_ok();
        needs(has_ipv6, "IPv6 on this machine");
        let addresses = ["127.0.0.1:0", "[::1]:0"].into_iter();
        for address in addresses.take(if has_ipv6 { 2 } else { 1 }) {
            let listener = std::net::TcpListener::bind(address).unwrap();
            let address = listener.local_addr().unwrap();
            let found = listeners().unwrap().into_iter().find(|found| found.address == address);
            let descriptor = format!("/proc/self/fd/{}", listener.as_raw_fd());
            let inode = fs::metadata(descriptor).unwrap().st_ino();
            assert_eq!(found.unwrap().inode, inode);
        }
    }
}
