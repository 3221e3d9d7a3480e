//! A target of `cargo fuzz`.

#![cfg_attr(fuzzing, no_main)]

sandpipe_fuzz::libfuzzer_target!("git-index");
