import { isSandpipeError, type SandpipeError, type SandpipeErrorCode } from "sandpipe";

// No part of the package's interface.
import { factsOf } from "../../dist/facts.js";

/** What an error says, and what to do about it here: its hint is for callers of the package. */
export function messageOf(error: unknown): string {
  const facts = factsOf(error);
  if (!isSandpipeError(error) || facts === error.message) return facts;
  const advice = adviceFor(error);
  return advice === undefined ? `${facts}.` : `${facts}. ${advice}`;
}

const CHECK_ADDRESS = "Check that the address is an agent's, without /api.";

/** What to do about errors that have a hint. */
const ADVICE: Readonly<Partial<Record<SandpipeErrorCode, string>>> = {
  load: "Reload the page. A proxy's Content-Security-Policy has to allow script-src 'wasm-unsafe-eval'.",
  network: "Check that the agent runs, and allows this page's origin (--allow-origin).",
  protocol: CHECK_ADDRESS,
  create_unknown: "Look for it in the list before you run it again: it may run.",
  exit_code_missing: "It may still run: the list shows it when the agent answers again.",
  output_lost: "Raise the agent's --spool-limit, or look at the output while the command runs.",
  output_limit: "Look at it, and whether it still runs, in the list of commands.",
  interrupted: "It may still run: stop it in the list of commands.",
  timeout: "It may still run: stop it in the list of commands.",
  session: "Open another session.",
  not_found: "It may have been removed: the list shows those that there are.",
  closed: "Sign in again.",
};

/** What to do about an error, where there is something. */
export function adviceFor(error: SandpipeError): string | undefined {
  if (isSandpipeError(error, "http")) {
    if (error.status === 401) return "Sign in with the agent's token.";
    if (error.status === 403) return "Sign in with the agent's admin token.";
    if (error.status === 404) return CHECK_ADDRESS;
    const isRedirect = error.status >= 300 && error.status < 400;
    return isRedirect ? "If the agent is there, sign in at that address." : "Try again then.";
  }
  if (isSandpipeError(error, "output_lost") && error.reason !== undefined) {
    return "Make room there: the output is complete again from then on.";
  }
  if (isSandpipeError(error, "background")) {
    if (error.reason === "running") return "Stop it first.";
    return "Start the agent with a directory of its own as TMPDIR.";
  }
  return ADVICE[error.code];
}

/** An error, where it happened; screen readers say it at once. */
export function Failure({ error, id }: { error: unknown; id?: string }) {
  if (error === undefined) return null;
  return (
    <p class="failure" role="alert" id={id}>
      {messageOf(error)}
    </p>
  );
}
