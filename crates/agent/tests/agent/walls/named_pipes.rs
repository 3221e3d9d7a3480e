//! Named pipes that programs outside of the sandbox read from.

use std::{
    fs::{self, File},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use nix::{libc, sys::stat::Mode, unistd::mkfifo};

use super::{Walled, users, walls};
use crate::support::set_mode;

/// Opens a pipe in each way that allows writing, and prints how often that works.
const WRITER: &str = r#"
use Fcntl;
my $count = 0;
for my $how (O_WRONLY | O_NONBLOCK, O_RDWR | O_NONBLOCK, O_WRONLY | O_NONBLOCK | O_APPEND) {
    my $pipe;
    $count++ if sysopen($pipe, $ARGV[0], $how) && syswrite($pipe, "evil");
}
print "$count\n";
"#;

/// Uses of files that go on: names of pipes and devices, and moves between directories.
const USES: &str = r#"set -e
cd "$1"
mkdir a b
mkfifo a/pipe
cat a/pipe > a/out & echo through > a/pipe; wait
cat a/out
mv a/out b/moved
ln b/moved a/linked
cat a/linked
echo out > /dev/stdout; echo err > /dev/stderr; echo null > /dev/null
echo fd > /dev/fd/1
echo shm > /dev/shm/own; cat /dev/shm/own
echo comm > /proc/self/comm
echo piped | tee /proc/self/fd/1 | cat
"#;

fn make_pipe(path: &Path) -> File {
    mkfifo(path, Mode::empty()).unwrap();
    set_mode(path, 0o666);
    // Whoever reads makes it be written without waiting.
    File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap()
}

#[tokio::test]
async fn commands_write_no_named_pipe_outside_of_what_they_may_write() {
    if !walls() {
        return;
    }
    let named = r#""files": { "write": ["~/named"] }"#;
    for user in users() {
        for policy in ["open", "workspace", "offline", "strict"] {
            let mut kept = Vec::new();
            let fill = |workspace: &Path, home: &Path| {
                fs::create_dir(home.join("named")).unwrap();
                kept.push(make_pipe(&workspace.join("pipe")));
                kept.push(make_pipe(&home.join("pipe")));
                kept.push(make_pipe(&home.join("named/pipe")));
            };
            let text = format!(r#"{{ "extends": ["{policy}"], {named} }}"#);
            let walled = Walled::start_with(*user, &["--policy", &text], fill, |_, _| {});
            kept.push(make_pipe(&walled.home.join("later")));
            for (path, is_writable) in [
                ("../home/pipe", policy == "open"),
                ("../home/later", policy == "open"),
                ("../home/named/pipe", true),
                ("pipe", policy != "strict"),
            ] {
                let script = format!("perl -e '{WRITER}' {path}");
                let count = if is_writable { "3\n" } else { "0\n" };
                let output = walled.agent.run(&script).await.output();
                assert_eq!(output, count, "{user:?} {policy} {path}");
            }
            drop(kept);
        }
    }
}

#[tokio::test]
async fn files_pipes_and_devices_of_the_sandbox_are_written_as_before() {
    if !walls() {
        return;
    }
    for (user, policy) in users().iter().flat_map(|user| [(user, "workspace"), (user, "strict")]) {
        let walled = Walled::start_as(*user, &["--policy", policy]);
        let directory = if policy == "strict" { "/tmp" } else { "." };
        let run = walled.agent.run(&format!("sh -c '{USES}' sh {directory}")).await;
        let expected = "through\nthrough\nout\nfd\nshm\npiped\npiped\n";
        assert_eq!(run.stdout(), expected, "{user:?} {policy}: {}", run.output());
        assert_eq!(run.exit_code(), 0, "{user:?} {policy}");
    }
}
