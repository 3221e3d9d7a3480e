//! Tests that can't run here say which need is missing.

use std::{io::Write, thread};

/// Returns whether a test can run; says which need is missing where it can't.
///
/// The line is in the test's own output, where `scripts/suites/` finds it and counts the test as skipped. It is on standard error, too:
/// cargo hides what a test prints that does not fail.
#[allow(clippy::print_stdout)]
pub(crate) fn needs(is_there: bool, need: &str) -> bool {
    if !is_there {
        println!("skipped: it needs {need}");
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let _told = writeln!(std::io::stderr(), "skipped: {test} needs {need}");
    }
    is_there
}
