use crate::process::Launch;

/// The most bytes of a command or a directory that are kept: no path that can be used is longer (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// The most bytes of memory for the arguments that are kept.
const MAX_ARGS: usize = 128 * 1024;

/// The most bytes that a command line and its directory take in a list, as JSON. With what else an item has, it is less than 640
/// bytes: a list of 100,000 execs fits into the 64 MiB that a client reads of an answer.
const MAX_LISTED: usize = 256;

/// What was asked for, as it is shown in a list: of bounded size, whatever the request's.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) line: CommandLine,
    /// Whether `line` is less than was asked for.
    pub(super) truncated: bool,
    pub(super) pty: bool,
    /// Whether standard input was to stay open.
    pub(super) interactive: bool,
    pub(super) user: Option<String>,
    /// The policy that it runs under, by its name; None where an older agent did not write it down.
    pub(super) policy: Option<String>,
}

/// A program, its arguments, and the directory that it runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// None where a list has no room for it, or an older agent did not write it down.
    pub(super) cwd: Option<String>,
}

impl Description {
    /// What is asked for by `launch`; and the command line as it is shown of the exec alone, where that is more.
    pub(super) fn of(launch: &Launch) -> (Self, Option<CommandLine>) {
        let whole = CommandLine {
            command: shown_path(&launch.command),
            args: shown_args(&launch.args),
            cwd: Some(shown_path(&launch.cwd.to_string_lossy())),
        };
        let (line, whole) = whole.shortened();
        let description = Self {
            line,
            truncated: whole.is_some(),
            pty: launch.terminal.is_some(),
            interactive: launch.interactive,
            user: launch.identity.as_ref().map(ToString::to_string),
            policy: Some(launch.policy.clone()),
        };
        (description, whole)
    }
}

impl CommandLine {
    /// It as a list shows it, and the whole where that is more.
    pub(super) fn shortened(self) -> (Self, Option<Self>) {
        let mut room = MAX_LISTED;
        let command = beginning(&self.command, &mut room);
        let mut short = Self { command, args: vec![], cwd: None };
        if short.command == self.command {
            for arg in &self.args {
                let beginning = beginning(arg, &mut room);
                let is_whole = beginning.len() == arg.len() && room > 0;
                if is_whole || !beginning.is_empty() {
                    short.args.push(beginning);
                }
                if !is_whole {
                    break;
                }
            }
        }
        // All of it or nothing: a part of it is another directory.
        if short.args == self.args
            && let Some(cwd) = &self.cwd
            && beginning(cwd, &mut room) == *cwd
        {
            short.cwd = Some(cwd.clone());
        }
        if short == self { (short, None) } else { (short, Some(self)) }
    }
}

/// As much of a text as there is room for as JSON, with its quotes and a comma. Afterwards there is no room where
/// that is not all.
fn beginning(text: &str, room: &mut usize) -> String {
    let mut left = room.saturating_sub("\"\",".len());
    let fits = |char: &char| match left.checked_sub(json_len(*char)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let beginning: String = text.chars().take_while(fits).collect();
    *room = if beginning.len() == text.len() { left } else { 0 };
    beginning
}

/// How many bytes a character takes in a JSON string (RFC 8259, section 7), in its shortest form.
fn json_len(char: char) -> usize {
    match char {
        '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
        control if control < ' ' => 6,
        char => char.len_utf8(),
    }
}

fn shown_path(path: &str) -> String {
    let (shown, rest) = path.split_at(path.floor_char_boundary(MAX_PATH));
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_command_line_is_short_in_a_list_and_its_beginning(
            command in prop_oneof!["[a-z/]{1,20}", any::<String>()],
            args in prop::collection::vec(prop_oneof![any::<String>(), ".{0,300}"], 0..40),
            cwd in prop::option::of(prop_oneof!["/[a-z]{1,20}", ".{0,300}"]),
        ) {
            let line = CommandLine { command, args, cwd };
            let (short, whole) = line.clone().shortened();
            let json = |line: &CommandLine| {
                serde_json::to_string(&(&line.command, &line.args, &line.cwd)).unwrap()
            };
            prop_assert!(json(&short).len() <= MAX_LISTED + "[,[],null]".len(), "{}", json(&short));
            if let Some(whole) = whole {
                prop_assert_eq!(&whole, &line);
                prop_assert!(json(&line).len() > MAX_LISTED - 16);
                prop_assert!(short.cwd.is_none() || short.cwd == whole.cwd);
                prop_assert!(line.command.starts_with(&short.command));
                for (short, whole) in short.args.iter().zip(&line.args) {
                    prop_assert!(whole.starts_with(short));
                }
            } else {
                prop_assert_eq!(short, line);
            }
        }
    }

    #[test]
    fn a_character_has_its_length_in_json() {
        for char in ('\0'..='\u{100}').chain(['\u{7ff}', '\u{800}', '\u{10ffff}']) {
            assert_eq!(json_len(char), serde_json::to_string(&char).unwrap().len() - 2, "{char:?}");
        }
    }

    #[test]
    fn many_empty_arguments_are_many_too() {
        let args = vec![String::new(); 5_000];
        let line = CommandLine { command: "true".into(), args, cwd: Some("/".into()) };
        let (short, whole) = line.clone().shortened();
        assert!(short.args.len() < 100);
        assert_eq!(whole, Some(line));
    }

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
        assert_eq!(shown_path("true"), "true");
        let shown = shown_path(&"\u{20AC}".repeat(2_000));
        assert_eq!(shown, "\u{20AC}".repeat(1_365) + "[1905 more bytes]");
    }
}
