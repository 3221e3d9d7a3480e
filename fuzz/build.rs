//! `cfg(fuzzing)` is what `cargo fuzz` sets.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    println!("cargo::rerun-if-changed=build.rs");
}
