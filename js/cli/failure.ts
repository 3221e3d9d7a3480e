import { isSandpipeError, type SandpipeError } from "../core/errors.js";
import { factsOf } from "../facts.js";
import { type Outcome, OWN_FAILURE } from "./outcome.js";
import { WrongIdError } from "./ids.js";

/** The outcome of a failure of its own. */
export function failed(error: unknown): Outcome & { message: string } {
  return { exitCode: OWN_FAILURE, message: explained(error) };
}

/** What went wrong with one of several, whose id it names once. */
export function failureOf(id: string, error: unknown): string {
  if (error instanceof WrongIdError) return error.message;
  const isRefusal = isSandpipeError(error, "background") && error.reason !== undefined;
  return `${id}: ${isRefusal ? `${error.output}. ${adviceFor(error) ?? ""}` : explained(error)}`;
}

/** What went wrong, with advice that can be followed on a command line. */
function explained(error: unknown): string {
  const advice = isSandpipeError(error) ? adviceFor(error) : undefined;
  if (advice === undefined) return error instanceof Error ? error.message : String(error);
  return `${factsOf(error)}${reason(error)}. ${advice}`;
}

/** Why the machine of a background process could not be asked. */
function reason(error: unknown): string {
  if (!isSandpipeError(error, "background") || error.cause === undefined) return "";
  return ` (${factsOf(error.cause)})`;
}

/** What to do about an error; undefined where its own hint will do. */
function adviceFor(error: SandpipeError): string | undefined {
  const { hint } = error;
  if (isSandpipeError(error, "http") && hint !== undefined) {
    if (error.status === 401) {
      return "Give the agent's token: with --token-file, or in SANDPIPE_TOKEN.";
    }
    if (error.status === 403) return hint;
    if (error.status >= 300 && error.status < 400) {
      return "If the agent is there, name its address with --url or SANDPIPE_URL.";
    }
    if (error.status === 404) return CHECK_ADDRESS;
    // A directory that is not empty.
    return error.status === 409
      ? "Give -r to remove it with all that is in it."
      : "Try again then.";
  }
  if (isSandpipeError(error, "network")) {
    return "Check that the agent runs, and that --url or SANDPIPE_URL is its address.";
  }
  if (isSandpipeError(error, "protocol")) return CHECK_ADDRESS;
  if (isSandpipeError(error, "create_unknown")) {
    return "Look for it with `sandpipe ps` before you run it again: it may run.";
  }
  if (isSandpipeError(error, "exit_code_missing")) {
    return `If the agent goes on, \`sandpipe attach ${error.execId}\` asks it again.`;
  }
  if (isSandpipeError(error, "interrupted") || isSandpipeError(error, "timeout")) {
    const { execId } = error;
    if (hint === undefined || execId === undefined) return undefined;
    return `It may still run: \`sandpipe stop ${execId}\` stops it.`;
  }
  if (isSandpipeError(error, "not_found")) {
    return "`sandpipe bg ls` lists the processes that there are.";
  }
  if (isSandpipeError(error, "background")) {
    if (error.reason === "running") return "`sandpipe bg stop` stops it.";
    if (error.reason === "untrusted") {
      return "Set TMPDIR, on that machine, to a directory of your own.";
    }
    return error.cause === undefined ? undefined : "`sandpipe bg ls` shows whether it runs.";
  }
  if (isSandpipeError(error, "ssh") && hint !== undefined && error.host !== "") {
    return error.mayHaveRun ? hint : `\`ssh ${error.host}\` and your SSH configuration show why.`;
  }
  return undefined;
}

const CHECK_ADDRESS = "Check that --url or SANDPIPE_URL is the address of an agent, without /api.";
