//! Output: its order, its encoding, its size, and what of it is kept.

use sandpipe_protocol::MAX_EVENT_OUTPUT;
use serde_json::json;

use crate::support::{Agent, children_of, lives, open_files, until};

#[tokio::test]
async fn what_is_written_to_two_pipes_keeps_its_order() {
    let agent = Agent::start();
    for round in 0..300 {
        let finished = agent.run("echo hello; echo oops >&2").await;
        assert_eq!(finished.output(), "hello\noops\n", "round {round}");
        let finished = agent.run("echo oops >&2; echo hello").await;
        assert_eq!(finished.output(), "oops\nhello\n", "round {round}");
    }
}

#[tokio::test]
async fn the_order_holds_again_and_again_in_one_exec() {
    let agent = Agent::start();
    let script = "while read first; do echo out; echo err >&2; \
                  read second; echo err >&2; echo out; done";
    let exec = agent.sh(script).await;
    let mut stream = agent.stream(&exec.id, "").await;
    for round in 0..100 {
        for expected in [["out\n", "err\n"], ["err\n", "out\n"]] {
            agent.write(&exec.id, "\n").await;
            for expected in expected {
                let event = stream.next_output().await.unwrap();
                assert_eq!(event.output, expected, "round {round}");
            }
        }
    }
}

#[tokio::test]
async fn a_descendant_that_holds_the_pipe_does_not_delay_the_end() {
    let agent = Agent::start();
    let finished = agent.run("sleep 600 & echo $!").await;
    assert_eq!(finished.exit_code(), 0);
    assert!(lives(finished.output().trim().parse().unwrap()), "it was waited for");
}

#[tokio::test]
async fn the_rest_of_a_pipeline_is_output_of_the_command() {
    let agent = Agent::with_args(&["--time-limit", "output-silence=1m"]);
    for pty in [false, true] {
        // As `tee` in `exec > >(tee log)` may.
        let script = "trap '' HUP; (read x < wait; echo late) & echo hi; exit 4";
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display();
        let script = format!("cd '{at}'; mkfifo wait; {script}");
        let exec = if pty { agent.sh_in_terminal(&script).await } else { agent.sh(&script).await };
        let mut stream = agent.stream(&exec.id, "").await;
        stream.until_output("hi").await;
        until("the shell has ended", async || !lives(exec.pid)).await;
        std::fs::write(directory.path().join("wait"), "\n").unwrap();
        let output = stream.until_output("late").await;
        assert!(!output.is_empty(), "pty: {pty}");
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 4);
    }
}

#[tokio::test]
async fn a_descendant_that_writes_on_and_on_does_not_delay_the_end_for_long() {
    let agent = Agent::start();
    let finished = agent.run("(while sleep 0.05; do echo more; done) & echo $!; exit 3").await;
    assert_eq!(finished.exit_code(), 3);
    let first = finished.output().lines().next().map(str::to_owned);
    assert!(lives(first.unwrap().parse().unwrap()), "it was waited for");
}

#[tokio::test]
async fn a_stop_does_not_wait_for_what_descendants_write() {
    let agent = Agent::with_args(&["--time-limit", "output-silence=1h"]);
    let descendant = "(trap '' TERM; echo ready; exec sleep 600) &";
    for (script, ends_by_itself) in [("trap 'exit 9' TERM; wait", false), ("exit 9", true)] {
        let exec = agent.sh(&format!("{descendant} {script}")).await;
        agent.stream(&exec.id, "").await.until_output("ready").await;
        if ends_by_itself {
            until("the shell has ended", async || !lives(exec.pid)).await;
        }
        assert_eq!(agent.signal_exec(&exec.id, "SIGTERM").await.status(), 200);
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 9);
        assert_eq!(agent.signal_exec(&exec.id, "SIGKILL").await.status(), 200);
    }
}

#[tokio::test]
async fn a_descendant_that_goes_on_writing_is_neither_read_nor_killed() {
    let agent = Agent::start();
    // Far more than a pipe holds: it would block, or die of SIGPIPE, if nobody read on.
    let [go, mark] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    let script = format!(
        "(trap '' HUP; until [ -s '{}' ]; do sleep 0.02; done; \
         head -c 1000000 /dev/zero && echo alive > '{}') & echo done",
        go.path().display(),
        mark.path().display()
    );
    let finished = agent.run(&script).await;
    assert_eq!((finished.exit_code(), finished.output()), (0, "done\n".into()));
    // Only now: what is there at the end of the command is output of it.
    std::fs::write(go.path(), "go").unwrap();
    until("the descendant has written all", async || {
        std::fs::read_to_string(mark.path()).unwrap() == "alive\n"
    })
    .await;
}

#[tokio::test]
async fn everything_written_before_the_exit_comes_before_the_exit_code() {
    let agent = Agent::start();
    for _ in 0..20 {
        // As much as the pipe holds, written at once before the end.
        let finished = agent.run("head -c 60000 /dev/zero | tr '\\0' x; exit 5").await;
        assert_eq!((finished.exit_code(), finished.output().len()), (5, 60_000));
    }
}

