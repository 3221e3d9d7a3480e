//! Whether there is a file.

use super::{Target, stat};
use crate::{Agent, Call};

/// Whether there is something of that name, where the user may look.
pub fn exists(agent: &Agent, target: &Target) -> Call<bool> {
    let looking = stat(agent, target);
    Box::pin(async move {
        match looking.await {
            Ok(_) => Ok(true),
            Err(error) if error.status_of_agent() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    })
}
