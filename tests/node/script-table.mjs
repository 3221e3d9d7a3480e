// @ts-check
/**
 * Scripts that mean the same over every runtime. Plain data: the expectations come from `sh -c`.
 *
 * A runtime starts the script's shell by another shell, which may wait for its end. `CARRIED` has
 * the scripts whose outcome that one can change: by how the script gets there (any length, any
 * quotes), by what its shell inherits (streams, arguments, ignored signals), by what a signal to
 * one of them does to the other, by how the exit code is returned. They run over every runtime with
 * every shell. `OWN` has the scripts that the script's own shell decides alone. They run over this
 * machine with `sh`, and over a session, whose shell runs scripts itself; with `SANDPIPE_MATRIX=1`
 * they run everywhere.
 */

/** Longer than an argument can be on Linux (128 KiB). */
const PADDING = '# it\'s "padding", é€😀\n'.repeat(10_000);

/** All characters that a shell might take for its own, and some of each length in UTF-8. */
const CHARACTERS = Array.from({ length: 0x9f }, (_, at) => String.fromCharCode(at + 1)).join("");

/** Why a session's shell, which goes on and is interactive to do so, makes something else of some. */
const MESSAGE = "the shell's own messages are others";
const IGNORED = "SIGTERM is ignored unless it is trapped";
const SOURCED = "the script is read as `.` reads a file";

/**
 * @typedef {object} Script
 * @property {string} script
 * @property {string} [name] by default, the script itself
 * @property {string} [notInSession] why it means something else in a session
 * @property {boolean} [leadsSession] it needs to lead a session of POSIX, not just a process group
 */

/** @type {Script[]} */
export const CARRIED = [
  // Exit codes.
  { script: "" },
  { script: "true" },
  { script: "false" },
  { script: "exit 3" },
  { script: "exit 255" },
  { script: "nonexistent_command_xyz", notInSession: MESSAGE },
  { script: "/", notInSession: MESSAGE },
  { script: "exec nonexistent_command_xyz", notInSession: MESSAGE },
  { script: "exec sh -c 'exit 9'" },
  { script: "exec true" },
  { script: "exec sh -c 'kill -KILL $$'" },
  // Syntax errors.
  { script: "if", notInSession: MESSAGE },
  { script: "echo before\nfi\necho after", notInSession: MESSAGE },
  { script: "echo 'unbalanced", notInSession: MESSAGE },
  { script: 'echo "unbalanced', notInSession: MESSAGE },
  { script: "echo $(", notInSession: MESSAGE },
  { script: "cat <<EOF\nno end", notInSession: MESSAGE },
  { script: "}; echo escaped; {", notInSession: MESSAGE },
  { script: "'; echo escaped; '", notInSession: MESSAGE },
  { script: "echo a\\", notInSession: SOURCED },
  { script: "echo a # a comment" },
  // Signals to itself.
  ...["HUP", "INT", "QUIT", "ABRT", "KILL", "USR1", "SEGV", "PIPE", "ALRM", "XCPU"].map(
    (signal) => ({ script: `ulimit -c 0; kill -${signal} $$; echo after; exit 9` }),
  ),
  { script: "kill -15 $$; echo after; exit 9", notInSession: IGNORED },
  { script: "kill -15 $$", notInSession: IGNORED },
  { script: "kill -9 $$" },
  // No shell with job control is over it that could resume it.
  { script: "kill -TSTP $$; echo after; exit 9", leadsSession: true },
  { script: "kill -9 $$ & wait; sleep 5; echo after" },
  { script: "(kill -TERM $$); sleep 5; echo after; exit 9", notInSession: IGNORED },
  { script: "sh -c 'kill -KILL $PPID'; echo after; exit 9" },
  {
    name: "suspends itself",
    script: `(until grep -q '^State:.T' /proc/$$/status; do sleep 0.02; done; kill -CONT $$) &
      kill -STOP $$; echo on; wait; exit 4`,
  },
  { script: "ulimit -S -t 1; while :; do :; done" },
  // Signals to its process group.
  { script: "kill 0; sleep 5; echo after; exit 9", notInSession: IGNORED },
  { script: "kill -KILL 0; echo after; exit 9" },
  { script: "kill -INT 0; sleep 5; echo after; exit 9" },
  { script: "trap 'echo caught' TERM; kill 0; echo after; exit 6" },
  { script: "kill -TERM -$$; sleep 5; echo after; exit 9", notInSession: IGNORED },
  {
    name: "suspends its process group",
    script: `setsid sh -c '{ until grep -q "^State:.T" /proc/$1/status; do sleep 0.02; done
      kill -CONT "-$1"; } >/dev/null 2>&1 &' sh $$
      kill -STOP 0; echo on; exit 4`,
    leadsSession: true,
  },
  {
    script: 'set -- $(cat /proc/$$/stat); [ "$1 $5 $6" = "$$ $$ $$" ] && echo leads a session',
    leadsSession: true,
  },
  // Traps, and what is ignored.
  { script: "trap '' HUP; sh -c 'kill -HUP $$; echo alive'; exit 5" },
  { script: "trap 'kill -TERM $$; sleep 5' EXIT; exit 3", notInSession: IGNORED },
  { script: "trap 'echo bye' EXIT; kill -TERM $$; sleep 5", notInSession: IGNORED },
  { script: "grep -E '^Sig(Blk|Ign):' /proc/self/status" },
  { script: "nohup sh -c 'kill -HUP $$; echo alive' 2>/dev/null" },
  // What its children get.
  { script: "yes | head -n 1" },
  {
    // What an interactive shell forks ignores SIGTERM (bit 0x4000), as that does, up to its execve(2).
    script: `sleep 600 & while grep -q '^SigIgn:.*[4-7c-f]...$' /proc/$!/status; do sleep 0.01; done
      kill $!; wait $! 2>/dev/null; echo $?`,
  },
  // Its streams.
  { script: "echo out; printf end; exit 3" },
  { script: "echo err >&2; exit 3" },
  { script: "cat; echo end; wc -c" },
  { script: "read line || echo no stdin" },
  { script: "exec </dev/null; cat; exit 6" },
  { script: "exec >/dev/null; echo gone; exit 6" },
  { script: "exec >&-; echo gone 2>/dev/null; exit 8" },
  { script: "exec >&- 2>&- <&-; exit 8" },
  { script: "exec 2>/dev/null; nonexistent_command_xyz" },
  {
    script: "exec 3>&1 >/dev/null; echo gone; echo shown >&3; kill -TERM $$",
    notInSession: IGNORED,
  },
  { script: "sleep 3 & echo started; exit 2" },
  { script: "sleep 3 & echo started; kill -KILL $$" },
  { script: "(sleep 0.3; echo late) & wait; exit 3" },
  // What it is given.
  { script: 'echo "$0 $#"' },
  { script: "set -- a 'b c'; shift; echo \"$1 $#\"" },
  { script: "return 3", notInSession: SOURCED },
  { script: "-x nonexistent_command_xyz", notInSession: MESSAGE },
  { script: "+x nonexistent_command_xyz", notInSession: MESSAGE },
  { name: "all characters", script: `cat <<'THE END'\n${CHARACTERS}\nĀ€😀\nTHE END\n` },
  {
    name: "a quoted newline",
    script: "printf '%s' 'a\n'\\''b\n\n' \"$(printf 'c\n\n')\"",
  },
  // Its length.
  {
    name: "a long script that asks for its shell's mode",
    script: `${PADDING}case \${SHELLOPTS-} in *posix*) echo posix ;; esac; exit 3`,
  },
  {
    name: "a long script that begins like an option",
    script: `-x 2>/dev/null; echo $?\n${PADDING}`,
  },
  { name: "a long script that ends", script: `${PADDING}echo on; exit 3` },
  {
    name: "a long script that reads",
    script: `${PADDING}cat; read line; echo $?; exit 3`,
  },
  { name: "a long script that kills itself", script: `${PADDING}kill -KILL $$; echo after` },
  {
    name: "a long script that kills its group",
    script: `${PADDING}kill 0; sleep 5; echo after`,
    notInSession: IGNORED,
  },
  {
    name: "a long script with a trap",
    script: `${PADDING}trap 'exit 3' TERM; kill $$; exit 9`,
  },
  {
    name: "a long script that is another",
    script: `${PADDING}exec sh -c 'exit 9'`,
  },
  {
    name: "a long script that closes all",
    script: `${PADDING}exec >&- 2>&- <&-; exit 8`,
  },
  ...[131_071, 131_072].map((length) => ({
    name: `a script of ${length} bytes`,
    script: "echo ; exit 3".replace(";", `${"x".repeat(length - 13)};`),
  })),
];

