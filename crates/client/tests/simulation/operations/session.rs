//! Sessions: scripts are run in a shell one after the other, and interrupted.

use std::rc::Rc;

use futures_util::future::{join, join_all};
use sandpipe_client::Error;
use sandpipe_client::error::{OutputLimit, StopReason};
use sandpipe_client::execs::WaitOptions;
use sandpipe_client::sessions::{SessionOptions, Sessions};

use super::outcome;
use super::stop::Plan;
use crate::agent::exec::Exec;
use crate::agent::kill::KILL_OTHERS;
use crate::agent::program::{OnTerm, Program, Step};
use crate::agent::shell::SHELL;
use crate::invariants::{Outcome, ensure};
use crate::runner::{Verdict, check};
use crate::world::World;

/// A script: its name, which is all of its text, and what it does.
type Script = (String, Program);

#[test]
fn each_script_runs_once_in_order_and_has_its_own_result() {
    check("session_runs", |world, random| {
        world.may_forget(SHELL, random);
        let count = random.usize(1..5);
        let scripts: Vec<Script> = (0..count).map(|number| script(world, number, random)).collect();
        let texts: Vec<String> = scripts.iter().map(|(name, _)| name.clone()).collect();
        let limits: Vec<Option<u64>> = (0..count)
            .map(|_| (random.u8(..4) == 0).then(|| random.u64(..100)))
            .map(|limit| world.maybe(limit))
            .collect();
        let options_of: Vec<WaitOptions> = limits
            .iter()
            .map(|limit| WaitOptions { max_output_bytes: *limit, ..WaitOptions::default() })
            .collect();
        let sessions = Sessions::new(world.client());
        let seen = world.run(async move {
            let session = sessions.create(options()).await?;
            let runs = texts.into_iter().zip(options_of);
            let runs = runs.map(|(text, options)| session.run(text, options));
            let seen: Vec<Outcome> = join_all(runs).await.into_iter().map(outcome).collect();
            Ok::<_, Box<Error>>((seen, session.close().await))
        })?;
        let (seen, closed) = match seen {
            Ok(seen) => seen,
            Err(error) => return is_not_ready(world, &error),
        };
        let shell = shell(world)?;
        run_in_order(&shell, &scripts)?;
        // Who interrupts a script that does not end may have to kill the shell.
        let mut may_be_over = may_lose_output(world, &shell) || !world.setup.is_survivable();
        for ((script, outcome), limit) in scripts.iter().zip(&seen).zip(limits) {
            is_true(&shell, script, outcome)?;
            let (name, length) = (&script.0, script.1.output().len() as u64);
            match outcome {
                Ok(_) => ensure!(limit.is_none_or(|limit| length <= limit), "{name} wrote more"),
                Err(error)
                    if matches!(
                        **error,
                        Error::OutputLimit { limit: OutputLimit::Bytes(_), .. }
                    ) =>
                {
                    ensure!(limit.is_some_and(|limit| length > limit), "{name} wrote less");
                    may_be_over = true;
                }
                Err(error) => ensure!(may_be_over, "{name} was not survived: {error}"),
            }
        }
        match closed {
            Ok(()) => ensure!(shell.state().is_deleted, "closed, and it is there"),
            Err(error) => ensure!(!world.setup.is_survivable(), "not closed: {error}"),
        }
        Ok(())
    });
}

#[test]
fn an_interrupted_script_ends_and_the_next_one_is_not_harmed() {
    check("session_interrupts", |world, random| {
        let (name, mut program) = script(world, 0, random);
        if random.bool() {
            program.steps.push(Step::Pause(3_600_000.0));
            world.agent.install(&name, program.clone());
        }
        let scripts = [(name, program), script(world, 1, random)];
        let [first, second] = [0, 1].map(|number: usize| scripts[number].0.clone());
        let mut plan = Plan::of(world, random);
        plan.max_output_bytes = None;
        let stops = plan.options(world);
        let (sessions, agent) = (Sessions::new(world.client()), world.agent.clone());
        let executor = world.executor.clone();
        let seen = world.run(async move {
            let session = sessions.create(options()).await?;
            let begin_ms = executor.now_ms();
            let interrupted = session.run(first, stops);
            let next = session.run(second, WaitOptions::default());
            let interrupted = async {
                let outcome = outcome(interrupted.await);
                let shell = agent.execs_of(SHELL).remove(0);
                let running = shell.state().running.clone();
                let kills = shell.times_of("KILL").len() + shell.times_of(KILL_OTHERS).len();
                (outcome, Ended { begin_ms, at_ms: executor.now_ms(), running, kills })
            };
            let seen = join(interrupted, next).await;
            // What became of it shows below.
            session.close().await.unwrap_or_default();
            Ok::<_, Box<Error>>(seen)
        })?;
        let ((interrupted, ended), next) = match seen {
            Ok(seen) => seen,
            Err(error) => return is_not_ready(world, &error),
        };
        let next = outcome(next);
        let shell = shell(world)?;
        run_in_order(&shell, &scripts)?;
        let is_calm = world.setup.is_calm() && !may_lose_output(world, &shell);
        is_true(&shell, &scripts[0], &interrupted)?;
        let on_int = scripts[0].1.on_term;
        is_interrupted(world, &interrupted, &ended, &plan, on_int, is_calm)
            .map_err(|problem| format!("{problem}; {plan:?}"))?;
        if let Err(error) = &interrupted
            && let Error::Stopped(stopped) = &**error
        {
            let is_input_lost = matches!(stopped.why, StopReason::InputLost { .. });
            let is_wanted = plan.first_ms().is_finite() || is_input_lost;
            ensure!(is_wanted, "stopped, and nobody asked for that");
            let goes_on = ended.running.as_ref() == Some(&scripts[0].0);
            ensure!(stopped.unstopped.is_some() || !goes_on, "it goes on");
        }
        is_true(&shell, &scripts[1], &next)?;
        if let Err(error) = next {
            let is_stopped = matches!(&*error, Error::Stopped(stopped)
                if !matches!(stopped.why, StopReason::InputLost { .. }));
            ensure!(!is_stopped, "the next one was stopped: {error}");
            // A script that does not end by SIGINT may cost the shell, and so may one that is forced before it begins.
            let is_spared = scripts[0].1.on_term == OnTerm::Die && !plan.may_force();
            ensure!(!is_calm || !is_spared, "the next one was not run: {error}");
        }
        Ok(())
    });
}

