//! What is mounted on this machine while a sandbox runs, where mounts are shared, as systemd has them.

use std::{fs, path::Path};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use super::{User, Walled, users, walls};
use crate::support::{children_of, needs_root, until};

const POLICIES: [&str; 3] = ["workspace", "offline", "strict"];

/// Gives this thread, and what it starts, mounts of their own that are shared with each other.
pub(super) fn share_mounts() {
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    mount_at(Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    mount_at(Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_SHARED);
}

fn mount_at(path: &Path, kind: Option<&str>, flags: MsFlags) {
    mount(Some("none"), path, kind, flags, None::<&str>).unwrap();
}

/// Mounts a directory with a file in it, that everybody may write.
pub(super) fn mount_directory(path: &Path) {
    mount(Some("none"), path, Some("tmpfs"), MsFlags::empty(), Some("mode=777")).unwrap();
    fs::write(path.join("of-the-machine"), "").unwrap();
}

pub(super) fn unmount(path: &Path) {
    umount2(path, MntFlags::MNT_DETACH).unwrap();
}

/// Keeps this thread, and what it starts, from making mounts private. bubblewrap, which does so silently, is let.
fn refuse_private() {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let flags = SeccompCondition::new(3, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, private.bits());
    let rule = SeccompRule::new(vec![flags.unwrap()]).unwrap();
    let filter = SeccompFilter::new(
        [(nix::libc::SYS_mount, vec![rule])].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(nix::libc::EPERM.cast_unsigned()),
        TargetArch::try_from(std::env::consts::ARCH).unwrap(),
    );
    apply_filter(&BpfProgram::try_from(filter.unwrap()).unwrap()).unwrap();
}

fn start(user: User, policy: &str) -> Walled {
    let fill = |workspace: &Path, home: &Path| {
        for directory in [home.join("later"), workspace.join("later"), workspace.join("before")] {
            fs::create_dir(directory).unwrap();
        }
        mount_directory(&workspace.join("before"));
    };
    Walled::start_with(user, &["--policy", policy], fill, |_, _| {})
}

/// What commands do where something was mounted after the start of the sandbox, and where something was before.
async fn sees_what_was_there_before(walled: &Walled, policy: &str) {
    let [in_home, in_workspace] =
        [&walled.home, &walled.workspace].map(|parent| parent.join("later"));
    for directory in [&in_home, &in_workspace] {
        mount_directory(directory);
    }
    let shown = in_home.display();
    let run = walled.agent.run(&format!("LC_ALL=C ls '{shown}' later before")).await;
    let expected = format!("{shown}:\n\nbefore:\nof-the-machine\n\nlater:\n");
    assert_eq!(run.output(), expected, "{policy}");
    walled.refuses(&[&format!("touch '{shown}/made'")]).await;
    let run = walled.agent.run("touch later/made before/made").await;
    assert_eq!(run.exit_code() == 0, policy != "strict", "{policy}: {}", run.output());
    for directory in [&in_home, &in_workspace] {
        assert!(!directory.join("made").exists(), "{policy}");
        unmount(directory);
    }
    for directory in ["before", "later"] {
        let made = walled.workspace.join(directory).join("made").exists();
        assert_eq!(made, policy != "strict", "{policy}: {directory}");
    }
    unmount(&walled.workspace.join("before"));
}

#[tokio::test]
async fn commands_see_nothing_that_is_mounted_after_the_start() {
    if !walls() || !needs_root("mount something") {
        return;
    }
    share_mounts();
    for user in users() {
        for policy in POLICIES {
            let walled = start(*user, policy);
            walled.agent.run("true").await;
            assert!(!mountinfo_of(&walled).contains(" master:"), "{user:?} {policy}");
            sees_what_was_there_before(&walled, policy).await;
        }
    }
}

#[tokio::test]
async fn what_appears_in_a_sandbox_is_unmounted_there() {
    if !walls() || !needs_root("mount something") {
        return;
    }
    share_mounts();
    refuse_private();
    for user in users() {
        for policy in POLICIES {
            let walled = start(*user, policy);
            // A command that runs already sees it for a moment at most.
            let exec = walled.agent.sh("echo ready; sleep 600").await;
            walled.agent.stream(&exec.id, "").await.until_output("ready").await;
            assert!(mountinfo_of(&walled).contains(" master:"), "{user:?} {policy}");
            let later = walled.home.join("later");
            mount_directory(&later);
            until("it is unmounted", async || {
                !mountinfo_of(&walled).contains(later.to_str().unwrap())
            })
            .await;
            unmount(&later);
            sees_what_was_there_before(&walled, policy).await;
            assert_eq!(walled.agent.delete(&exec.id).await.status(), 200);
        }
    }
}

fn mountinfo_of(walled: &Walled) -> String {
    let process = children_of(walled.agent.box_pid())[0];
    fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap()
}
