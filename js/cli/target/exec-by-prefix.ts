import type { ExecItem } from "../../core/sandpipe.js";
import type { Execs } from "../../execs.js";
import { byPrefix } from "./by-prefix.js";

/** Finds execs of an agent by their ids or the beginnings of these; it asks for the list once. */
export function execsByPrefix(execs: Execs): (written: string) => Promise<ExecItem> {
  let items: Promise<ExecItem[]> | undefined;
  return async (written) => {
    items ??= execs.list();
    return byPrefix(await items, written, { kind: "exec", list: "sandpipe ps" });
  };
}
