//! Sessions: scripts are run in a shell one after the other, and interrupted.

use std::rc::Rc;

use futures_util::future::{join, join_all};
use sandpipe_client::error::{Error, StopReason};
use sandpipe_client::execs::wait_options::WaitOptions;
use sandpipe_client::sessions::create::SessionOptions;
use sandpipe_client::sessions::session::Sessions;

use super::outcome;
use super::stop::Plan;
use crate::agent::exec::Exec;
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
        let count = random.usize(1..5);
        let scripts: Vec<Script> = (0..count).map(|number| script(world, number, random)).collect();
        let texts: Vec<String> = scripts.iter().map(|(name, _)| name.clone()).collect();
        let sessions = Sessions::new(world.client());
        let seen = world.run(async move {
            let session = sessions.create(options()).await?;
            let runs = texts.into_iter().map(|text| session.run(text, WaitOptions::default()));
            let seen: Vec<Outcome> = join_all(runs).await.into_iter().map(outcome).collect();
            Ok::<_, Box<Error>>((seen, session.close().await))
        })?;
        let (seen, closed) = match seen {
            Ok(seen) => seen,
            Err(error) => return is_not_ready(world, &error),
        };
        let shell = shell(world)?;
        run_in_order(&shell, &scripts)?;
        for (script, outcome) in scripts.iter().zip(&seen) {
            is_true(&shell, script, outcome)?;
            if let Err(error) = outcome {
                let is_excused = may_lose_output(world, &shell) || !world.setup.is_survivable();
                ensure!(is_excused, "{} was not survived: {error}", script.0);
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
        let seen = world.run(async move {
            let session = sessions.create(options()).await?;
            let interrupted = session.run(first, stops);
            let next = session.run(second, WaitOptions::default());
            let interrupted = async {
                let outcome = outcome(interrupted.await);
                let shells = agent.execs_of(SHELL);
                let running = shells[0].state().running.clone();
                (outcome, running)
            };
            let seen = join(interrupted, next).await;
            // What became of it shows below.
            session.close().await.unwrap_or_default();
            Ok::<_, Box<Error>>(seen)
        })?;
        let ((interrupted, running), next) = match seen {
            Ok(seen) => seen,
            Err(error) => return is_not_ready(world, &error),
        };
        let next = outcome(next);
        let shell = shell(world)?;
        run_in_order(&shell, &scripts)?;
        let is_calm = world.setup.is_calm() && !may_lose_output(world, &shell);
        is_true(&shell, &scripts[0], &interrupted)?;
        if let Err(error) = &interrupted
            && let Error::Stopped(stopped) = &**error
        {
            let is_input_lost = matches!(stopped.why, StopReason::InputLost { .. });
            let is_wanted = plan.first_ms().is_finite() || is_input_lost;
            ensure!(is_wanted, "stopped, and nobody asked for that");
            let goes_on = running.as_ref() == Some(&scripts[0].0);
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
        }
    }
    Ok(())
}
