//! The agent's command line.
fn main() {}
