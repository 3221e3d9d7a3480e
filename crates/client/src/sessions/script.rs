//! What is written to a session's shell.
//!
//! The shell is interactive, without a terminal: only such a shell survives a syntax error, an unset
//! variable under `set -u` and SIGINT, which bring it back to where it reads its next line. What it
//! says between scripts goes by in markers (`markers.rs`): each has the nonce of its run, and is
//! written with `\036` for the character that it begins and ends with, so that a shell that prints
//! its own lines (`set -v`, `set -x`) does not print a marker.
//!
//! Descriptors 8 and 9 are the session's output, whatever a script does: it sees neither of them,
//! and what it does to 0, 1, 2, 8 and 9 is undone at its end.

use crate::Nonce;
use crate::shell::here_document::delimiter;

/// The arguments that make a shell of this name an interactive one that reads no file of its user's.
pub(super) fn arguments(shell: &str) -> Vec<String> {
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let arguments: &[&str] = match name {
        // `--noediting`: it would echo what it reads. `+H`: `!` is nothing special in a script.
        "bash" => &["--noprofile", "--norc", "--noediting", "+H", "+o", "history", "-i"],
        _ => &["-i"],
    };
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// How a script gets the streams of the session's shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// Opened anew, as pipes can be: a program may leave its own non-blocking (`O_NONBLOCK` belongs to the open
    /// file description, POSIX, fcntl), and a marker that finds the pipe full would be lost.
    Reopened,
    /// The shell's own. A socket, which an agent may use in place of a pipe, can't be opened.
    Shared,
}

impl Streams {
    /// What the exit code of the opening says.
    pub(super) fn of_opening(exit_code: Option<i32>) -> Self {
        if exit_code == Some(0) { Self::Reopened } else { Self::Shared }
    }

    /// The redirections. Where the streams can't be opened (`set -r`), the shell says so on its stderr of before.
    fn redirections(self) -> &'static str {
        match self {
            Self::Reopened => "2>&9 >/dev/fd/8 2>/dev/fd/9",
            Self::Shared => ">&8 2>&9",
        }
    }
}

/// Prepares the shell: no prompts, nothing that it says or does by itself (a session that is idle is
/// not to end by `TMOUT`), and the descriptors: only scripts have the session's output, so that prompts
/// which a script sets are not in it. Its exit code is 0 where the streams can be opened anew.
pub(super) fn opening(nonce: &Nonce) -> String {
    let end = end(nonce, 0);
    format!(
        "PS1= PS2=; unset PROMPT_COMMAND ENV HISTFILE MAIL MAILPATH MAILCHECK TMOUT; \
         exec 8>&1 9>&2 >/dev/null 2>&1; \\command : >/dev/fd/8 2>/dev/fd/9{end}"
    )
}

/// Whether what was printed on stdout has the lines of this run in it, and not what they make a shell print.
/// A shell that prints its own lines (`set -v`) does so on stderr (POSIX, set).
pub(super) fn is_repeated(nonce: &Nonce, printed: &str) -> bool {
    printed.contains(&format!(r"\036{}:", nonce.as_str()))
}

/// Runs a script.
///
/// The shell reads all of it before it does anything, so that nothing of it is left in stdin if it
/// is interrupted. `.` and not `eval`: bash then leaves out what is meant for a person (the numbers
/// of jobs, `exit`), `return` ends the script, and an unfinished `$(` does not crash bash 5.2. The
/// first line says that the script begins, so not before it has arrived, and gives back the `$?` of
/// the run before; where it can't say so, the script does not begin. Where the shell can't read it
/// (`set -r`), only its result comes: dash takes that for the end of the whole line, but for `command`.
pub(super) fn run(nonce: &Nonce, script: &str, last_exit_code: i32, streams: Streams) -> String {
    let redirections = streams.redirections();
    let begin = marker(nonce, "b", "", 1);
    let result = marker(nonce, "x%d", STATUS, 8);
    let last = match last_exit_code {
        0 => String::new(),
        // Not where it can be left out: a trap for ERR takes it for a failure. What that prints is not
        // the script's.
        code => format!("; {{ (exit {code}); }} >/dev/null 2>&1"),
    };
    let delimiter = delimiter(script, nonce.as_str());
    format!(
        "sandpipe_options=$-; \\command set +v; \
         \\command . /dev/fd/7 </dev/null {redirections} 8>&- 9>&- 7<<'{delimiter}'; \
         {{ {KEEP_STATUS}; {result}; }}\n\
         {{ {RESTORE_VERBOSE}; {begin}; \\command exec 7<&-; }} 2>/dev/null \
         || \\command return{last}\n\
         {script}\n\
         {delimiter}\n"
    )
}

/// Marks on both streams that the shell has come this far, and how the script ended if it was left
/// half way.
///
/// It is a line of its own, which the shell reads whatever became of the line before. The newline
/// before it is what a shell loses that is interrupted just then; the rest of a line that is lost in
/// part means nothing: its `}` is a syntax error. `set -e` does not outlive the script: it would end
/// the session with the first failure of the next one.
pub(super) fn end(nonce: &Nonce, serial: u32) -> String {
    let stdout = marker(nonce, &format!("e{serial},%d"), STATUS, 8);
    let stderr = marker(nonce, &format!("e{serial},0"), "", 9);
    format!(
        "\n{{ {KEEP_STATUS}; {stdout}; {stderr}; \\command set +e; \\command unset sandpipe_status; \
         \\command : {END_QUOTES}; }}\n"
    )
}

