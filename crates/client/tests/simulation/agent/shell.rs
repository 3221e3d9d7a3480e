//! The shell of a session: it reads what the client writes, and runs programs by their names.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, select};
use sandpipe_protocol::OutputType;

use super::SimAgent;
use super::exec::Exec;
use super::kill::KILL_OTHERS;
use super::process::{KILLED, carry_out, finish, next_input};
use super::program::{OnTerm, Program, TIDIED_UP};

/// The command that it is.
pub(crate) const SHELL: &str = "shell";

/// Death by SIGHUP.
const HUNG_UP: i32 = 128 + 1;

/// What a command has ended with that SIGINT ended.
const INTERRUPTED: i32 = 128 + 2;

/// What a marker begins and ends with in a line, for `printf`.
const SEPARATOR: &str = r"\\036";

struct Shell<'a> {
    agent: &'a SimAgent,
    exec: &'a Exec,
    /// Input that it has not acted upon yet: in its buffer, or in the pipe.
    unread: String,
    /// It reads all that is in the pipe at once, and loses that when a signal brings it back to its
    /// prompt.
    reads_ahead: bool,
    input_ended: bool,
    /// `$?`.
    status: i32,
    random: fastrand::Rng,
}

/// What keeps a shell from going on with a line.
enum Interrupt {
    /// It goes on with the next line that it reads.
    ToPrompt,
    /// It has ended.
    Ended(i32),
}

/// Runs a shell to its end.
pub(super) async fn run(agent: &SimAgent, exec: &Exec) {
    let mut random = fastrand::Rng::with_seed(agent.setup.seed ^ u64::from(exec.state().pid));
    let (unread, reads_ahead, input_ended) = (String::new(), random.bool(), false);
    let mut shell = Shell { agent, exec, unread, reads_ahead, input_ended, status: 0, random };
    let exit_code = loop {
        match shell.take_line().await {
            Ok(()) => {}
            Err(Interrupt::ToPrompt) => {
                if shell.reads_ahead {
                    shell.unread.clear();
                }
                shell.status = INTERRUPTED;
            }
            Err(Interrupt::Ended(exit_code)) => break exit_code,
        }
        exec.change(|state| state.running = None);
    };
    exec.change(|state| state.running = None);
    finish(&agent.executor, exec, exit_code);
}

