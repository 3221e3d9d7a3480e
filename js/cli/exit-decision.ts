import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";

import { errorLine } from "./format.js";
import {
  type Outcome,
  OUTPUT_CLOSED,
  OWN_FAILURE,
  STOP_SIGNALS,
  stoppedBy,
  type StopSignal,
} from "./outcome.js";
import { OutputWriter } from "./output-writer.js";

/** The standard output of this process. */
export interface StandardOutput {
  stdout: OutputWriter;
  stderr: OutputWriter;
}

/**
 * Decides what the program ends with: the command's exit, a signal, the timeout, a closed stdout or a
 * failure. The first of them decides the outcome; a signal that comes later forces the end.
 */
export class ExitDecision {
  readonly #decided = new AbortController();
  readonly #forced = new AbortController();
  #outcome: Outcome | undefined;
  #signal: StopSignal | undefined;
  #unwritable = false;

  /** stdout and stderr. One that can't be written to decides the outcome. */
  readonly output: StandardOutput;

  constructor() {
    const onFailure = this.#onUnwritable.bind(this);
    this.output = {
      stdout: new OutputWriter(process.stdout, onFailure),
      stderr: new OutputWriter(process.stderr, onFailure),
    };
  }

  /** The outcome, once it has been decided. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** The signal that has decided the outcome, if one has. */
  get signal(): StopSignal | undefined {
    return this.#signal;
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

  /**
   * Takes the signals that ask a program to stop, from now on.
   *
   * @param onFirst Called when one has decided the outcome.
   */
  listenToSignals(onFirst: () => void = () => undefined): void {
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        if (this.#outcome !== undefined) {
          this.#forced.abort();
          return;
        }
        this.#signal = signal;
        this.decide(stoppedBy(signal));
        onFirst();
      });
    }
  }

  /** The same, and stderr says at once that something is being stopped, and what a second signal does. */
  stopAtSignals(): void {
    this.listenToSignals(() => {
      void this.endLine();
      void this.say("stopping; Ctrl+C again to kill now");
    });
  }

  /** Says something on stderr, on a line of its own. */
  say(message: string): Promise<void> {
    return this.output.stderr.write(errorLine(message));
  }

  /** Ends the line in which a terminal has shown `^C`. */
  async endLine(): Promise<void> {
    const isShown = this.#signal === "SIGINT" && isatty(0) && process.stderr.isTTY;
    if (isShown) await this.output.stderr.write("\n");
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

/**
 * Does work that may be left at any time, as looking on may: a signal to stop, or an output that nobody
 * reads, decides the outcome, and what it looks at goes on.
 *
 * @param work Resolves the outcome, if it is another than exit code 0.
 * @param close Closes what the work has opened. A second signal does not wait for it.
 */
export async function interruptible(
  work: (output: StandardOutput, stopping: AbortSignal) => Promise<Outcome | undefined>,
  close?: () => void | Promise<void>,
): Promise<Outcome> {
  const exit = new ExitDecision();
  exit.listenToSignals();
  try {
    const done = work(exit.output, exit.decided);
    const outcome = await Promise.race([done, exit.wait()]).catch((error: unknown) => {
      // What was asked to stop may say so first.
      if (exit.outcome === undefined) throw error;
      return undefined;
    });
    return exit.outcome ?? outcome ?? { exitCode: 0 };
  } finally {
    await Promise.race([close?.(), aborted(exit.forced)]);
  }
}

/** Resolves when the signal is aborted, at once if it has been. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

/** How long it may take to kill what is to be killed at once, in milliseconds. */
const KILL_TIMEOUT_MS = 15_000;

/** Resolves when what was to be killed since `forced` was aborted has had its time for that. */
export async function killOverdue(forced: AbortSignal): Promise<void> {
  await aborted(forced);
  await delay(KILL_TIMEOUT_MS);
}
