use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

/// There is no filter of system calls for this machine.
#[derive(Debug, thiserror::Error)]
#[error("no filter of system calls can be made for {ARCH}: {0}")]
pub struct SeccompError(BackendError);

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
/// The last call that this filter knows, `removexattrat`, and so Linux 6.13: which of later ones give more, as `open_tree_attr` does,
/// nobody has looked at. From 424 on numbers are the same everywhere (`asm-generic/unistd.h`).
const LAST_KNOWN: u32 = 466;
const NOT_IMPLEMENTED: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

/// What gives a process more than its files and its network, or is as a rule how walls are broken.
const REFUSED: &[i64] = &[
    // What is done in its queues no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The memory and the descriptors of other processes.
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // Namespaces of others.
    libc::SYS_setns,
    // Keyrings have no namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Large parts of the kernel, which few programs need.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
];

/// `libc` lacks it (`asm-generic/unistd.h` of Linux).
const QUOTACTL_FD: libc::c_long = 443;

#[cfg(not(target_arch = "aarch64"))]
const KEXEC_FILE_LOAD: libc::c_long = libc::SYS_kexec_file_load;
/// `libc` lacks it with musl (`asm-generic/unistd.h` of Linux).
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: libc::c_long = 294;

const NEW_NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // Only of unshare(2): for clone(2) it is part of the signal at the end.
    libc::CLONE_NEWTIME,
];

const CLONE_NEWTIME_INDEX: usize = 7;

/// Of TIOCSTI and TIOCLINUX each lets a process type into its terminal (CVE-2017-5226).
const REFUSED_IOCTLS: [u64; 2] = [0x5412, 0x541C];

/// `F_SETLEASE` and `F_NOTIFY` (fcntl(2)): with a lease on a file that commands may only read, they
/// hold up each program of the user that opens it, for 45 s at a time.
const REFUSED_FCNTL: [u64; 2] = [1024, 1026];

/// All others reach beyond the machine's own network, as `AF_VSOCK` to its hypervisor.
const SOCKET_FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// `SOCK_DGRAM` and `SOCK_RAW`: each end of such a pair can be connected to another socket, by its path.
const PAIRS_THAT_CONNECT: [u64; 2] = [2, 3];
/// The bits beside flags such as `SOCK_CLOEXEC` (`SOCK_TYPE_MASK` of <linux/net.h>).
const KIND_OF_SOCKET: u64 = 0xF;

/// `PTRACE_ATTACH` and `PTRACE_SEIZE`: a process may trace those of its children that ask for it.
const REFUSED_PTRACE: [u64; 2] = [16, 0x4206];

/// `libc` lacks it (`asm-generic/unistd.h` of Linux).
const FCHMODAT2: libc::c_long = 452;

/// Calls that set the mode of a file, with the number of that argument.
const CHANGE_MODE: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that may make a file, with the number of their flags: the mode is the next argument, and counts only where one of
/// [`MAKES_FILE`] is among the flags.
const OPEN: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

const MAKES_FILE: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

/// What the filter of a policy refuses besides what it refuses always.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// Unix sockets, but for connected pairs.
    pub unix_sockets: bool,
    /// The set-group-ID bit, of root's commands: a program of group root opens the sockets of container engines to anybody. For another
    /// user's group it opens little, and in a directory with that bit, such as a volume of Kubernetes, `chmod` and `cp -p` set it again.
    pub set_group_id: bool,
}

/// Makes the program that `seccomp(2)` takes, in the form of bubblewrap's `--seccomp`. What is refused fails with EPERM; what the filter
/// does not know fails with ENOSYS. It ends a program of another architecture. It holds for all that is behind walls; commands are to be
/// kept from clone3 and openat2, too ([`keep_from_clone3`], [`keep_from_openat2`]).
///
/// # Errors
///
/// There is none for this architecture.
pub fn seccomp_program(refused: Refused) -> Result<Vec<u8>, SeccompError> {
    let filter = filter(refused).map_err(SeccompError)?;
    Ok(without_later().iter().chain(&filter).flat_map(bytes).collect())
}

/// Keeps this thread, and all that it starts from now on, from clone3, whose flags no filter can see: it fails with ENOSYS, upon which
/// programs call clone. What starts commands needs it to put each of them into a cgroup. The thread has to have no new privileges.
///
/// # Errors
///
/// The system refuses the filter.
pub fn keep_from_clone3() -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&without(libc::SYS_clone3))
}

/// The same for openat2, whose mode no filter can see: programs call openat.
///
/// # Errors
///
/// The system refuses the filter.
pub fn keep_from_openat2() -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&without(libc::SYS_openat2))
}

