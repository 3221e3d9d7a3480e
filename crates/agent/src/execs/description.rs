use crate::process::Launch;

/// The most bytes of a command that are kept: no path that can be executed is longer (`PATH_MAX`).
const MAX_COMMAND: usize = 4096;
/// The most bytes of memory for the arguments that are kept.
const MAX_ARGS: usize = 128 * 1024;

/// What was asked for, as it is kept and shown: of bounded size, whatever the request's.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) pty: bool,
    /// Whether standard input was to stay open.
    pub(super) interactive: bool,
    pub(super) user: Option<String>,
}

impl Description {
    pub(super) fn of(launch: &Launch) -> Self {
        Self {
            command: shown_command(&launch.command),
            args: shown_args(&launch.args),
            pty: launch.pty,
            interactive: launch.interactive,
            user: launch.identity.as_ref().map(ToString::to_string),
        }
    }
}

fn shown_command(command: &str) -> String {
    let (shown, rest) = command.split_at(command.floor_char_boundary(MAX_COMMAND));
    if rest.is_empty() { shown.into() } else { format!("{shown}[{} more bytes]", rest.len()) }
}

/// The leading arguments that there is room for, and in the place of the others what is left out.
fn shown_args(args: &[String]) -> Vec<String> {
    let mut room = MAX_ARGS;
    let fits = |arg: &&String| match room.checked_sub(arg.len() + size_of::<String>()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let mut shown: Vec<_> = args.iter().take_while(fits).cloned().collect();
    let rest = args.get(shown.len()..).unwrap_or_default();
    if !rest.is_empty() {
        let bytes: usize = rest.iter().map(String::len).sum();
        shown.push(format!("[{} more arguments, {bytes} bytes]", rest.len()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_usual_size_are_shown_as_they_are() {
        for args in [vec![], vec![String::new(); 5_000], vec!["x".repeat(130_000)]] {
            assert_eq!(shown_args(&args), args);
        }
    }

    #[test]
    fn the_first_arguments_are_shown_and_how_many_are_not() {
        let args = ["a".into(), "x".repeat(1 << 20), "b".into()];
        assert_eq!(shown_args(&args), ["a", "[2 more arguments, 1048577 bytes]"]);
        let many = shown_args(&vec![String::new(); 5_000_000]);
        assert!(many.len() < 6_000);
        assert!(many.last().unwrap().ends_with(" more arguments, 0 bytes]"));
    }

    #[test]
    fn a_command_that_is_no_path_is_cut_between_characters() {
        assert_eq!(shown_command("true"), "true");
        let shown = shown_command(&"\u{20AC}".repeat(2_000));
        assert_eq!(shown, "\u{20AC}".repeat(1_365) + "[1905 more bytes]");
    }
}
