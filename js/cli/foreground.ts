import type { CreateExecRequest } from "../core/sandpipe.js";
import { isSandpipeError } from "../core/errors.js";
import type { Execs } from "../execs.js";
import { refusalLine, refusedHostsLine } from "../tools/policy-text.js";
import type { Agent } from "./agent.js";
import { type ExitDecision, killOverdue } from "./exit-decision.js";
import { describeStop, type Outcome, OWN_FAILURE, TIMED_OUT } from "./outcome.js";
import { failed } from "./failure.js";
import type { LocalTerminal } from "./local-terminal.js";
import { ShownOutput } from "./shown-output.js";
import { readStdin } from "./stdin.js";

/** How a command runs in the foreground. */
export interface ForegroundOptions {
  /** After so many milliseconds it is stopped. */
  timeoutMs: number | undefined;
  /** How long it may take to end after SIGTERM, in milliseconds. */
  graceMs: number;
  /** Whether stdin is passed on. */
  interactive: boolean;
}

/** A command in the foreground: its output is shown and stdin passed on, up to its end. */
export class Foreground {
  readonly #agent: Agent;
  readonly #id: string;
  readonly #options: ForegroundOptions;
  readonly #exit: ExitDecision;
  readonly #output: ShownOutput;

  constructor(agent: Agent, id: string, options: ForegroundOptions, exit: ExitDecision) {
    this.#agent = agent;
    this.#id = id;
    this.#options = options;
    this.#exit = exit;
    this.#output = new ShownOutput(agent.execs, id, exit.output);
  }

  /**
   * Says what the policy of an agent of its own has refused: hosts by the agent's log, which is complete when that has
   * ended; else what the end of a failed command's output tells of.
   */
  refusal(hasFailed: boolean): string | undefined {
    const { policy, refusedHosts = new Set() } = this.#agent;
    if (policy === undefined) return undefined;
    const hosts = refusedHostsLine(policy, refusedHosts);
    return hosts ?? (hasFailed ? refusalLine(policy, this.#output.end, "give") : undefined);
  }

  /** Waits until it has exited, or is to be stopped, and resolves what the program ends with. */
  async untilExit(terminal: LocalTerminal | undefined): Promise<Outcome> {
    this.#output.outcome.then((outcome) => {
      this.#exit.decide(outcome);
    }, this.#fail);
    this.#setTimeout();
    if (!this.#options.interactive) return this.#stop(await this.#exit.wait());

    terminal?.setRaw();
    try {
      this.#agent.execs.sendStdin(this.#id, readStdin()).catch(this.#fail);
      return await this.#stop(await this.#exit.wait());
    } finally {
      terminal?.restore();
    }
  }

  #setTimeout(): void {
    const { timeoutMs } = this.#options;
    if (timeoutMs === undefined) return;
    setTimeout(() => {
      const message = `the command was stopped: ${timeoutMs / 1000} s (--timeout) have passed.`;
      this.#exit.decide({ exitCode: TIMED_OUT, message });
    }, timeoutMs);
  }

  /** Stops what is left of the command, and waits until the rest of its output has been shown. */
  async #stop(outcome: Outcome): Promise<Outcome> {
    const { execs, own } = this.#agent;
    const { graceMs } = this.#options;
    const { forced, signal } = this.#exit;
    let end = outcome;
    let isConfirmed = true;
    // One that has ended may have left processes: those that have to end with an agent of its own
    // are given their time here, where a signal can cut it short.
    if (own || !this.#output.ended) {
      const overdue = killOverdue(forced).then(() => {
        throw new Error("the kill was not confirmed: the command may still run.");
      });
      try {
        const options = { graceMs, forceSignal: forced };
        const stopped = await Promise.race([execs.terminate(this.#id, options), overdue]);
        if (signal !== undefined) {
          const name = own ? "the command" : `exec ${this.#id}`;
          end = { ...end, message: `${name}: ${describeStop(stopped, graceMs, forced.aborted)}.` };
        }
      } catch (error) {
        if (!own && outcome.exitCode !== OWN_FAILURE) return notStopped(error);
        isConfirmed = !own;
      }
    }
    let unshown = this.#exit.unwritable ? undefined : await this.#output.rest(graceMs, forced);
    if (!isConfirmed) {
      // An agent of its own stops its commands when it ends.
      await this.#agent.close(forced);
      if (signal !== undefined) end = { ...end, message: "the command was stopped by its agent." };
      // There is no agent any more that could be asked for it.
      if (unshown !== undefined) unshown = "some of the output may not be shown.";
    }
    if (unshown === undefined || unshown === end.message) return end;
    return { ...end, message: end.message === undefined ? unshown : `${end.message} ${unshown}` };
  }

  readonly #fail = (error: unknown): void => {
    this.#exit.decide(failed(error));
  };
}

/** The outcome where it could not be stopped. */
function notStopped(error: unknown): Outcome {
  const failure = failed(error);
  if (!isSandpipeError(error, "http") && !isSandpipeError(error, "network")) return failure;
  return { ...failure, message: `the command may still run: ${failure.message}` };
}

/** What to run, where and how. */
export interface StartOptions {
  command: string;
  args: string[];
  cwd: string | undefined;
  user: string | undefined;
  env: Record<string, string>;
  /** Whether stdin is passed on. */
  interactive: boolean;
}

/** Starts what the options say; resolves its id. */
export async function startCommand(
  execs: Execs,
  options: StartOptions,
  terminal: LocalTerminal | undefined,
): Promise<string> {
  const { command, args, cwd, user, env, interactive } = options;
  const request: CreateExecRequest = { command, args, env, interactive };
  if (cwd !== undefined) request.cwd = cwd;
  if (user !== undefined) request.user = user;
  if (terminal === undefined) return (await execs.create(request)).id;

  const { TERM: kind } = process.env;
  // What it writes is for this terminal to understand.
  const sameTerminal = kind === undefined ? env : { TERM: kind, ...env };
  const { id } = await execs.create({ ...request, env: sameTerminal, pty: true, autostart: false });
  await terminal.start(execs, id);
  return id;
}
