//! Translates the modules that are written by hand.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let source = "src/web/text/builtins.wat";
    println!("cargo::rerun-if-changed={source}");
    let module = wat::parse_file(source)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("builtins.wasm"), module)?;
    Ok(())
}
