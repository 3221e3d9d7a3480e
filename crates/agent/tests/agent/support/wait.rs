//! What a test waits for, up to a deadline.

use std::{
    future::Future,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    processes::marked,
    report::{fail, processes},
};

/// How long anything may take before the test fails.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

/// How often it is looked whether something has come true: soon at first, seldom later, since what looks takes the processor's time.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(16);

/// Fails where something takes too long.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(TIMEOUT, future).await {
        Ok(value) => value,
        Err(_) => fail(&format!("it did not come within {TIMEOUT:?}")),
    }
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let mut pause = FIRST_PAUSE;
    let come_true = async {
        while !condition().await {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    };
    if tokio::time::timeout(TIMEOUT, come_true).await.is_err() {
        fail(&format!("it did not come true within {TIMEOUT:?} that {what}"));
    }
}

/// Waits until no living process has this mark.
pub(crate) async fn none_is_left(marker: &str) {
    until("no process is left", async || marked(marker).is_empty()).await;
}

/// Waits until a process has ended. `None` where it has not in time.
pub(super) fn end_of(process: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + TIMEOUT;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Runs a command to its end, which has to come.
pub(crate) fn run_to_end(command: &mut Command) -> Output {
    output_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// What a process says up to its end, which has to come. Its standard input is closed.
pub(crate) fn output_of(mut process: Child) -> Output {
    drop(process.stdin.take());
    let stdout = process.stdout.take().map(read_all);
    let stderr = process.stderr.take().map(read_all);
    let Some(status) = end_of(&mut process) else {
        let what = processes(process.id());
        let _killed = process.kill();
        fail(&format!("a process did not end within {TIMEOUT:?}:\n{what}"));
    };
    let [stdout, stderr] = [stdout, stderr].map(|read| {
        let all = |read: mpsc::Receiver<Vec<u8>>| read.recv_timeout(TIMEOUT);
        // What it has started may keep its standard streams open.
        read.map(all).transpose().unwrap_or_else(|_| fail("its output did not end with it"))
    });
    Output { status, stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() }
}

fn read_all(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (read, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _broken = stream.read_to_end(&mut bytes);
        let _failed = read.send(bytes);
    });
    all
}

/// Reads the line that says that an agent is ready.
pub(crate) fn read_ready(process: &mut Child) -> Value {
    let mut stdout = BufReader::new(process.stdout.take().unwrap());
    let (read, line) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let _broken = stdout.read_line(&mut line);
        let _failed = read.send(line);
    });
    let Ok(line) = line.recv_timeout(TIMEOUT) else {
        let what = processes(process.id());
        let _killed = process.kill();
        fail(&format!("an agent was not ready within {TIMEOUT:?}:\n{what}"));
    };
    serde_json::from_str(&line).unwrap_or_else(|_| {
        let status = end_of(process);
        fail(&format!("an agent said {line:?} in place of its address, and ended with {status:?}"))
    })
}
