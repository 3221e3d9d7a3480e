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

  /** Where it runs and under which policy; undefined for what another has run, for the agent does not tell. */
  of(id: string): CreateExecRequest | undefined {
    return this.#byId.get(id);
  }

  /** Runs a command again: as this page asked for it, or as much of it as the agent tells. */
  async again(execs: Execs, item: ExecItem): Promise<ExecItem> {
    let request = this.#byId.get(item.id);
    if (request === undefined) {
      const { command, args, pty, user } =
        item.argsTruncated === true ? await execs.get(item.id) : item;
      request = { command, args, pty, interactive: pty, ...(user === undefined ? {} : { user }) };
    }
    const created = await execs.create(request);
    this.remember(undefined, created.id, request);
    return created;
  }
}