fn filter(refused: Refused) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let bits = |argument, flag: i32| {
        let flag = u64::from(flag.cast_unsigned());
        rule(&[(argument, SeccompCmpOp::MaskedEq(flag), flag)])
    };
    let unshare = NEW_NAMESPACES.iter().map(|flag| bits(0, *flag)).collect::<Result<_, _>>()?;
    let clone = NEW_NAMESPACES.iter().take(CLONE_NEWTIME_INDEX).map(|flag| bits(0, *flag));
    rules.insert(libc::SYS_unshare, unshare);
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let equal = |argument, value| rule(&[(argument, SeccompCmpOp::Eq, value)]);
    let ptrace = REFUSED_PTRACE.map(|request| equal(0, request));
    rules.insert(libc::SYS_ptrace, ptrace.into_iter().collect::<Result<_, _>>()?);
    let fcntl = REFUSED_FCNTL.map(|command| equal(1, command));
    rules.insert(libc::SYS_fcntl, fcntl.into_iter().collect::<Result<_, _>>()?);
    // New limits of another process, such as the one that starts commands.
    let limits = vec![
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?,
        SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?,
    ];
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(limits)?]);
    let ioctl = REFUSED_IOCTLS.map(|request| equal(1, request));
    rules.insert(libc::SYS_ioctl, ioctl.into_iter().collect::<Result<_, _>>()?);
    let other_families =
        SOCKET_FAMILIES.map(|family| (0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned())));
    let (mut pair, mut socket) = (vec![rule(&other_families)?], vec![rule(&other_families)?]);
    if refused.unix_sockets {
        let unix = (0, SeccompCmpOp::Eq, u64::from(libc::AF_UNIX.cast_unsigned()));
        for kind in PAIRS_THAT_CONNECT {
            pair.push(rule(&[unix.clone(), (1, SeccompCmpOp::MaskedEq(KIND_OF_SOCKET), kind)])?);
        }
        socket.push(rule(&[unix])?);
    }
    rules.insert(libc::SYS_socketpair, pair);
    rules.insert(libc::SYS_socket, socket);
    rules.extend(set_ids(refused.set_group_id)?);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        TargetArch::try_from(ARCH)?,
    )?;
    filter.try_into()
}

/// What keeps commands from programs that run with the rights of their owner: `no_new_privs` holds in the sandbox, not outside.
fn set_ids(set_group_id: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let bits = [(libc::S_ISUID, true), (libc::S_ISGID, set_group_id)];
    let bits = bits.into_iter().filter_map(|(bit, is_refused)| is_refused.then_some(bit));
    let has = |argument, bits| (argument, SeccompCmpOp::MaskedEq(bits), bits);
    let mut rules = BTreeMap::<i64, Vec<SeccompRule>>::new();
    for bit in bits.map(u64::from) {
        for (call, mode) in CHANGE_MODE {
            rules.entry(*call).or_default().push(rule(&[has(*mode, bit)])?);
        }
        for (call, flags) in OPEN {
            for makes in MAKES_FILE.map(|flag| u64::from(flag.cast_unsigned())) {
                let conditions = [has(*flags, makes), has(*flags + 1, bit)];
                rules.entry(*call).or_default().push(rule(&conditions)?);
            }
        }
    }
    Ok(rules)
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, BackendError> {
    // The kernel takes no more than 32 bits of each of these.
    let condition = |(argument, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
    };
    SeccompRule::new(conditions.iter().map(condition).collect::<Result<_, _>>()?)
}

/// Instructions that go before a filter: what is later than all that it knows does not exist, upon which programs do without, nor do the
/// calls of the x32 interface, whose numbers are higher (from 0x40000000 on).
fn without_later() -> [sock_filter; 3] {
    [
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: LAST_KNOWN + 1 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: NOT_IMPLEMENTED },
    ]
}

/// A filter of its own. It needs not ask for the architecture: another's programs are ended by the other filter.
fn without(call: i64) -> [sock_filter; 4] {
    let call = u32::try_from(call).unwrap_or(u32::MAX);
    [
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: 1, k: call },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: NOT_IMPLEMENTED },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
    ]
}

fn bytes(instruction: &sock_filter) -> [u8; 8] {
    let [code_low, code_high] = instruction.code.to_ne_bytes();
    let [k0, k1, k2, k3] = instruction.k.to_ne_bytes();
    [code_low, code_high, instruction.jt, instruction.jf, k0, k1, k2, k3]
}