/// Keeps `$?`, and makes `command` the shell's own again. No script sees the variable: it is there
/// between scripts.
const KEEP_STATUS: &str = r"sandpipe_status=$?; \unset -f command";

/// Turns `set -v` on again, which is off while the shell reads the line that this is in. No `case`:
/// it may be an alias.
const RESTORE_VERBOSE: &str = concat!(
    r#"\command test "${sandpipe_options#*v}" = "$sandpipe_options" || \command set -v; "#,
    r"\command unset sandpipe_options",
);

/// A word that ends the quotes which the rest of a line has opened, and opens none.
const END_QUOTES: &str = r#"'"'\'"#;

/// In quotes: the script may have set IFS.
const STATUS: &str = r#""$sandpipe_status""#;

/// Prints a marker. `command` and the backslashes: whatever functions and aliases there are.
fn marker(nonce: &Nonce, payload: &str, argument: &str, descriptor: u8) -> String {
    format!(r"\command \printf \\036{}:{payload}\\036 {argument} >&{descriptor}", nonce.as_str())
}

/// Kills every process of a session but its shell, whose number is the session's or at least the
/// group's, and interrupts what the shell goes on with. Behind the name in `/proc/PID/stat`, which
/// may hold anything, come state, parent, group and session.
pub(super) const KILL_OTHERS: &str = r#"for file in /proc/[0-9]*/stat; do
    { read -r line <"$file"; } 2>/dev/null || continue
    pid=${line%% *} fields=${line##*) }
    set -- "$1" $fields
    [ "$pid" != "$1" ] || continue
    [ "$4" = "$1" ] || [ "$5" = "$1" ] || continue
    kill -KILL "$pid" 2>/dev/null
done
kill -INT "-$1"
kill -CONT "-$1""#;

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    use sandpipe_protocol::OutputType;

    use super::super::markers::Markers;
    use super::*;

    /// What a session's shell of this name prints when it is given some lines.
    fn carried_out(shell: &str, nonce: &Nonce, lines: &str) -> String {
        let mut shell = Command::new(shell)
            .args(arguments(shell))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        write!(stdin, "{}{lines}", opening(nonce)).unwrap();
        drop(stdin);
        String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn what_is_given_is_told_from_what_a_shell_makes_of_it() {
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        assert!(is_repeated(&nonce, &format!("hello\n{}", opening(&nonce))));
        assert!(!is_repeated(&nonce, &opening(&Nonce::of_bytes(*b"fedcba9876543210"))));
        assert!(!is_repeated(&nonce, &carried_out("sh", &nonce, "")));
    }

    #[test]
    fn a_shell_whose_streams_are_sockets_runs_scripts_too() {
        for shell in ["bash", "dash"] {
            let nonce = Nonce::of_bytes(*b"0123456789abcdef");
            let [(stdout, their_stdout), (stderr, their_stderr)] =
                [(); 2].map(|()| UnixStream::pair().unwrap());
            let mut shell = Command::new(shell)
                .args(arguments(shell))
                .stdin(Stdio::piped())
                .stdout(OwnedFd::from(their_stdout))
                .stderr(OwnedFd::from(their_stderr))
                .spawn()
                .unwrap();
            let mut stdin = shell.stdin.take().unwrap();
            let mut streams = [(OutputType::Stdout, stdout), (OutputType::Stderr, stderr)]
                .map(|(kind, stream)| (kind, BufReader::new(stream).split(b'\x1e')));
            let mut read_to_end = || {
                let mut markers = Markers::new(&nonce);
                for (kind, parts) in &mut streams {
                    let mut said = String::new();
                    while !said.contains(":e0,") {
                        said = String::from_utf8(parts.next().unwrap().unwrap()).unwrap();
                        let _output = markers.feed(*kind, &format!("{said}\x1e"));
                    }
                }
                assert!(markers.over());
                markers.exit_code()
            };
            write!(stdin, "{}", opening(&nonce)).unwrap();
            let streams = Streams::of_opening(read_to_end());
            assert_eq!(streams, Streams::Shared);
            write!(stdin, "{}{}", run(&nonce, "(exit 7)", 0, streams), end(&nonce, 0)).unwrap();
            assert_eq!(read_to_end(), Some(7));
            drop(stdin);
            shell.wait().unwrap();
        }
    }

    #[test]
    fn an_end_that_is_lost_in_part_does_not_hold_up_those_behind_it() {
        let nonce = Nonce::of_bytes(*b"0123456789abcdef");
        let line = end(&nonce, 0);
        let rests = || (1..line.len()).map(|from| line.split_at(from).1);
        let third = |rest: &str| u32::try_from(rest.len()).unwrap() * 3;
        let lines: String = rests()
            .flat_map(|rest| {
                let next = [2, 1, 0].map(|before| end(&nonce, third(rest) - before));
                std::iter::once(rest.to_owned()).chain(next)
            })
            .collect();
        // Others drop all that they have read.
        let said = carried_out("bash", &nonce, &lines);
        for rest in rests() {
            assert!(said.contains(&format!(":e{},", third(rest))), "{rest:?}");
        }
    }
}
