//! `core-bindings MODULE FOLDER`: writes the module and its bindings, `sandpipe.*`, into a folder.

use std::env;

use anyhow::{Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = env::args_os().skip(1);
    let (Some(module), Some(folder), None) = (args.next(), args.next(), args.next()) else {
        bail!("Usage: core-bindings MODULE FOLDER");
    };
    // js/ says where the module is.
    Bindgen::new()
        .input_path(module)
        .out_name("sandpipe")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .generate(folder)
}
