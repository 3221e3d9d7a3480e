//! Feeds the fuzz targets with inputs of its own, on any toolchain.

use std::{fs, io::Write, path::PathBuf, process::ExitCode};

use clap::Parser;
use sandpipe_fuzz::{Outcome, TARGETS, Target, run, target};

/// Feeds fuzz targets. For each one it prints a line of JSON.
#[derive(Debug, Parser)]
struct Options {
    /// The targets; all if none is named.
    targets: Vec<String>,
    /// How many inputs each gets.
    #[arg(long, default_value_t = 10_000_000)]
    inputs: u64,
    /// Decides the inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only lists the targets.
    #[arg(long)]
    list: bool,
    /// Feeds this file's bytes alone, to each target named.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Only writes the targets' own inputs, a directory for each, and the words of each: what libFuzzer
    /// begins with.
    #[arg(long)]
    write_seeds: Option<PathBuf>,
    /// Where to put an input that something is wrong with.
    #[arg(long, default_value = "fuzz/artifacts")]
    artifacts: PathBuf,
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let options = Options::parse();
    let mut chosen: Vec<&Target> = Vec::new();
    for name in &options.targets {
        chosen.push(target(name).ok_or_else(|| format!("there is no target {name:?}"))?);
    }
    if chosen.is_empty() {
        chosen = TARGETS.iter().collect();
    }
    let mut failed = false;
    for target in chosen {
        if let Some(directory) = &options.write_seeds {
            write_seeds(target, directory)?;
        } else if let Some(path) = &options.input {
            (target.check)(&fs::read(path)?);
        } else {
            let line = if options.list {
                target.name.to_owned()
            } else {
                let outcome = run(target, options.inputs, options.seed);
                failed |= outcome.failure.is_some();
                report(target, &outcome, &options)?
            };
            writeln!(std::io::stdout(), "{line}")?;
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report(target: &Target, outcome: &Outcome, options: &Options) -> std::io::Result<String> {
    let mut input = None;
    if let Some(failure) = &outcome.failure {
        fs::create_dir_all(&options.artifacts)?;
        let path = options.artifacts.join(format!("{}-{}", target.name, outcome.inputs));
        fs::write(&path, &failure.input)?;
        input = Some(path);
    }
    let line = serde_json::json!({
        "target": target.name,
        "inputs": outcome.inputs,
        "seconds": outcome.time.as_secs_f64(),
        "peak": outcome.peak,
        "failure": outcome.failure.as_ref().map(|failure| &failure.message),
        "input": input,
    });
    Ok(line.to_string())
}

/// As libFuzzer reads them: a file for each input, and a dictionary.
fn write_seeds(target: &Target, directory: &std::path::Path) -> std::io::Result<()> {
    let corpus = directory.join(target.name);
    fs::create_dir_all(&corpus)?;
    for (number, seed) in target.seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed)?;
    }
    let mut dictionary = Vec::new();
    for word in target.words {
        dictionary.push(b'"');
        for byte in *word {
            write!(dictionary, "\\x{byte:02x}")?;
        }
        dictionary.extend_from_slice(b"\"\n");
    }
    fs::write(directory.join(format!("{}.dict", target.name)), dictionary)
}
