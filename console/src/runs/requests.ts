import type { CreateExecRequest, ExecItem, Execs } from "sandpipe";
import { keep, kept } from "../tab-storage.js";
import { withLine } from "./history.js";

/** How many requests are known, to be made again. */
const MAX_REQUESTS = 1_000;

/** What this page has run: the lines for the history, and how each was asked for. */
export class Requests {
  #lines: readonly string[];
  readonly #byId = new Map<string, CreateExecRequest>();

  constructor() {
    const lines = kept("history");
    this.#lines = Array.isArray(lines) ? lines.filter((line) => typeof line === "string") : [];
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  remember(line: string | undefined, id: string, request: CreateExecRequest): void {
    this.#byId.set(id, request);
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= MAX_REQUESTS) break;
      this.#byId.delete(oldest);
    }
    if (line === undefined) return;
    this.#lines = withLine(this.#lines, line);
    keep("history", this.#lines);
  }

  /**
   * Runs a command again: as this page asked for it, or as the agent tells, which is all but its environment.
   *
   * @param policy The agent's own, if it is known.
   * @throws {Error} This page did not start it, and its policy is no preset, so not known in full: without it the command could do more.
   */
  async again(execs: Execs, item: ExecItem, policy: string | undefined): Promise<ExecItem> {
    const whole = item.argsTruncated === true ? await execs.get(item.id) : item;
    const request = this.#byId.get(item.id) ?? requestOf(whole, policy);
    const created = await execs.create(request);
    this.remember(undefined, created.id, request);
    return created;
  }
}

/** What asks for a run as the agent tells of it. */
function requestOf(
  { command, args, pty, user, cwd, policy }: ExecItem,
  agentPolicy: string | undefined,
): CreateExecRequest {
  // The agent's own may have that name, too, and allow more.
  if (policy === "custom") {
    throw new Error(
      "This ran under a policy that is no preset. The agent doesn’t tell what it allows, and without it the command could do more. " +
        "Run it by the command line, with the policy; or type it above, to run it under the agent’s own.",
    );
  }
  const isNamed = policy !== undefined && policy !== agentPolicy && policy !== "open";
  return {
    ...{ command, args, pty, interactive: pty },
    ...(user === undefined ? {} : { user }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(isNamed ? { policy } : {}),
  };
}
