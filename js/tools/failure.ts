import {
  BackgroundError,
  isSandpipeError,
  NotFoundError,
  type SandpipeError,
} from "../core/errors.js";
import { factsOf } from "../facts.js";

/**
 * What a tool throws in place of an error of this package, whose message is for callers of the package: one
 * that names the tools and what they take. What the caller's own functions threw stays as it is, and an
 * input that is refused has been refused in such words already.
 */
export function failureOf(tool: string, error: unknown): unknown {
  if (!isSandpipeError(error) || isSandpipeError(error, "invalid_argument")) return error;
  if (isSandpipeError(error, "not_found")) return unknownProcess(error.id, error);
  const { id, operation } = isSandpipeError(error, "background")
    ? error
    : { id: undefined, operation: undefined };
  // It is a tool's own.
  if (operation === tool) return error;
  return new BackgroundError(explained(error), { operation: tool, output: "", id, cause: error });
}

/** There is no process of an id that a model gave. */
export function unknownProcess(id: string, cause?: unknown): NotFoundError {
  const hint =
    "bash_background_list shows those that there are; of those that have ended only the newest are kept.";
  return new NotFoundError(`there is no process ${JSON.stringify(id)}. ${hint}`, {
    ...{ id, hint },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** What went wrong and what a model can do about it, as sentences without the last full stop. */
export function explained(error: unknown): string {
  if (isSandpipeError(error, "background") && error.cause !== undefined) {
    const { cause, id } = error;
    // Who is refused is refused the list, too.
    const isRefused = isSandpipeError(cause, "http") && adviceFor(cause) !== undefined;
    const advice = isRefused ? adviceFor(cause) : adviceAfter(id);
    return withAdvice(`${factsOf(error)} (${factsOf(cause)})`, advice);
  }
  return withAdvice(factsOf(error), isSandpipeError(error) ? adviceFor(error) : undefined);
}

function withAdvice(facts: string, advice: string | undefined): string {
  const what = facts.replace(/\.$/, "");
  return advice === undefined ? what : `${what}. ${advice}`;
}

/** The target could not be asked any more about a process. */
function adviceAfter(id: string | undefined): string {
  const about = id === undefined ? "" : ` (process_id: ${id})`;
  return `bash_background_list shows whether it runs${about}, when the target can be asked again`;
}

const FOR_A_PERSON = "Only a person can see to that: tell the user";

function adviceFor(error: SandpipeError): string | undefined {
  if (isSandpipeError(error, "http")) {
    return error.status === 401 || error.status === 403 ? FOR_A_PERSON : undefined;
  }
  if (isSandpipeError(error, "background")) {
    if (error.reason === "running") return "bash_background_terminate stops it";
    return error.reason === "untrusted" ? FOR_A_PERSON : undefined;
  }
  if (isSandpipeError(error, "create_unknown")) {
    return "It may run: see bash_background_list before you run it again";
  }
  if (isSandpipeError(error, "ssh") && error.mayHaveRun) {
    return "It may have run: look before you run it again";
  }
  const isUnreachable = ["network", "protocol", "ssh", "closed", "agent"].includes(error.code);
  return isUnreachable ? FOR_A_PERSON : undefined;
}
