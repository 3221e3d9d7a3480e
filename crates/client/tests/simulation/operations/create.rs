//! `create`, `start` and `delete`: a command that waits for its start, and is forgotten.

use sandpipe_client::execs::{create, delete, start};
use sandpipe_client::{Error, ExecId, Result};
use sandpipe_protocol::{CreateExecRequest, ExecStatus};

use super::{COMMAND, command};
use crate::invariants::{ensure, runs_once};
use crate::runner::check;

#[test]
fn a_command_is_created_once_started_and_deleted() {
    check("create_start_delete", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        let (client, agent) = (world.client(), world.agent.clone());
        let (is_created, result) = world.run(async move {
            let request = CreateExecRequest { autostart: Some(false), ..command() };
            let exec = match create(&client, request).await {
                Ok(exec) => exec,
                Err(error) => return (false, Err(error)),
            };
            let id = ExecId::of(exec).expect("an id");
            let rest = async {
                start(&client, id.clone()).await?;
                let exec = agent.exec(id.as_str()).expect("it exists");
                assert_ne!(exec.state().status, ExecStatus::Created, "it was not started");
                delete(&client, &id).await?;
                assert!(agent.exec(id.as_str()).is_none(), "it is still there");
                Result::Ok(())
            };
            (true, rest.await)
        })?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        ensure!(!is_created || execs.len() == 1, "created, and it does not exist");
        if let Err(error) = result {
            let is_unknown = is_created || matches!(*error, Error::CreateUnknown { .. });
            ensure!(is_unknown || execs.is_empty(), "it exists, and the error denies it: {error}");
            ensure!(!world.setup.is_survivable(), "not survived: {error}");
        }
        Ok(())
    });
}
