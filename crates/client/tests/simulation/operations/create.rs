//! `create`, `start` and `delete`: a command that waits for its start, and is forgotten.

use sandpipe_client::error::Error;
use sandpipe_client::execs::create::create;
use sandpipe_client::execs::delete::delete;
use sandpipe_client::execs::id::ExecId;
use sandpipe_client::execs::start::start;
use sandpipe_protocol::{CreateExecRequest, ExecStatus};

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::invariants::{ensure, runs_once};
use crate::runner::check;

#[test]
fn creates_once_starts_and_deletes() {
    check("create_start_delete", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let client = world.client();
        let agent = world.agent.clone();
        let (done, failed) = world.run(async move {
            let request = CreateExecRequest { autostart: Some(false), ..command() };
            let exec = match create(&client, request).await {
                Ok(exec) => exec,
                Err(error) => return ("create", Some(error)),
            };
            let id = ExecId::of(exec).expect("an id");
            if let Err(error) = start(&client, id.clone()).await {
                return ("start", Some(error));
            }
            let is_started =
                agent.execs_of(COMMAND)[0].look(|state| state.status != ExecStatus::Created);
            assert!(is_started, "it was not started");
            if let Err(error) = delete(&client, &id.clone()).await {
                return ("delete", Some(error));
            }
            assert!(agent.exec(id.as_str()).is_none(), "it is still there");
            ("all", None)
        })?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        let Some(error) = failed else {
            ensure!(execs.len() == 1, "created, and it does not exist");
            return Ok(());
        };
        if done == "create" && !matches!(*error, Error::CreateUnknown { .. }) {
            ensure!(execs.is_empty(), "created, and the error says that it was not: {error}");
        }
        ensure!(!world.is_survivable(), "{done} was not borne: {error}");
        Ok(())
    });
}
