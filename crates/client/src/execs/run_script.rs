//! Running a script with `sh`.

use sandpipe_protocol::CreateExecRequest;

use super::{ExecArguments, Input, WaitOptions, delete, exec};
use crate::output::ExecResult;
use crate::shell::quote::shell_quote;
use crate::{AbortSignal, Agent, Call, ExecId};

/// Runs a script with `sh` to its end. Gives the exec as well.
pub fn run_script(
    agent: &Agent,
    script: String,
    signal: Option<AbortSignal>,
) -> Call<(ExecId, ExecResult)> {
    exec(agent, arguments(script, signal))
}

/// The same, for a script that leaves nothing behind: its exec is deleted at the end.
pub fn run_script_and_forget(
    agent: &Agent,
    script: String,
    signal: Option<AbortSignal>,
) -> Call<(ExecId, ExecResult)> {
    let agent = agent.clone();
    Box::pin(async move {
        let ended = run_script(&agent, script, signal).await;
        let id = match &ended {
            Ok((id, _)) => Some(id.clone()),
            Err(error) => error.stopped_exec().and_then(|id| ExecId::parse(id.to_owned())),
        };
        if let Some(id) = id {
            // What it gave is true all the same if its record stays.
            delete(&agent, &id).await.unwrap_or_default();
        }
        ended
    })
}

fn arguments(script: String, signal: Option<AbortSignal>) -> ExecArguments {
    let (args, input) = as_shell_input(script);
    let request = CreateExecRequest {
        command: "sh".to_owned(),
        args,
        autostart: Some(true),
        interactive: Some(input.is_some()),
        // A script may start what is to outlive it: a background process.
        contain: Some(false),
        ..CreateExecRequest::default()
    };
    let options = WaitOptions { signal, ..WaitOptions::default() };
    ExecArguments { request, input: input.map(Input::Open), options }
}

/// The longest argument that Linux takes, in bytes (`MAX_ARG_STRLEN` without the NUL at its end).
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// How a shell gets a script: the shell's arguments, and what it reads.
///
/// One that is too long for an argument comes on stdin, quoted as a whole: of one that is cut nothing is
/// run, and no end of the input is needed. The script itself has nothing to read either way.
fn as_shell_input(mut script: String) -> (Vec<String>, Option<String>) {
    if script.starts_with(['-', '+']) {
        // It is no option of the shell's.
        script.insert(0, ' ');
    }
    if script.len() <= MAX_ARGUMENT_BYTES {
        return (vec!["-c".to_owned(), script], None);
    }
    (Vec::new(), Some(format!("eval {} </dev/null\nexit\n", shell_quote(&script))))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// What `sh` makes of a script: all that it prints, and its exit code.
    fn carried_out(script: &str) -> (String, Option<i32>) {
        let (args, input) = as_shell_input(script.to_owned());
        let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut shell =
            Command::new("sh").args(args).stdin(stdin).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = shell.stdin.take().zip(input).map(|(mut stdin, input)| {
            stdin.write_all(input.as_bytes()).unwrap();
            stdin
        });
        // The end of the input comes only after the shell has ended.
        let output = shell.wait_with_output().unwrap();
        drop(stdin);
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    }

    #[test]
    fn a_script_of_any_length_is_run_as_it_is() {
        let padding = "# it's \"long\" é😀\n".repeat(10_000);
        for padding in ["", padding.as_str()] {
            let script = format!("{padding}cat; echo 'it'\"'\"'s'; exit 42 # the end");
            assert_eq!(carried_out(&script), ("it's\n".to_owned(), Some(42)));
            for option in ["-e", "+e", "--"] {
                let script = format!("{option} 2>/dev/null; exit 42\n{padding}");
                assert_eq!(carried_out(&script), (String::new(), Some(42)));
            }
        }
    }

    #[test]
    fn of_a_script_that_is_cut_nothing_is_run() {
        let script = format!("echo begun\n{}", "echo on\n".repeat(20_000));
        let (args, input) = as_shell_input(script);
        assert_eq!(args, Vec::<String>::new());
        let input = input.unwrap();
        for end in [10, 1000, input.len() / 2, input.len() - 30] {
            let mut shell = Command::new("sh")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            shell.stdin.take().unwrap().write_all(&input.as_bytes()[..end]).unwrap();
            let output = shell.wait_with_output().unwrap();
            assert_eq!((output.stdout.len(), output.status.success()), (0, false), "{end}");
        }
    }
}
