/**
 * What became of a command. Its output is a string, or a `Uint8Array` where it was asked for with `encoding: "bytes"`.
 */
export class ExecResult<T extends string | Uint8Array = string> {
  /** The process's own exit code, 128 + N after death by signal N. */
  readonly exitCode: number;
  /** Its stdout and stderr, joined in order of arrival. */
  readonly output: T;
  /** The lengths of the parts of the output, stdout and stderr in turn. */
  readonly #runs: Uint32Array;
  /** How long the command took, in milliseconds, as the caller has seen it. Left out where it was not run by this call. */
  declare readonly durationMs?: number;
  /** What to do about a command that could not be found. Left out where there is nothing to say. */
  declare readonly hint?: string;

  /** @internal */
  constructor(exitCode: number, output: T, runs: Uint32Array) {
    this.exitCode = exitCode;
    this.output = output;
    this.#runs = runs;
  }

  /** Its stdout: the parts of `output` that came from it. Copies have it once it has been read. */
  get stdout(): T {
    return this.#keep("stdout", this.#cut(0));
  }

  /** Its stderr: the parts of `output` that came from it. Copies have it once it has been read. */
  get stderr(): T {
    return this.#keep("stderr", this.#cut(1));
  }

  /** Returns what JSON has of it: also `stdout` and `stderr`. */
  toJSON(): object {
    const { exitCode, output, hint } = this;
    return { exitCode, output, stdout: this.#cut(0), stderr: this.#cut(1), hint };
  }

  #keep(name: "stdout" | "stderr", value: T): T {
    Object.defineProperty(this, name, { value, enumerable: true });
    return value;
  }

  #cut(stream: 0 | 1): T {
    const { output } = this;
    // The core says nothing of an output that is all stdout.
    if (this.#runs.length === 0) return stream === 0 ? output : (output.slice(0, 0) as T);
    const parts: T[] = [];
    let at = 0;
    this.#runs.forEach((length, index) => {
      if (index % 2 === stream) parts.push(part(output, at, at + length));
      at += length;
    });
    return join(output, parts);
  }
}

function part<T extends string | Uint8Array>(output: T, from: number, to: number): T {
  return (typeof output === "string" ? output.slice(from, to) : output.subarray(from, to)) as T;
}

function join<T extends string | Uint8Array>(output: T, parts: T[]): T {
  if (typeof output === "string") return parts.join("") as T;
  const whole = new Uint8Array(parts.reduce((length, next) => length + next.length, 0));
  let at = 0;
  for (const next of parts as Uint8Array[]) {
    whole.set(next, at);
    at += next.length;
  }
  return whole as T;
}

/**
 * A command that runs: the promise of its result, and its id before that.
 *
 * @example
 * const running = sandbox.execs.exec("sleep", ["600"]);
 * await sandbox.execs.kill(await running.id, "SIGINT");
 * const { exitCode } = await running; // 130
 */
export interface RunningExec<Result> extends Promise<Result> {
  /** The exec's id, as soon as the agent has given it one. It rejects where the command was not started. */
  readonly id: Promise<string>;
}

/** Adds to a result what this side knows of the command. */
export function withFacts<T extends string | Uint8Array>(
  result: ExecResult<T>,
  command: string,
  durationMs: number,
): ExecResult<T> {
  const isLine = result.exitCode === 127 && /\S\s+\S/.test(command);
  // No part of what is compared, as the time is never the same.
  Object.defineProperty(result, "durationMs", { value: durationMs });
  return isLine ? Object.assign(result, { hint: hintFor(command) }) : result;
}

function hintFor(line: string): string {
  const script = JSON.stringify(line);
  // A shell does not split everywhere at spaces.
  if (/["'\\$`|&;<>()*?#~]/.test(line)) {
    return `No shell reads a command: use sandbox.run(${script}), or pass its arguments apart.`;
  }
  const [program = "", ...args] = line
    .trim()
    .split(/\s+/)
    .map((word) => JSON.stringify(word));
  return `No shell splits a command at its spaces: pass arguments apart, as in exec(${program}, [${args.join(", ")}]), or use sandbox.run(${script}).`;
}
