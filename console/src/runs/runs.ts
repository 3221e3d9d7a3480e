import type { CreateExecRequest, ExecItem, Execs, Sandbox } from "sandpipe";
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

  constructor({ execs }: Sandbox) {
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
    const created = await this.requests.again(this.execs, item);
    this.list.add(created);
    return created;
  }

  close(): void {
    this.removals.finish();
    this.list.close();
  }
}
