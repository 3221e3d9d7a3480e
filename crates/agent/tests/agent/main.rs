//! The agent's behaviour, as its clients and its host see it: the real binary, real processes, real
//! sockets.

// Helpers of tests are not tests for clippy; they too fail by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod console;
mod contain;
mod crash;
mod create_stream;
mod descriptors;
mod files;
mod frames;
mod full_disk;
mod gaps;
mod hostile;
mod http;
mod idempotency;
mod input;
mod input_bytes;
mod left_execs;
mod lifecycle;
mod limits;
mod list;
mod memory;
mod moments;
mod output;
mod ports;
mod readers;
mod restart;
mod retention;
mod running;
mod scoped_tokens;
mod shutdown;
mod signals;
mod slow_clients;
mod slow_start;
mod socket;
mod startup;
mod stdio;
mod stop_reason;
mod support;
mod terminal;
mod token_files;
mod walls;
mod watch;
mod websocket;
