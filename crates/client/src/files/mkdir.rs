//! Making a directory.

use sandpipe_protocol::json::{FromJson, Problem, Value};

use super::{Target, ask};
use crate::host::Method;
use crate::http::Request;
use crate::{Agent, Call, Operation};

/// An answer that says no more than that it was done.
pub(super) struct Done;

impl FromJson for Done {
    fn from_json(_value: &Value<'_>) -> Result<Self, Problem> {
        Ok(Self)
    }
}

/// Makes a directory, with those above it. One that is there already is left as it is.
pub fn mkdir(agent: &Agent, target: &Target) -> Call<()> {
    let path = target.url("/api/v1/directories", &[]);
    let request = Request { method: Method::Post, ..Request::get(Operation::MakeDirectory, path) };
    let making = ask(agent, target, request);
    Box::pin(async move {
        let Done = making.await?;
        Ok(())
    })
}
