//! The agent's command line.

use std::{fmt, io::IsTerminal, process::ExitCode};

use clap::Parser;
use nix::sys::signal::SigSet;
use sandpipe_agent::{Console, Options};
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    field::MakeExt as _,
    filter::Targets,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Writer, debug_fn},
    },
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

/// The browser console that was built before. It is embedded here, and not in the library, so that the library is compiled
/// while the console is being built.
#[cfg(console)]
#[derive(rust_embed::RustEmbed)]
#[folder = "../../console/dist"]
struct BuiltConsole;

/// The console, where this is compiled with `--cfg console`, as `npm run build` does.
fn console() -> Console {
    #[cfg(console)]
    return Console::embedded::<BuiltConsole>();
    #[cfg(not(console))]
    Console::default()
}

/// Name of the agent in the list of processes.
const NAME: &std::ffi::CStr = c"sandpipe-agent";

fn main() -> ExitCode {
    // One that is executed by a descriptor has the number of that for a name.
    let _unnamed = nix::sys::prctl::set_name(NAME);
    if sandpipe_agent::is_box() {
        give_back_large_blocks();
        return exit_code(&sandpipe_agent::run_box());
    }
    if sandpipe_agent::is_mount_helper() {
        return exit_code(&sandpipe_agent::run_mount_helper());
    }
    if sandpipe_agent::is_policy_command() {
        return match sandpipe_agent::run_policy_command() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => exit_code::<_>(&Err(error)),
        };
    }
    // A parent may have blocked signals, which exec hands on: the agent would see neither the end of
    // a process nor a request to stop. Before there is a thread, since each takes over the mask.
    if let Err(errno) = SigSet::empty().thread_set_mask() {
        report(&errno);
        return ExitCode::FAILURE;
    }
    give_back_large_blocks();
    ignore_large_files();
    serve()
}

/// Makes a write beyond `ulimit -f` an error, as on a full disk: by default it ends the process.
fn ignore_large_files() {
    // SAFETY: there is no handler, and nothing in this process relies on being ended.
    #[allow(unsafe_code)]
    unsafe {
        nix::libc::signal(nix::libc::SIGXFSZ, nix::libc::SIG_IGN);
    }
}

/// The C library would keep the memory of large request bodies once it has seen some: it raises the
/// size from which on a block is the system's own with each that it frees, up to 32 MiB (mallopt(3)).
fn give_back_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it only sets parameters, and there is no other thread yet.
    #[allow(unsafe_code)]
    unsafe {
        // More than a reader takes of an output at once: each page of a block of the system's own is a
        // fault, with each block again.
        const LARGE: i32 = 512 * 1024;
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE);
        nix::libc::mallopt(nix::libc::M_TRIM_THRESHOLD, LARGE);
        // Each takes 64 MiB of the address space, and twice as much for a moment; each thread would have one
        // of its own.
        let arenas = if is_memory_limited() { 1 } else { 4 };
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, arenas);
    }
}

/// Whether the address space has a limit, as by `ulimit -v`.
#[cfg(target_env = "gnu")]
fn is_memory_limited() -> bool {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

    getrlimit(Resource::RLIMIT_AS).is_ok_and(|(limit, _)| limit != RLIM_INFINITY)
}

fn serve() -> ExitCode {
    // Before all that can fail, also the flags.
    if std::env::args_os().any(|arg| arg == "--admin-token-stdin")
        && let Err(error) = sandpipe_agent::await_stdin()
    {
        report(&error);
        return ExitCode::FAILURE;
    }
    let options = Options::parse();
    if options.health_check {
        return exit_code(&sandpipe_agent::check_health(options.listen));
    }
    let filter = match options.log.parse::<Targets>() {
        Ok(filter) => filter,
        Err(error) => {
            let mut command = <Options as clap::CommandFactory>::command();
            command
                .error(
                    clap::error::ErrorKind::ValueValidation,
                    format!("--log {}: {error}", options.log),
                )
                .exit();
        }
    };
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // A path, or what a program has said, makes no line of its own.
        .fmt_fields(
            debug_fn(|writer, field, value| {
                let value = sandpipe_agent::shown(&format!("{value:?}"));
                let is_message = field.name() == "message";
                if is_message {
                    write!(writer, "{value}")
                } else {
                    write!(writer, "{field}={value}")
                }
            })
            .delimited(" "),
        )
        // Else a log line that can't be written, as when the parent is gone, would be a panic.
        .log_internal_errors(false)
        .event_format(LogLine { is_embedded: options.ephemeral })
        .finish()
        .with(filter)
        .init();
    let runtime = match sandpipe_agent::runtime(&options) {
        Ok(runtime) => runtime,
        Err(error) => {
            report(&error);
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(sandpipe_agent::run(&options, console()));
    // A thread that the file system holds up is not waited for.
    runtime.shutdown_background();
    exit_code(&outcome)
}

/// Line of the log. One of an embedded agent is for who reads the output of the program that it belongs to: without time and place.
struct LogLine {
    is_embedded: bool,
}

impl<S, N> FormatEvent<S, N> for LogLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if !self.is_embedded {
            return Format::default().format_event(context, writer, event);
        }
        write!(writer, "sandpipe-agent: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

fn exit_code<E: std::error::Error>(outcome: &Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(error);
            ExitCode::FAILURE
        }
    }
}

/// An error that ends the agent is told whatever is logged.
fn report(error: &dyn std::error::Error) {
    use std::io::Write;

    let mut line = format!("sandpipe-agent: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        line.push_str(": ");
        line.push_str(&error.to_string());
        source = error.source();
    }
    // There is nobody left to tell when standard error is closed.
    let _told = writeln!(std::io::stderr(), "{}", sandpipe_agent::shown(&line));
}
