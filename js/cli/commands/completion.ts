import {
  type Command,
  command,
  type CommandGroup,
  HELP_OPTION,
  type Option,
  UsageError,
} from "../command.js";
import { interruptible } from "../exit-decision.js";

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** @param program What is completed. */
export function completion(program: () => CommandGroup): Command {
  return command({
    name: "completion",
    summary: "print the completion of the command line for a shell",
    usage: "bash|zsh|fish",
    about: "Prints a script with which a shell completes the commands and options of sandpipe.",
    options: {},
    operands: "<SHELL>",
    examples: [
      "source <(sandpipe completion bash)    # in ~/.bashrc",
      "source <(sandpipe completion zsh)     # in ~/.zshrc, after compinit",
      "sandpipe completion fish > ~/.config/fish/completions/sandpipe.fish",
    ],

    async run(_, [shell = ""]) {
      if (!isKnown(shell)) {
        throw new UsageError(
          `there is a completion for bash, zsh and fish, but not for "${shell}"`,
        );
      }
      return await interruptible(async ({ stdout }) => {
        await stdout.write(SCRIPTS[shell](program()));
        return undefined;
      });
    },
  });
}

function isKnown(shell: string): shell is keyof typeof SCRIPTS {
  return Object.hasOwn(SCRIPTS, shell);
}

/** A place on the command line: what may come behind the names that lead there. */
interface Place {
  /** These names, without the program's, each with a space before it. */
  path: string;
  commands: readonly (Command | CommandGroup)[];
  options: readonly [name: string, option: Option][];
}

/** A script for bash: it completes commands and options, and files elsewhere. */
function bashCompletion(program: CommandGroup): string {
  const places = placesOf(program);
  const words = places.map(({ path, commands, options }) => {
    const names = commands.map(({ name }) => name).join(" ");
    return `    "${path}") commands="${names}" options="${spellings(options)}" ;;`;
  });
  return `\
_sandpipe() {
  local current=\${COMP_WORDS[COMP_CWORD]} place= commands= options= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # What follows is another command's.
    [[ $word == -- ]] && return
    case "$place $word" in
      ${patterns(places)}) place="$place $word" ;;
    esac
  done
  case "$place" in
${words.join("\n")}
  esac
  [[ $current == -* ]] && commands=$options
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -o default -F _sandpipe sandpipe
`;
}

/** The same for zsh, with what commands and options do. */
function zshCompletion(program: CommandGroup): string {
  const places = placesOf(program);
  const described = (entries: readonly (readonly [string, string])[]): string =>
    entries.map(([word, what]) => quoted(`${word}:${what.replaceAll(":", "\\:")}`)).join(" ");
  const words = places.map(({ path, commands, options }) => {
    const named = described(commands.map(({ name, summary }) => [name, summary]));
    const flags = described(options.map(([name, { help }]) => [`--${name}`, help]));
    return `    ("${path}") commands=(${named}) options=(${flags}) ;;`;
  });
  return `\
#compdef sandpipe
_sandpipe() {
  local place= word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      (*" --") _files; return ;;
      (${patterns(places)}) place="$place $word" ;;
    esac
  done
  case "$place" in
${words.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
compdef _sandpipe sandpipe
`;
}

/** The same for fish. */
function fishCompletion(program: CommandGroup): string {
  const places = placesOf(program);
  const lines = places.flatMap(({ path, commands, options }) => {
    const complete = `complete -c sandpipe -n ${quoted(`__sandpipe_at "${path}"`)}`;
    return [
      ...commands.map(({ name, summary }) => `${complete} -f -a ${name} -d ${fishQuoted(summary)}`),
      ...options.map(([name, { short, value, help }]) => {
        const letter = short === undefined ? "" : ` -s ${short}`;
        const needsValue = value === undefined ? "" : " -r";
        return `${complete} -l ${name}${letter}${needsValue} -d ${fishQuoted(help)}`;
      }),
    ];
  });
  return `\
function __sandpipe_at
  set -l place ""
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case ${places
        .slice(1)
        .map(({ path }) => `"${path}"`)
        .join(" ")}
        set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join("\n")}
`;
}

/** All places, the beginning first. */
function placesOf(entry: Command | CommandGroup, path = ""): Place[] {
  const commands = "commands" in entry ? entry.commands : [];
  const options = Object.entries<Option>({ ...entry.options, ...HELP_OPTION });
  const below = commands.flatMap((command) => placesOf(command, `${path} ${command.name}`));
  return [{ path, commands, options }, ...below];
}

/** Patterns of a shell's \`case\` for all places but the beginning. */
function patterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map(({ path }) => `"${path}"`)
    .join("|");
}

function spellings(options: Place["options"]): string {
  return options
    .flatMap(([name, { short }]) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])])
    .join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** In fish a backslash means something between quotes, too. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