#[tokio::test]
async fn a_character_split_over_two_writes_stays_whole() {
    let agent = Agent::start();
    let finished = agent.run("printf 'a\\342\\202'; sleep 0.2; printf '\\254b'").await;
    assert_eq!(finished.output(), "a\u{20AC}b");
    // Each stream has its own.
    let script = "printf '\\342\\202'; sleep 0.1; printf x >&2; sleep 0.1; printf '\\254'";
    let finished = agent.run(script).await;
    assert_eq!((finished.stdout(), finished.stderr()), ("\u{20AC}".into(), "x".into()));
}

#[tokio::test]
async fn many_small_writes_become_few_events() {
    let agent = Agent::start();
    let started = std::time::Instant::now();
    let finished =
        agent.run("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done; echo e >&2").await;
    let expected: Vec<_> = (0..20_000).map(|line| line.to_string()).collect();
    assert_eq!(finished.stdout().lines().collect::<Vec<_>>(), expected);
    assert_eq!(finished.stderr(), "e\n");
    // One in 300 µs, and some in each 2 ms in which writes were not seen to be many.
    let most = 6 * started.elapsed().as_millis() + 100;
    let count = finished.0.len();
    assert!((count as u128) < most.min(10_000), "{count} events, and at most {most}");
}

#[tokio::test]
async fn what_is_no_utf8_is_replaced_and_all_else_is_kept() {
    let agent = Agent::start();
    let finished = agent.run("printf '\\377a\\0b\\355\\240\\200'; printf '\\360\\237'").await;
    // A cut character at the end is one U+FFFD.
    assert_eq!(finished.output(), "\u{FFFD}a\0b\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}");
    let finished = agent.run("printf '\\357\\273\\277x\\357\\273\\277\\r\\n\\r'").await;
    assert_eq!(finished.output(), "\u{FEFF}x\u{FEFF}\r\n\r");
}

#[tokio::test]
async fn a_line_of_ten_megabytes_arrives_whole_in_bounded_pieces() {
    let agent = Agent::start();
    let finished = agent.run("yes '\u{20AC}xy' | tr -d '\\n' | head -c 10000000").await;
    let output = finished.output();
    assert_eq!(output.len(), 10_000_000);
    assert_eq!(output, "\u{20AC}xy".repeat(2_000_000));
    assert!(finished.0.iter().all(|event| event.output.len() <= MAX_EVENT_OUTPUT));
    // Only the last one may be empty.
    let (last, others) = finished.0.split_last().unwrap();
    assert!(others.iter().all(|event| !event.output.is_empty() && event.exit_code.is_none()));
    assert_eq!(last.exit_code, Some(0));
    let count = u64::try_from(finished.0.len()).unwrap();
    assert_eq!(finished.sequences(), (1..=count).collect::<Vec<_>>());
}

#[tokio::test]
async fn control_characters_do_not_break_events_apart() {
    let agent = Agent::start();
    let all = "i=0; while [ $i -lt 128 ]; do printf \"\\\\$(printf %03o $i)\"; i=$((i+1)); done";
    let expected: String = (0..128_u8).map(char::from).collect();
    assert_eq!(agent.run(all).await.output(), expected);
}

#[tokio::test]
async fn beyond_the_limit_the_oldest_output_goes_and_the_jump_shows() {
    let agent = Agent::with_args(&["--spool-limit", "64KiB", "--without", "gap"]);
    let exec = agent.sh("seq 1 200000").await;
    // A reader from the beginning that comes too late.
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let late = agent.finish(&exec.id).await;
    assert!(late.0[0].sequence > 1, "{}", late.0[0].sequence);
    assert!(late.output().ends_with("\n199999\n200000\n"));
    assert_eq!(late.exit_code(), 0);
    // What is kept has no holes.
    let sequences = late.sequences();
    assert!(sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]));
    assert_eq!(agent.output_now(&exec.id, "").await, late.0);
    let kept: u64 = std::fs::read_dir(agent.state.join("execs").join(&exec.id))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept <= 64 * 1024, "{kept} bytes are kept");
}

#[tokio::test]
async fn what_a_descendant_held_is_let_go_of_when_it_ends() {
    let agent = Agent::start();
    let open = || open_files(agent.pid()).len();
    agent.run("true").await;
    let before = open();
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    // The last write and the close come at once.
    let script =
        format!("(while ! [ -e '{}' ]; do sleep 0.2; done; printf x) & echo done", go.display());
    for _ in 0..20 {
        agent.run(&script).await;
    }
    assert!(open() >= before + 20);
    std::fs::write(go, "").unwrap();
    // A connection more or less is no leak.
    until("the pipes are closed", async || open() <= before + 3).await;
}

#[tokio::test]
async fn no_process_is_left_a_zombie() {
    let agent = Agent::start();
    // Orphans of all kinds: the box adopts them.
    let script = "(sleep 0.01 &) ; (setsid sleep 0.01 &) ; sleep 0.01 & true";
    for _ in 0..50 {
        for exec in [agent.sh(script).await, agent.sh("exit 1").await] {
            agent.finish(&exec.id).await;
        }
        for command in ["true", "no-such-command-7"] {
            agent.create(json!({ "command": command, "args": [] })).await;
        }
    }
    until("no child is left", async || children_of(agent.box_pid()).is_empty()).await;
    assert_eq!(children_of(agent.pid()), [agent.box_pid()]);
    for exec in agent.list().await {
        assert!(exec.pid == 0 || !lives(exec.pid));
    }
}
