// What a remote `sh` reads from its stdin, and what it says. No I/O.
//
// The remote command is `exec sh` and nothing more: every login shell understands that, and neither
// the script's size nor its content matters. First the shell says that it is there. Only then is it
// sent the script, so that a script that was not sent has certainly not run.

import { Transcript } from "../transcript.js";

/** U+001E begins and ends a marker, as its octal escape where a shell is to print it. */
const SEPARATOR = "\u001e";

/**
 * Makes a shell say that it is there, its process id, and whether it leads its process group: a group of
 * its number is its own. Behind a wrapper it may not; then one that leads a session takes its place.
 */
export function greeting(nonce: string): string {
  const say = (leads: boolean): string => `printf '\\036${nonce}:${leads ? "l" : "b"}%d\\036' "$$"`;
  const leader = `'${`${say(true)}; exec sh`.replaceAll("'", "'\\''")}'`;
  return [
    `if kill -0 "-$$" 2>/dev/null; then ${say(true)}`,
    `elif command -v setsid >/dev/null 2>&1; then exec setsid sh -c ${leader}`,
    `else ${say(false)}; fi\n`,
  ].join("; ");
}

/**
 * Runs a script and says what it ended with.
 *
 * The shell reads all of it before it begins: a script that arrives in part is not run in part. It
 * runs in a subshell, so that whatever it does the shell is there to tell. That lives through the
 * signals that stop the script: a subshell has its traps reset (POSIX, Shell Command Language, 2.12).
 */
export function wrapped(nonce: string, script: string): string {
  const quoted = `'${script.replaceAll("'", "'\\''")}'`;
  return `{
trap : HUP INT TERM
( eval ${quoted} ) </dev/null 2>&1
printf '\\036${nonce}:e%d\\036' "$?"
exit
}
`;
}

/**
 * Stops a process group: SIGTERM, `graceMs`, SIGKILL, `killMs`. It says `forced` if it took SIGKILL, and
 * `left` if not even that helped, or what is left is another user's. Zombies that nobody reaps are not
 * left: `/proc` tells them where there is one.
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
  #pid: number | undefined;
  #leads = false;
  #exitCode: number | undefined;

  constructor(nonce: string) {
    this.#prefix = `${SEPARATOR}${nonce}:`;
  }

  /** The remote shell's process id, once it has said that it is there. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** Whether it leads its process group, so that all that it starts can be told to stop. */
  get leads(): boolean {
    return this.#leads;
  }

  /** The script's exit code, once it has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** The script's output up to now. */
  get output(): string {
    const rest = this.#pid === undefined || this.cut ? "" : this.#tail;
    return this.#transcript.text + rest;
  }

  /** There was more output than a string can hold. */
  get cut(): boolean {
    return this.#transcript.cut;
  }

  /** What was said before the shell was there. */
  get before(): string {
    return this.#pid === undefined ? this.#tail : "";
  }

  feed(text: string): void {
    if (this.#exitCode !== undefined) return;
    this.#tail += text;
    // What comes before the first marker is a login shell's.
    this.#pid ??= this.#find("b");
    if (this.#pid === undefined) {
      this.#pid = this.#find("l");
      this.#leads = this.#pid !== undefined;
    }
    if (this.#pid === undefined) return;
    this.#exitCode = this.#find("e");
    if (this.#exitCode === undefined) this.#keep(Math.max(0, this.#tail.length - 80));
  }

  /** Finds a marker; what is before it is output, unless it is the first one. */
  #find(kind: "b" | "l" | "e"): number | undefined {
    const begin = this.#tail.indexOf(this.#prefix + kind);
    if (begin < 0) return undefined;
    const from = begin + this.#prefix.length + 1;
    const end = this.#tail.indexOf(SEPARATOR, from);
    if (end < 0) return undefined;
    const said = Number(this.#tail.slice(from, end));
    if (kind === "e") this.#keep(begin);
    this.#tail = kind === "e" ? "" : this.#tail.slice(end + 1);
    return said;
  }

  #keep(length: number): void {
    this.#transcript.append(this.#tail.slice(0, length));
    this.#tail = this.#tail.slice(length);
  }
}
