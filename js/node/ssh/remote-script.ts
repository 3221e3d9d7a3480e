// What a remote `sh` reads from its stdin, and what it says. No I/O.
//
// The remote command is `exec sh` and nothing more: every login shell understands that, and neither
// the script's size nor its content matters. That shell starts another one in a process group of its own
// and waits for it; whatever a script does to its shell or its group, the first one is there to tell.
// The second says that it is there. Only then is it sent the script, so that a script that was not sent has
// certainly not run; and it becomes the script's own `sh`, whose number is `$$`.

import { Transcript } from "../transcript.js";

/** U+001E begins and ends a marker, as its octal escape where a shell is to print it. */
const SEPARATOR = "\u001e";

/** The longest argument that Linux takes, in bytes (`MAX_ARG_STRLEN` without the NUL at its end). */
const MAX_ARGUMENT = 128 * 1024 - 1;

/** How often the shell that waits tries to say how the script has ended, every 0.1 s. */
const END_ATTEMPTS = 600;

/**
 * Makes a shell start the one for the script and, when that has ended, say with which code. It is one
 * command: the shell has read all of it before the other one begins to read.
 *
 * A group of its own takes `setsid`, or job control, which not every shell has without a terminal. The
 * job is not awaited under job control: bash would take one that is suspended for ended. Without both
 * they share a group, where SIGKILL to the group (or SIGSTOP) is for both; signals that can be caught are
 * for the script alone: in what a shell starts its traps are reset (POSIX, Shell Command Language, 2.12).
 *
 * Its stderr is not the script's: shells write there what their children died of.
 *
 * Its stdout is: a program that made it non-blocking, and was killed, may have left it so and full. What
 * can't be written then is written later. If something that the script has left behind keeps stdout full,
 * the end is said on stderr in the end. SIGPIPE: nobody is there to be told.
 */
export function greeting(nonce: string): string {
  const start = `sh -c ${quote(beginning(nonce))} 2>&3 3>&-`;
  const end = `printf '\\036${nonce}:e%d\\036' "$code"`;
  const signals = "HUP INT QUIT USR1 USR2 PIPE ALRM TERM";
  return `{
exec 3>&2 2>/dev/null
trap : ${signals}
if command -v setsid >/dev/null; then
  setsid ${start}
elif set -m; case $- in *m*) ;; *) false ;; esac; then
  ${start} <&0 &
  trap '' ${signals}
  set +m
  wait "$!"
else
  ${start}
fi
code=$?
trap 'exit "$code"' PIPE
attempt=1
until ${end}; do
  if [ "$attempt" -ge ${END_ATTEMPTS} ]; then ${end} >&3; break; fi
  sleep 0.1 || { sleep 1; attempt=$((attempt + 9)); }
  attempt=$((attempt + 1))
done
exit "$code"
}
`;
}

/** What the shell for the script does first: it says its process group, 0 if it has to share a stranger's. */
function beginning(nonce: string): string {
  return `group=0
for leader in "$$" "$PPID"; do
  if kill -0 "-$leader" 2>/dev/null; then group=$leader; break; fi
done
printf '\\036${nonce}:g%d\\036' "$group"
exec sh`;
}

/**
 * Makes the shell for a script that script's own. It reads all of it before it begins: a script that
 * arrives in part is not run in part. One that is too long for an argument it runs itself.
 */
