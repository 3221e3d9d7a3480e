//! Scoped tokens: the admin token makes, lists and revokes them. One operation a file.

mod create;
mod list;
mod revoke;

pub use create::create;
pub use list::list;
pub use revoke::revoke;

use crate::http::Request;
use crate::{Agent, Call, Feature};

/// Makes a request of an agent that has scoped tokens; gives its answer. The status `done` of a
/// repeated one shows that an attempt whose answer was lost has done it.
fn send(agent: &Agent, request: Request, done: Option<u16>) -> Call<Vec<u8>> {
    let agent = agent.clone();
    Box::pin(async move {
        agent.check_offers(Feature::ScopedTokens, "`tokens`").await?;
        Ok(agent.http.send(request, done).await?.unwrap_or_default())
    })
}
