import type { CreateExecRequest, ExecItem, Execs, Sandbox } from "sandpipe";
import { Store } from "../store.js";
import { LiveList } from "./live-list.js";
import { Removals } from "./removals.js";
import { Requests } from "./requests.js";
import { Stops } from "./stopping.js";

/** The runs of an agent, and what the page does with them. */
export class Runs {
  readonly execs: Execs;
  readonly list: LiveList;
  readonly stops: Stops;
  readonly removals: Removals;
  readonly requests = new Requests();
  /** The agent's policy; undefined until it is known. */
  readonly policy = new Store<string | undefined>(undefined);
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    const { execs } = sandbox;
    this.#sandbox = sandbox;
    this.execs = execs;
    this.list = new LiveList(execs);
    this.stops = new Stops(execs);
    this.removals = new Removals(execs);
  }

  /** Runs a command. `line`: as it was typed, for the history. */
  async create(request: CreateExecRequest, line?: string): Promise<ExecItem> {
    const item = await this.execs.create(request);
    this.requests.remember(line, item.id, request);
    this.list.add(item);
    return item;
  }

  async again(item: ExecItem): Promise<ExecItem> {
    const created = await this.requests.again(this.execs, item, this.policy.value);
    this.list.add(created);
    return created;
  }

  /** Asks for the agent's policy: where it was away, another one may be there. */
  async askPolicy(): Promise<void> {
    // What is not known is not shown.
    this.policy.set(await this.#sandbox.policy().catch(() => undefined));
  }

  close(): void {
    this.removals.finish();
    this.list.close();
  }
}
