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

use sandpipe_policy::{
    machine::is_root,
    walls::{keep_from_clone3, keep_from_openat2},
};

use crate::support::{Place, User, users, walls};

/// `libc` lacks it (`asm-generic/unistd.h` of Linux).
const FCHMODAT2: libc::c_long = 452;

/// What each attempt gave: 0, or its `errno`.
type Outcomes = BTreeMap<String, i32>;

/// System calls that set the mode of a file.
fn of_modes() -> Vec<(&'static str, libc::c_long, [i64; 5])> {
    let high = 1_i64 << 32;
    let [make, unnamed] = [libc::O_CREAT, libc::O_TMPFILE].map(|flag| i64::from(flag) | 1);
    vec![
        // None has a file: without the filter they fail with EBADF or EFAULT.
        ("fchmod 4755", libc::SYS_fchmod, [-1, 0o4755, 0, 0, 0]),
        ("fchmod 4000, high bits", libc::SYS_fchmod, [-1, 0o4000 | high, 0, 0, 0]),
        ("fchmodat 4755", libc::SYS_fchmodat, [-100, 0, 0o4755, 0, 0]),
        ("fchmodat2 6755", FCHMODAT2, [-100, 0, 0o6755, 0, 0]),
        ("mknodat 4755", libc::SYS_mknodat, [-100, 0, 0o10_4755, 0, 0]),
        ("openat 4755", libc::SYS_openat, [-100, 0, make, 0o4755, 0]),
        ("openat 4755, unnamed", libc::SYS_openat, [-100, 0, unnamed, 0o4755, 0]),
        #[cfg(target_arch = "x86_64")]
        ("chmod 4755", libc::SYS_chmod, [0, 0o4755, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        ("creat 4755", libc::SYS_creat, [0, 0o4755, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        ("mknod 4755", libc::SYS_mknod, [0, 0o10_4755, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        ("open 4755", libc::SYS_open, [0, make, 0o4755, 0, 0]),
        ("set-group-ID by fchmod", libc::SYS_fchmod, [-1, 0o2755, 0, 0, 0]),
        ("set-group-ID by openat", libc::SYS_openat, [-100, 0, make, 0o2755, 0]),
        ("plain fchmod", libc::SYS_fchmod, [-1, 0o1777, 0, 0, 0]),
        ("plain openat", libc::SYS_openat, [-100, 0, make, 0o1777, 0]),
        ("plain openat of what is there", libc::SYS_openat, [-100, 0, 0, 0o6755, 0]),
    ]
}

/// No test but what others run behind walls: it tries what is forbidden, and says what came of it.
#[test]
#[ignore = "it is run behind walls by other tests"]
fn the_attempts() {
    // As what starts commands does.
    keep_from_clone3().unwrap();
    keep_from_openat2().unwrap();
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
        ("openat2", libc::SYS_openat2, [0; 5]),
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
        ("quotactl_fd", 443, [-1, 0, 0, 0, 0]),
        // Each is newer than what the filter knows: a kernel that has it tells what is wrong with its arguments.
        ("open_tree_attr", 467, [-100, 0, 0, 0, 0]),
        ("file_getattr", 468, [-1, 0, 0, 0, 0]),
        ("a call of the future", 4000, [0; 5]),
        // The last ones that it knows.
        ("mseal", libc::SYS_mseal, [0; 5]),
        ("removexattrat", 466, [-1, 0, 0, 0, 0]),
    ];
    let mut outcomes: Outcomes = attempts
        .into_iter()
        .chain(of_modes())
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
        let missing =
            ["clone3", "openat2", "x32", "open_tree_attr", "file_getattr", "a call of the future"];
        for name in missing {
            assert_eq!(outcomes[name], libc::ENOSYS, "{user:?} {name}");
        }
        for name in ["connect", "abstract"] {
            assert_eq!(outcomes[name], libc::ECONNREFUSED, "{user:?} {name}");
        }
        // As outside: what it knows and has nothing against.
        for (name, number) in [("mseal", libc::SYS_mseal), ("removexattrat", 466)] {
            // SAFETY: neither gets an address but null.
            #[allow(unsafe_code)]
            let outcome = unsafe { libc::syscall(number, i64::from(name == "mseal") - 1, 0, 0, 0) };
            let errno = Error::last_os_error().raw_os_error().unwrap();
            assert_eq!(outcomes[name], if outcome == 0 { 0 } else { errno }, "{user:?} {name}");
        }
        let is_refused = |name: &str| outcomes[name] == libc::EPERM;
        for name in ["set-group-ID by fchmod", "set-group-ID by openat"] {
            let is_root = is_root() && *user == User::Own;
            assert_eq!(is_refused(name), is_root, "{user:?} {name}");
        }
        for name in ["plain fchmod", "plain openat", "plain openat of what is there"] {
            assert!(!is_refused(name), "{user:?} {name}");
        }
        for (name, errno) in &outcomes {
            let is_known = name.starts_with("set-group-ID")
                || name.starts_with("plain")
                || allowed.contains(&name.as_str())
                || missing.contains(&name.as_str())
                || ["connect", "abstract", "mseal", "removexattrat"].contains(&name.as_str());
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

#[test]
fn commands_make_no_program_that_runs_as_its_owner() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/program", "#!/bin/sh\n");
    place.refuses(
        "{}",
        &[
            "chmod 4755 program",
            "chmod u+s program",
            "install -m 4755 program installed",
            "perl -e 'sysopen(F, \"new\", 0101, 04755) or exit 1'",
        ],
    );
    if is_root() {
        let outcome = place.run("{}", User::Own, "chmod g+s program");
        assert_ne!(outcome.code, Some(0), "{}", outcome.text);
    }
    for user in users() {
        // An archive is unpacked but for the bit; where tar sets the bits of an archive it says so at the end.
        let unpack = "rm -rf made && mkdir made && tar cf made/a.tar --mode=u+s program &&
            cd made && tar xf a.tar; tar xpf a.tar; cmp program ../program";
        let outcome = place.run("{}", *user, unpack);
        assert_eq!(outcome.code, Some(0), "{user:?}: {}", outcome.text);
        let of_others =
            "find . -type f -perm /6000 | grep . && exit 1; chmod 1777 made && chmod 755 program";
        let outcome = place.run("{}", *user, of_others);
        assert_eq!(outcome.code, Some(0), "{user:?}: {}", outcome.text);
        if *user == User::Own && is_root() {
            continue;
        }
        // A directory that files get their group from.
        let shared = "mkdir -p -m 2775 shared && chmod g-w shared && test -g shared &&
            cp -pr shared made/shared && git init -q --shared made/repository";
        let outcome = place.run("{}", *user, shared);
        assert_eq!(outcome.code, Some(0), "{user:?}: {}", outcome.text);
    }
}