/** @type {Script[]} */
const OWN = [
  // Exit codes.
  { script: "(exit 4); echo $?; (exit 5)" },
  { script: "exit 3 | true; echo $?" },
  { script: "f() { return 6; }; f" },
  { script: "f() { exit 6; }; f; echo after" },
  { script: "set -e; false; echo after" },
  { script: "set -e; (exit 7); echo after" },
  { script: 'set -u; echo "$undefined_variable"; echo after; exit 9', notInSession: MESSAGE },
  { script: "nonexistent_command_xyz; exit 9", notInSession: MESSAGE },
  // Traps.
  { script: "trap 'exit 3' TERM; kill -15 $$; sleep 1; exit 9" },
  { script: "trap 'exit 3' INT; kill -INT $$; sleep 1; exit 9" },
  { script: "trap 'echo caught; exit 3' HUP; kill -HUP $$; exit 9" },
  { script: "trap 'echo caught' USR1; kill -USR1 $$; exit 7" },
  { script: "trap '' TERM; kill -TERM $$; echo alive; exit 5" },
  { script: "trap 'echo bye' EXIT; exit 4" },
  { script: "trap 'exit 8' EXIT; exit 4" },
  { script: "trap 'exit 3' TERM; sh -c 'kill $PPID'; sleep 1; exit 9" },
  // What its children die of.
  { script: "sh -c 'kill -KILL $$'; echo $?; exit 5", notInSession: MESSAGE },
  { script: "sh -c 'kill -TERM $$'" },
  { script: "(kill -KILL $(sh -c 'echo $PPID')); echo $?", notInSession: MESSAGE },
  { script: "sh -c 'kill -PIPE $$'; echo $?" },
  { script: "cd / && pwd" },
];

export const SCRIPTS = [...CARRIED, ...OWN];
