//! The core of Sandpipe.