impl Shell<'_> {
    /// Reads a line and does what it says.
    async fn take_line(&mut self) -> Result<(), Interrupt> {
        let line = self.read_line().await?;
        if line.starts_with("PS1=") {
            // Not every shell can open its streams anew.
            self.status = self.random.i32(..2);
        } else if line.starts_with("{ sandpipe_status=") {
            self.print_markers(&line);
        } else if let Some((_, delimiter)) = line.split_once("7<<'") {
            let delimiter = delimiter.split_once('\'').map_or(delimiter, |(name, _)| name);
            let mut script = Vec::new();
            loop {
                let next = self.read_line().await?;
                if next == delimiter {
                    break;
                }
                script.push(next);
            }
            let (begin, script) = script.split_first().expect("the line that says that it begins");
            self.print_markers(begin);
            for command in script {
                self.run_command(command).await?;
            }
            self.print_markers(&line);
        } else {
            self.run_command(&line).await?;
        }
        Ok(())
    }

    /// The next line; at the end of its input it ends.
    async fn read_line(&mut self) -> Result<String, Interrupt> {
        loop {
            if let Some((line, _)) = self.unread.split_once('\n') {
                let line = line.to_owned();
                self.unread.drain(..=line.len());
                return Ok(line);
            }
            if self.input_ended {
                return Err(Interrupt::Ended(self.status));
            }
            if let Some(signal) = self.take_input_up_to(next_signal(self.exec)).await {
                apply_to_shell(&signal)?;
            }
        }
    }

    /// Takes the next input into the pipe, unless something else happens first.
    async fn take_input_up_to<T>(&mut self, happening: impl Future<Output = T>) -> Option<T> {
        let has_ended = self.input_ended;
        let input = async {
            if has_ended {
                pending::<()>().await;
            }
            next_input(self.exec).await
        };
        match select(pin!(happening), pin!(input)).await {
            Either::Left((happened, _)) => return Some(happened),
            Either::Right((Some(text), _)) => self.unread.push_str(&text),
            Either::Right((None, _)) => self.input_ended = true,
        }
        None
    }

    /// Runs the program of this name, if there is one.
    async fn run_command(&mut self, name: &str) -> Result<(), Interrupt> {
        let program = self.agent.programs.borrow().get(name).cloned();
        let Some(Program { steps, exit_code, on_term }) = program else {
            return Ok(());
        };
        self.exec.change(|state| {
            state.scripts.push(name.to_owned());
            state.running = Some(name.to_owned());
        });
        // Its commands are those of the shell itself: there are no others to be killed.
        let is_builtin = on_term == OnTerm::Ignore && exit_code % 2 == 1;
        let (agent, exec) = (self.agent, self.exec);
        let mut carried_out = pin!(carry_out(&agent.executor, exec, steps));
        self.status = loop {
            let signal = pin!(next_signal(exec));
            let happening = select(carried_out.as_mut(), signal);
            let signal = match self.take_input_up_to(happening).await {
                None => continue,
                Some(Either::Left(_)) => break exit_code,
                Some(Either::Right((signal, _))) => signal,
            };
            match (signal.as_str(), on_term) {
                ("INT", OnTerm::Ignore) => {}
                ("INT", OnTerm::TidyUp { after_ms, exit_code }) => {
                    self.tidy_up(after_ms).await?;
                    break exit_code;
                }
                (KILL_OTHERS, _) if is_builtin => {}
                (signal, _) => apply_to_shell(signal)?,
            }
        };
        Ok(())
    }

    async fn tidy_up(&mut self, after_ms: f64) -> Result<(), Interrupt> {
        let mut tidied = self.agent.executor.sleep(after_ms);
        loop {
            let signal = pin!(next_signal(self.exec));
            let happening = select(&mut tidied, signal);
            match self.take_input_up_to(happening).await {
                None => {}
                Some(Either::Left(_)) => break,
                Some(Either::Right((signal, _))) if signal == "INT" => {}
                Some(Either::Right((signal, _))) => apply_to_shell(&signal)?,
            }
        }
        let words = TIDIED_UP.to_owned();
        self.exec.change(|state| state.write(OutputType::Stdout, words));
        Ok(())
    }

    /// Prints the markers of a line, in pieces.
    fn print_markers(&mut self, line: &str) {
        let mut parts = line.split(SEPARATOR).skip(1);
        while let (Some(said), Some(behind)) = (parts.next(), parts.next()) {
            let redirection = behind.split(';').next().unwrap_or_default();
            let is_stderr = redirection.contains(">&9");
            let kind = if is_stderr { OutputType::Stderr } else { OutputType::Stdout };
            let marker = format!("\x1e{}\x1e", said.replace("%d", &self.status.to_string()));
            let (first, rest) = marker.split_at(self.random.usize(..marker.len()));
            for piece in [first, rest].into_iter().filter(|piece| !piece.is_empty()) {
                let piece = piece.to_owned();
                self.exec.change(|state| state.write(kind, piece));
            }
        }
    }
}

async fn next_signal(exec: &Exec) -> String {
    exec.wait_for(|state| state.signals.pop_front()).await
}

/// What a signal does to the shell itself.
fn apply_to_shell(signal: &str) -> Result<(), Interrupt> {
    match signal {
        "KILL" => Err(Interrupt::Ended(KILLED)),
        "HUP" => Err(Interrupt::Ended(HUNG_UP)),
        "INT" | KILL_OTHERS => Err(Interrupt::ToPrompt),
        // An interactive shell ignores SIGTERM (POSIX, sh).
        _ => Ok(()),
    }
}
