use serde::{Serialize, de::DeserializeOwned};

use super::{failure::Failure, peer::Peer};

/// What a worker can be asked for.
pub(crate) trait Operation: Sized {
    type Answer: Serialize + DeserializeOwned;

    /// Whether it may take long, as what goes through a tree does. Those wait for each other, and hold up no others.
    const IS_LONG: bool = false;

    /// Does it, in the worker. It may block. What is attached to the peer goes with the answer.
    fn run(self, peer: &mut Peer) -> Result<Self::Answer, Failure>;
}
