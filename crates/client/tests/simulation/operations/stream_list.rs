//! `streamList`: the list of execs as it changes.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use sandpipe_client::execs::{ListEvent, ListStream};
use sandpipe_protocol::ExecItem;

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::invariants::ensure;
use crate::runner::check;

#[test]
fn stream_list_shows_the_list_as_it_is_in_the_end() {
    check("stream_list", |world, random| {
        let list = Rc::<RefCell<Vec<ExecItem>>>::default();
        let shown = list.clone();
        let mut stream = ListStream::new(world.client().child(), None);
        let (agent, executor) = (world.agent.clone(), world.executor.clone());
        let mut random = random.fork();
        // A stream that has died is known to have after 45 s without a sign of life.
        let settling_ms = if world.setup.is_calm() { 1_000.0 } else { 600_000.0 };
        let failed = world.run(async move {
            let reading = async {
                loop {
                    match stream.next_events().await {
                        Ok(events) => apply(&mut shown.borrow_mut(), events),
                        Err(error) => return error,
                    }
                }
            };
            let changing = async {
                for _ in 0..random.usize(..8) {
                    agent.install(COMMAND, Program::of(&mut random));
                    let exec = agent.create(command());
                    executor.sleep(random.f64() * 300.0).await;
                    if random.bool() {
                        agent.delete(&exec).await;
                    }
                }
                // All commands have ended by then.
                executor.sleep(1_000_000.0 + settling_ms).await;
            };
            match select(pin!(reading), pin!(changing)).await {
                Either::Left((error, _)) => Some(error),
                Either::Right(_) => None,
            }
        })?;
        match failed {
            Some(error) => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
            None if world.setup.is_survivable() => {
                let (shown, truth) = (list.take(), world.agent.items());
                ensure!(shown == truth, "{shown:?} where it is {truth:?}");
            }
            None => {}
        }
        Ok(())
    });
}

fn apply(list: &mut Vec<ExecItem>, events: Vec<ListEvent>) {
    for ListEvent { is_snapshot, execs, removed } in events {
        if is_snapshot {
            *list = execs;
            continue;
        }
        list.retain(|item| !removed.contains(&item.id));
        for exec in execs.into_iter().rev() {
            match list.iter_mut().find(|item| item.id == exec.id) {
                Some(item) => *item = exec,
                None => list.insert(0, exec),
            }
        }
    }
}
