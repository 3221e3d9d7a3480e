//! Output byte for byte: what it needs of an agent.

use crate::{Agent, Error, Feature, Result};

/// Says whether output can be had byte for byte, before anything is run.
pub(super) async fn check_bytes(agent: &Agent) -> Result<()> {
    if agent.offers(Feature::Frames).await.map_err(Error::of_refused_create)? {
        return Ok(());
    }
    Err(no_bytes())
}

/// The error of an agent that has output as text alone.
pub(super) fn no_bytes() -> Box<Error> {
    let (feature, what) = (Feature::Frames.name(), "`encoding: \"bytes\"`");
    Error::Unsupported { feature, what }.into()
}
