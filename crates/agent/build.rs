//! Has the agent compiled again when a file of the console appears. Those that are embedded already
//! are known to the compiler.

use std::path::Path;

fn main() {
    let console = Path::new("../../console");
    let built = console.join("dist");
    // What does not exist would count as changed every time.
    let watched = if built.exists() { &built } else { console };
    // This is how a build script speaks to cargo.
    #[allow(clippy::print_stdout)]
    {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
}
