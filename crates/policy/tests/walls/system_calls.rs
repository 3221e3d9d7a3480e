use std::{
    collections::BTreeMap,
    env,
    io::{Error, Write},
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
};

use sandpipe_policy::walls::keep_from_clone3;

use crate::support::{Place, User, users, walls};

/// What each attempt gave: 0, or its `errno`.
type Outcomes = BTreeMap<String, i32>;

/// No test but what others run behind walls: it tries what is forbidden, and says what came of it.
#[test]
#[ignore = "it is run behind walls by other tests"]
fn the_attempts() {
    // As what starts commands does.
    keep_from_clone3().unwrap();
    let call = |number: i64, arguments: [i64; 5]| {
        let [first, second, third, fourth, fifth] = arguments;
        // SAFETY: none of these gets an address but null.
        #[allow(unsafe_code)]
        match unsafe { libc::syscall(number, first, second, third, fourth, fifth) } {
            -1 => Error::last_os_error().raw_os_error().unwrap(),
            _ => 0,
        }
    };
    let high = 1_i64 << 32;
    let parent = i64::from(std::os::unix::process::parent_id());
    let attempts = [
        ("io_uring", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0]),
        ("ptrace attach", libc::SYS_ptrace, [16, parent, 0, 0, 0]),
        ("ptrace attach, high bits", libc::SYS_ptrace, [16 | high, parent, 0, 0, 0]),
        ("ptrace seize", libc::SYS_ptrace, [0x4206, parent, 0, 0, 0]),
        ("ptrace traceme", libc::SYS_ptrace, [0, 0, 0, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, [parent, 0, 0, 0, 0]),
        ("mount", libc::SYS_mount, [0; 5]),
        ("fsopen", libc::SYS_fsopen, [0; 5]),
        ("open_tree", libc::SYS_open_tree, [-100, 0, 0, 0, 0]),
        ("unshare user", libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0]),
        ("unshare mount", libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0, 0, 0]),
        ("unshare time", libc::SYS_unshare, [libc::CLONE_NEWTIME.into(), 0, 0, 0, 0]),
        ("unshare files", libc::SYS_unshare, [libc::CLONE_FILES.into(), 0, 0, 0, 0]),
        (
            "clone user",
            libc::SYS_clone,
            [i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD), 0, 0, 0, 0],
        ),
        ("clone3", libc::SYS_clone3, [0; 5]),
        ("setns", libc::SYS_setns, [0; 5]),
        ("keyctl", libc::SYS_keyctl, [0; 5]),
        ("add_key", libc::SYS_add_key, [0; 5]),
        ("bpf", libc::SYS_bpf, [0; 5]),
        ("perf_event_open", libc::SYS_perf_event_open, [0; 5]),
        ("userfaultfd", libc::SYS_userfaultfd, [0; 5]),
        ("vsock", libc::SYS_socket, [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0, 0, 0]),
        (
            "vsock, high bits",
            libc::SYS_socket,
            [i64::from(libc::AF_VSOCK) | high, libc::SOCK_STREAM.into(), 0, 0, 0],
        ),
        ("packet", libc::SYS_socket, [libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0, 0, 0]),
        ("alg", libc::SYS_socket, [libc::AF_ALG.into(), libc::SOCK_SEQPACKET.into(), 0, 0, 0]),
        ("raw", libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_RAW.into(), 1, 0, 0]),
        ("tcp", libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_STREAM.into(), 0, 0, 0]),
        ("unix", libc::SYS_socket, [libc::AF_UNIX.into(), libc::SOCK_STREAM.into(), 0, 0, 0]),
        ("TIOCSTI", libc::SYS_ioctl, [0, 0x5412, 0, 0, 0]),
        ("TIOCSTI, high bits", libc::SYS_ioctl, [0, 0x5412 | high, 0, 0, 0]),
        ("TIOCLINUX", libc::SYS_ioctl, [0, 0x541C, 0, 0, 0]),
        ("x32", 0x4000_0000 | libc::SYS_getpid, [0; 5]),
        ("getpid", libc::SYS_getpid, [0; 5]),
    ];
    let mut outcomes: Outcomes = attempts
        .into_iter()
        .map(|(name, number, arguments)| (name.to_owned(), call(number, arguments)))
        .collect();
    let connect = |name: &str| {
        let address = SocketAddr::from_abstract_name(name).unwrap();
        UnixStream::connect_addr(&address).map_or_else(|error| error.raw_os_error().unwrap(), |_| 0)
    };
    if let Some(port) =
        env::args().find_map(|arg| arg.strip_prefix("try-port-")?.parse::<u16>().ok())
    {
        let tcp = std::net::TcpStream::connect(("127.0.0.1", port));
        outcomes.insert(
            "connect".into(),
            tcp.map_or_else(|error| error.raw_os_error().unwrap(), |_| 0),
        );
        outcomes.insert("abstract".into(), connect(&format!("sandpipe-test-{port}")));
        let own = SocketAddr::from_abstract_name(format!("sandpipe-own-{port}")).unwrap();
        let _listener = UnixListener::bind_addr(&own).unwrap();
        outcomes.insert("own abstract".into(), connect(&format!("sandpipe-own-{port}")));
    }
    let json = serde_json::to_string(&outcomes).unwrap();
    writeln!(std::io::stdout(), "\nOUTCOMES {json}").unwrap();
}

