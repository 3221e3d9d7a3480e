// What a remote `sh` reads from its stdin, and what it says. No I/O.
//
// The remote command is `exec sh` and nothing more: every login shell understands that, and neither
// the script's size nor its content matters. First the shell says that it is there. Only then is it
// sent the script, so that a script that was not sent has certainly not run.

/** U+001E begins and ends a marker, as its octal escape where a shell is to print it. */
const SEPARATOR = "\u001e";

/** Makes a shell say that it is there, and its process id. */
export function greeting(nonce: string): string {
  return `printf '\\036${nonce}:b%d\\036' "$$"\n`;
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
 * Stops a process group: SIGTERM, `graceMs`, SIGKILL. It says `forced` if it took that, and `left` if
 * not even that helped.
 */
export function stopScript(group: number, graceMs: number): string {
  const rounds = Math.ceil(graceMs / 100);
  // `sleep` need not know fractions (POSIX, sleep).
  return `
signal() { kill -s "$1" -- -${group} 2>/dev/null; }
gone() {
  round=0
  while signal 0; do
    [ "$round" -lt "$1" ] || return 1
    sleep 0.1 2>/dev/null || { sleep 1; round=$((round + 9)); }
    round=$((round + 1))
  done
}
signal TERM; signal CONT
gone ${rounds} && exit
echo forced
signal KILL
gone 50 || echo left
`;
}

/** Follows what the remote shell says. It is fed with pieces that are cut anywhere. */
export class RemoteOutput {
  readonly #prefix: string;
  /** What was not looked through to its end. */
  #tail = "";
  readonly #pieces: string[] = [];
  #pid: number | undefined;
  #exitCode: number | undefined;

  constructor(nonce: string) {
    this.#prefix = `${SEPARATOR}${nonce}:`;
  }

  /** The remote shell's process id, once it has said that it is there. */
  get pid(): number | undefined {
    return this.#pid;
  }

  /** The script's exit code, once it has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** The script's output up to now. */
  get output(): string {
    const rest = this.#pid === undefined || this.#exitCode !== undefined ? "" : this.#tail;
    return this.#pieces.join("") + rest;
  }

  feed(text: string): void {
    if (this.#exitCode !== undefined) return;
    this.#tail += text;
    // What comes before the first marker is a login shell's.
    if (this.#pid === undefined) this.#pid = this.#find("b");
    if (this.#pid === undefined) return;
    this.#exitCode = this.#find("e");
    if (this.#exitCode === undefined) this.#keep(Math.max(0, this.#tail.length - 80));
  }

  /** Finds a marker; what is before it is output, unless it is the first one. */
  #find(kind: "b" | "e"): number | undefined {
    const begin = this.#tail.indexOf(this.#prefix + kind);
    if (begin < 0) return undefined;
    const from = begin + this.#prefix.length + 1;
    const end = this.#tail.indexOf(SEPARATOR, from);
    if (end < 0) return undefined;
    const said = Number(this.#tail.slice(from, end));
    if (kind === "e") this.#keep(begin);
    this.#tail = kind === "b" ? this.#tail.slice(end + 1) : "";
    return said;
  }

  #keep(length: number): void {
    this.#pieces.push(this.#tail.slice(0, length));
    this.#tail = this.#tail.slice(length);
  }
}
