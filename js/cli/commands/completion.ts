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
    about:
      "Prints a script with which a shell completes the commands and options of sandpipe, and the ids of commands and processes.",
    options: {},
    operands: "<SHELL>",
    offers: Object.keys(SCRIPTS),
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
  /** Words that may be operands. */
  operands: readonly string[];
  /** Arguments of the program that prints further ones. */
  lister: string;
}

/** A script for bash: it completes commands, options, their values and ids, and files elsewhere. */
function bashCompletion(program: CommandGroup): string {
  const places = placesOf(program);
  const words = places.map(({ path, commands, options, operands, lister }) => {
    const names = commands.map(({ name }) => name).join(" ");
    const words = [names, ...operands].join(" ").trim();
    return `    "${path}") commands="${words}" options="${spellings(options)}" lister="${lister}" ;;`;
  });
  const values = valuesOf(places).map(
    ([pattern, offers]) => `    ${pattern}) commands="${offers.join(" ")}" lister= ;;`,
  );
  const { valued, whole } = connectionOf(places);
  return `\
_sandpipe() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local place= commands= options= lister= word before=
  local -a line=() connection=()
  # "=" is a word of its own.
  [[ $previous == "=" ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}
  [[ $current == "=" ]] && previous=\${COMP_WORDS[COMP_CWORD-1]} current=
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    # What follows is another command's.
    [[ $word == -- ]] && return
    [[ $word == help && -z $place ]] && continue
    case "$place $word" in
      ${patterns(places)}) place="$place $word" ;;
    esac
  done
  case "$place" in
${words.join("\n")}
  esac
  case "$place $previous" in
${values.join("\n")}
    *) [[ $current == -* ]] && commands=$options lister= ;;
  esac
  if [[ -n $lister ]]; then
    # COMP_WORDS has the address of an agent in pieces.
    read -a line <<< "\${COMP_LINE:0:COMP_POINT}"
    for word in "\${line[@]}"; do
      word=\${word/#\\~\\//"$HOME"/}
      case $before in ${valued.join("|")}) connection+=("$before" "$word") ;; esac
      case $word in ${whole.join("|")}) connection+=("$word") ;; esac
      before=$word
    done
    while read -r word; do
      # An agent names these: nothing that the shell would act upon.
      [[ $word =~ ^[A-Za-z0-9_-]+$ && $word == "$current"* ]] && COMPREPLY+=("$word")
    done < <(sandpipe $lister "\${connection[@]}" 2> /dev/null)
    return
  fi
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
  const words = places.map(({ path, commands, options, operands, lister }) => {
    const named = described(commands.map(({ name, summary }) => [name, summary]));
    const flags = described(options.map(([name, { help }]) => [`--${name}`, help]));
    const more = `operands=(${operands.join(" ")}) lister="${lister}"`;
    return `    ("${path}") commands=(${named}) options=(${flags}) ${more} ;;`;
  });
  const values = valuesOf(places).map(
    ([pattern, offers]) => `    (${pattern}) compadd -- ${offers.join(" ")}; _files; return ;;`,
  );
  const { valued, whole } = connectionOf(places);
  return `\
#compdef sandpipe
_sandpipe() {
  local place= lister= word before=
  local -a commands options operands connection
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      (*" --") _files; return ;;
      (" help") ;;
      (${patterns(places)}) place="$place $word" ;;
    esac
    word=\${\${(Q)word}/#\\~\\//$HOME/}
    case $before in (${valued.join("|")}) connection+=("$before" "$word") ;; esac
    case $word in (${whole.join("|")}) connection+=("$word") ;; esac
    before=$word
  done
  case "$place" in
${words.join("\n")}
  esac
  case "$place \${words[CURRENT-1]}" in
${values.join("\n")}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -n $lister ]]; then
    compadd -- \${(f)"$(sandpipe \${=lister} $connection 2> /dev/null)"}
  elif (( $#operands )); then
    compadd -- $operands; _files
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
  const lines = places.flatMap(({ path, commands, options, operands, lister }) => {
    const list = `sandpipe ${lister} (__sandpipe_connection) 2> /dev/null`;
    const complete = `complete -c sandpipe -n ${quoted(`__sandpipe_at "${path}"`)}`;
    return [
      ...commands.map(({ name, summary }) => `${complete} -f -a ${name} -d ${fishQuoted(summary)}`),
      ...(operands.length === 0 ? [] : [`${complete} -a ${quoted(operands.join(" "))}`]),
      ...(lister === "" ? [] : [`${complete} -f -a '(${list})'`]),
      ...options.map(([name, { short, value, help, offers }]) => {
        const letter = short === undefined ? "" : ` -s ${short}`;
        const needsValue = value === undefined ? "" : " -r";
        const offered = offers === undefined ? "" : ` -a ${quoted(offers.join(" "))}`;
        return `${complete} -l ${name}${letter}${needsValue}${offered} -d ${fishQuoted(help)}`;
      }),
    ];
  });
  const { valued, whole } = connectionOf(places);
  return `\
function __sandpipe_connection
  set -l before ""
  for word in (commandline -opc)[2..]
    set word (string replace -r -- '^~/' "$HOME/" $word)
    contains -- $before ${valued.join(" ")}
    and printf '%s\\n' $before $word
    switch $word
      case ${whole.map(quoted).join(" ")}
        printf '%s\\n' $word
    end
    set before $word
  end
end
function __sandpipe_at
  set -l place ""
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case " help"
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
  const offers = "commands" in entry ? undefined : entry.offers;
  const place =
    typeof offers === "string"
      ? { operands: [], lister: offers }
      : { operands: offers ?? [], lister: "" };
  return [{ path, commands, options, ...place }, ...below];
}

/** The options that name an agent or a machine, as patterns of a shell's `case`. */
function connectionOf(places: readonly Place[]): {
  /** Those whose value is the next word. */
  valued: string[];
  /** Those that are a word, with their value if they take one. */
  whole: string[];
} {
  const options = places.flatMap((place) => place.options);
  const connection = new Map(options.filter(([, { group }]) => group === "Connection"));
  const valued = [...connection].filter(([, { value }]) => value !== undefined);
  return {
    valued: valued.map(([name]) => `--${name}`),
    whole: [...connection].map(
      ([name, { value }]) => `--${name}${value === undefined ? "" : "=*"}`,
    ),
  };
}

/** For an option that offers no values. */
const FILES: readonly string[] = [];

/** The values that options offer, each with a pattern of a shell's `case` for the options. */
function valuesOf(places: readonly Place[]): [pattern: string, offers: readonly string[]][] {
  const patternsOf = new Map<readonly string[], string[]>();
  for (const { path, options } of places) {
    for (const option of options) {
      const { value, offers = FILES } = option[1];
      if (value === undefined) continue;
      const found = spellings([option])
        .split(" ")
        .map((word) => `"${path} ${word}"`);
      patternsOf.set(offers, [...(patternsOf.get(offers) ?? []), ...found]);
    }
  }
  return [...patternsOf].map(([offers, found]) => [found.join("|"), offers]);
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