export function wrapped(script: string): string {
  const fits = Buffer.byteLength(script) <= MAX_ARGUMENT;
  // The space: it must not begin like an option, and not every `eval` takes `--`.
  const run = fits ? `exec sh -c -- ${quote(script)}` : `eval ${quote(` ${script}`)}`;
  return `{
exec </dev/null 2>&1
${run}
exit
}
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Stops a process group: SIGTERM, `graceMs`, SIGKILL, `killMs`. It says `forced` if it took SIGKILL, and
 * `left` if not even that helped, or what is left is another user's. Zombies that nobody reaps are not
 * left: `/proc` has them where there is one.
 */
export function stopScript(group: number, graceMs: number, killMs: number): string {
  const rounds = (ms: number): number => Math.ceil(ms / 100);
  // No `--` before the group: busybox's `kill` has none. `sleep` need not know fractions (POSIX, sleep).
  return `
LC_ALL=C
export LC_ALL
signal() { kill "-$1" "-${group}" 2>&1; }
state() { grep -qs ") $1 [0-9]* ${group} " /proc/[0-9]*/stat; }
gone() {
  round=0
  while :; do
    case $(signal 0) in *[Nn]'o such process'*) return 0 ;; esac
    state Z && ! state '[^Z]' && return 0
    [ "$round" -lt "$1" ] || return 1
    sleep 0.1 2>/dev/null || { sleep 1; round=$((round + 9)); }
    round=$((round + 1))
  done
}
signal TERM >/dev/null
signal CONT >/dev/null
gone ${rounds(graceMs)} && exit
echo forced
signal KILL >/dev/null
gone ${rounds(killMs)} || echo left
`;
}

/** Follows what the remote shell says. It is fed with pieces that are cut anywhere. */
export class RemoteOutput {
  readonly #prefix: string;
  /** What was not looked through to its end. */
  #tail = "";
  readonly #transcript = new Transcript();
  #group: number | undefined;
  #exitCode: number | undefined;

  constructor(nonce: string) {
    this.#prefix = `${SEPARATOR}${nonce}:`;
  }

  /** Whether the shell for the script has said that it is there. */
  get there(): boolean {
    return this.#group !== undefined;
  }

  /** The process group of the script, so that all that it starts can be stopped; none if it is not its own. */
  get group(): number | undefined {
    return this.#group === 0 ? undefined : this.#group;
  }

  /** The script's exit code, once it has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** The script's output up to now. */
  get output(): string {
    const rest = !this.there || this.cut ? "" : this.#tail;
    return this.#transcript.text + rest;
  }

  /** There was more output than a string can hold. */
  get cut(): boolean {
    return this.#transcript.cut;
  }

  /** What was said before the shell was there. */
  get before(): string {
    const [before = ""] = this.there ? [] : this.#tail.split(this.#prefix);
    return before;
  }

  feed(text: string): void {
    this.#tail += text;
    if (this.#exitCode !== undefined) {
      this.#keep(this.#tail.length);
      return;
    }
    // What comes before the first marker is a login shell's.
    this.#group ??= this.#find("g");
    if (!this.there) return;
    const status = this.#find("e");
    if (status === undefined) this.#keep(Math.max(0, this.#tail.length - 80));
    else this.#exitCode = exitCodeOf(status);
  }

  /** The script's exit code in what came on stderr: where it can't be said on stdout. */
  exitCodeIn(errors: string): number | undefined {
    const [, said] = errors.split(`${this.#prefix}e`);
    const [status, ...rest] = said?.split(SEPARATOR) ?? [];
    return rest.length === 0 ? undefined : exitCodeOf(Number(status));
  }

  /** Finds a marker; what is before it is output, unless it is the first one. */
  #find(kind: "g" | "e"): number | undefined {
    const begin = this.#tail.indexOf(this.#prefix + kind);
    if (begin < 0) return undefined;
    const from = begin + this.#prefix.length + 1;
    const end = this.#tail.indexOf(SEPARATOR, from);
    if (end < 0) return undefined;
    const said = Number(this.#tail.slice(from, end));
    if (kind === "e") this.#keep(begin);
    this.#tail = this.#tail.slice(kind === "e" ? end + 1 - begin : end + 1);
    // What the last parts of a pipeline write comes after the exit code.
    if (kind === "e") this.#keep(this.#tail.length);
    return said;
  }

  #keep(length: number): void {
    this.#transcript.append(this.#tail.slice(0, length));
    this.#tail = this.#tail.slice(length);
  }
}

/** Death by signal N is 256 + N in ksh93, 384 + N in yash. */
function exitCodeOf(status: number): number {
  return status > 255 ? 128 + (status & 127) : status;
}