/// What there was when a run was over.
struct Ended {
    /// When it began, and when it was over, in milliseconds.
    begin_ms: f64,
    at_ms: f64,
    /// The script that went on.
    running: Option<String>,
    /// How many SIGKILLs had come.
    kills: usize,
}

/// A run is over when its script is, and says whether it took SIGKILL.
fn is_interrupted(
    world: &World,
    outcome: &Outcome,
    ended: &Ended,
    plan: &Plan,
    on_int: OnTerm,
    is_calm: bool,
) -> Verdict {
    let timer_factor = world.setup.timer_factor;
    let (stop_ms, end_ms) = (plan.stop_ms(ended.begin_ms, timer_factor), ended.at_ms);
    let Err(Error::Stopped(stopped)) = outcome.as_ref().map_err(|error| &**error) else {
        let is_over = end_ms <= stop_ms + 1.0;
        ensure!(is_over || !is_calm, "it goes on up to {end_ms}, to be stopped at {stop_ms}");
        ensure!(is_over || outcome.is_err(), "a result after it was to be stopped");
        return Ok(());
    };
    let says_so = stopped.forced || stopped.unstopped.is_some();
    ensure!(says_so || ended.kills == 0, "SIGKILL came, and nothing says so");
    if is_calm {
        let grace_ms = plan.grace_ms * timer_factor;
        let is_due = plan.may_force() || end_ms + 1.0 >= stop_ms + grace_ms;
        ensure!(!stopped.forced || is_due, "SIGKILL before it was due");
        // A shell that has lost the first question for the end is asked again after half a second.
        let is_soon_over = on_int == OnTerm::Die && grace_ms > 3_000.0 && !plan.may_force();
        ensure!(!stopped.forced || !is_soon_over, "SIGKILL for a script that SIGINT ends");
        ensure!(stopped.unstopped.is_none(), "not stopped: {:?}", stopped.unstopped);
        // All but the shell are killed for 3 s, and the shell then.
        let limit_ms = plan.kill_ms(ended.begin_ms, timer_factor) + 5_000.0 * timer_factor;
        ensure!(end_ms <= limit_ms, "it took {end_ms} ms, and {limit_ms} are allowed");
    }
    Ok(())
}

fn options() -> SessionOptions {
    SessionOptions { shell: SHELL.to_owned(), ..SessionOptions::default() }
}

fn script(world: &World, number: usize, random: &mut fastrand::Rng) -> Script {
    let (name, program) = (format!("script {number}"), world.program(random));
    world.agent.install(&name, program.clone());
    (name, program)
}

/// The shell takes 30 s at most to be ready, and faults that are survived otherwise may take as long.
fn is_not_ready(world: &World, error: &Error) -> Verdict {
    let is_late = matches!(error, Error::Session { .. }) && !world.setup.is_calm();
    let is_lost = matches!(error, Error::OutputLost { .. }) && !world.setup.keeps_all_events();
    ensure!(is_late || is_lost || !world.setup.is_survivable(), "no session: {error}");
    Ok(())
}

fn shell(world: &World) -> Result<Rc<Exec>, String> {
    let shells = world.agent.execs_of(SHELL);
    ensure!(shells.len() == 1, "there were {} shells", shells.len());
    Ok(shells[0].clone())
}

/// Whether the agent has dropped output, or there may be more than a host holds.
fn may_lose_output(world: &World, shell: &Exec) -> bool {
    let max_length = world.setup.max_text_length as usize;
    shell.state().dropped > 0 || shell.output().encode_utf16().count() > max_length
}

/// Each once at most, in the order of the calls.
fn run_in_order(shell: &Exec, scripts: &[Script]) -> Verdict {
    let begun = shell.state().scripts.clone();
    let mut rest = scripts.iter();
    let is_in_order = begun.iter().all(|begun| rest.any(|(name, _)| name == begun));
    ensure!(is_in_order, "the shell has begun {begun:?}");
    Ok(())
}

/// What a caller learns of a script is its own exit code and output, and no more than it has done.
fn is_true(shell: &Exec, (name, program): &Script, outcome: &Outcome) -> Verdict {
    let has_begun = shell.state().scripts.contains(name);
    match outcome {
        Ok((exit_code, output)) => {
            ensure!(has_begun, "{name} has a result, and has not begun");
            let truth = (&program.exit_code, &program.output());
            ensure!((exit_code, output) == truth, "{exit_code} and {output:?}: it is {truth:?}");
        }
        Err(error) => {
            let is_denied = error.to_string().contains("the script did not run");
            ensure!(!(is_denied && has_begun), "{name} has begun: {error}");
            let is_gone = error.to_string().contains("does not know its shell");
            ensure!(!is_gone || shell.state().is_deleted, "its shell is there: {error}");
        }
    }
    Ok(())
}