/// Where somebody listens outside, by TCP and by an abstract socket.
struct Outside {
    _tcp: TcpListener,
    _abstract: UnixListener,
    port: u16,
}

impl Outside {
    fn new() -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let name = SocketAddr::from_abstract_name(format!("sandpipe-test-{port}")).unwrap();
        Self { _tcp: tcp, _abstract: UnixListener::bind_addr(&name).unwrap(), port }
    }
}

fn attempts(policy: &str, user: User) -> Outcomes {
    let place = Place::new();
    let outside = Outside::new();
    std::fs::copy(env::current_exe().unwrap(), place.workspace.join("attempts")).unwrap();
    let script = format!(
        "./attempts --ignored --exact system_calls::the_attempts --nocapture --skip try-port-{}; true",
        outside.port
    );
    let outcome = place.run(policy, user, &script);
    let line = outcome.text.lines().find_map(|line| line.strip_prefix("OUTCOMES "));
    serde_json::from_str(line.unwrap_or_else(|| panic!("{outcome:?}"))).unwrap()
}

#[test]
fn what_breaks_walls_is_refused() {
    if !walls() {
        return;
    }
    for user in users() {
        let outcomes = attempts(r#"{ "extends": ["offline"] }"#, *user);
        let allowed = ["ptrace traceme", "unshare files", "tcp", "unix", "getpid", "own abstract"];
        for name in allowed {
            assert_eq!(outcomes[name], 0, "{user:?} {name}");
        }
        for name in ["clone3", "x32"] {
            assert_eq!(outcomes[name], libc::ENOSYS, "{user:?} {name}");
        }
        for name in ["connect", "abstract"] {
            assert_eq!(outcomes[name], libc::ECONNREFUSED, "{user:?} {name}");
        }
        for (name, errno) in &outcomes {
            let is_known = allowed.contains(&name.as_str())
                || ["clone3", "x32", "connect", "abstract"].contains(&name.as_str());
            assert!(is_known || *errno == libc::EPERM, "{user:?} {name}: {errno}");
        }
    }
}

#[test]
fn the_network_of_the_machine_is_there_where_a_policy_says_so() {
    if !walls() {
        return;
    }
    for user in users() {
        let outcomes = attempts("{}", *user);
        assert_eq!(outcomes["connect"], 0);
    }
}

#[test]
fn commands_have_no_rights_and_get_none() {
    if !walls() {
        return;
    }
    let place = Place::new();
    for user in users() {
        let status = place
            .run("{}", *user, "cat /proc/self/status; ls -d /proc/[0-9]*; readlink /proc/self")
            .text;
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        assert!(status.contains("Seccomp:\t2"), "{status}");
        assert!(!status.contains("/proc/9"), "processes of others: {status}");
        if *user == User::Nobody {
            assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
            assert!(status.contains("CapPrm:\t0000000000000000"), "{status}");
        }
    }
    let own = std::process::id();
    place.refuses(
        "{}",
        &[
            &format!("kill -0 {own}"),
            "unshare -U true",
            "chroot / true",
            "mount -t tmpfs none /tmp",
        ],
    );
    place.allows("{}", &["test $$ = 1"]);
}
