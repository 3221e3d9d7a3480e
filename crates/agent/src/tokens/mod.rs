//! Scoped tokens: what each may do, and for how long.
//!
//! The admin token alone makes them. [`Scopes`] says what one may do, [`Access`] decides by that about a request,
//! whose route states what it needs ([`Need`]); neither does any I/O. [`ScopedTokens`] has the tokens that are valid,
//! by their hashes alone. They end with the agent.

mod access;
mod lifetime;
mod scoped_token;
mod scoped_tokens;
mod scopes;

pub(crate) use access::{Access, ExecRef, Need, Refusal};
pub(crate) use lifetime::MAX_LIFETIME;
pub(crate) use scoped_token::{ScopedToken, TokenId};
pub(crate) use scoped_tokens::{NoToken, ScopedTokens};
pub(crate) use scopes::Scopes;
