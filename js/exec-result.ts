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
  /** Its stdout and its stderr, once they have been asked for. */
  readonly #streams: [T?, T?] = [];

  /** @internal */
  constructor(exitCode: number, output: T, runs: Uint32Array) {
    this.exitCode = exitCode;
    this.output = output;
    this.#runs = runs;
  }

  /** Its stdout: the parts of `output` that came from it. */
  get stdout(): T {
    return (this.#streams[0] ??= this.#cut(0));
  }

  /** Its stderr: the parts of `output` that came from it. */
  get stderr(): T {
    return (this.#streams[1] ??= this.#cut(1));
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
