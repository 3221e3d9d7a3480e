import { aborted } from "./aborted.js";
import { Outlet } from "../screen/outlet.js";

/** What the program ends with. */
export interface Outcome {
  exitCode: number;
  /** What stderr says of it. */
  message?: string;
}

/** The exit code of a failure of its own, as `docker run`, `env` and `timeout` have it. */
export const OWN_FAILURE = 125;

/** The exit code after a signal to stop: 128 + SIGINT, as a shell has it. */
export const INTERRUPTED = 130;

/** The exit code when the timeout has passed, as the `timeout` of the GNU coreutils has it. */
export const TIMED_OUT = 124;

/** The exit code when nobody reads the output any more: 128 + SIGPIPE, as a shell has it. */
export const OUTPUT_CLOSED = 141;

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

/** The standard output of this process. */
export interface StandardOutput {
  stdout: Outlet;
  stderr: Outlet;
}

/**
 * How a run comes to its end: by the command's exit, a signal, the timeout, a closed stdout or a
 * failure. The first of them decides the outcome; a signal that comes later forces the end.
 */
export class Ending {
  readonly #decided = new AbortController();
  readonly #forced = new AbortController();
  #outcome: Outcome | undefined;
  #unwritable = false;

  /** stdout and stderr. One that can't be written to decides the outcome. */
  readonly output: StandardOutput;

  constructor() {
    const onFailure = this.#onUnwritable.bind(this);
    this.output = {
      stdout: new Outlet(process.stdout, onFailure),
      stderr: new Outlet(process.stderr, onFailure),
    };
  }

  /** The outcome, once it has been decided. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Aborted when the outcome has been decided. */
  get decided(): AbortSignal {
    return this.#decided.signal;
  }

  /** Aborted when somebody does not want to wait for a graceful end. */
  get forced(): AbortSignal {
    return this.#forced.signal;
  }

  /** Whether stdout or stderr can't be written to any more. */
  get unwritable(): boolean {
    return this.#unwritable;
  }

  /** Decides the outcome, unless that has been done. */
  decide(outcome: Outcome): void {
    this.#outcome ??= outcome;
    this.#decided.abort();
  }

  /** Takes the signals that ask a program to stop, from now on. */
  listenToSignals(): void {
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (this.#outcome === undefined) this.decide({ exitCode: INTERRUPTED });
        else this.#forced.abort();
      });
    }
  }

  /** Resolves the outcome when it has been decided. */
  async wait(): Promise<Outcome> {
    await aborted(this.decided);
    return this.#outcome ?? { exitCode: OWN_FAILURE };
  }

  #onUnwritable(error: NodeJS.ErrnoException): void {
    this.#unwritable = true;
    const closed = { exitCode: OUTPUT_CLOSED };
    const message = `the output can't be written: ${error.message}.`;
    this.decide(error.code === "EPIPE" ? closed : { exitCode: OWN_FAILURE, message });
  }
}

/** The outcome of a failure of its own. */
export function failed(error: unknown): Outcome & { message: string } {
  return { exitCode: OWN_FAILURE, message: error instanceof Error ? error.message : String(error) };
}
