import type { Background, BackgroundProcess } from "../../background.js";
import { byPrefix } from "./by-prefix.js";

/** Finds background processes by their ids or the beginnings of these; it asks for the list once. */
export function processesByPrefix(
  background: Background,
): (written: string) => Promise<BackgroundProcess> {
  let processes: Promise<BackgroundProcess[]> | undefined;
  return async (written) => {
    processes ??= background.list();
    return byPrefix(await processes, written, { kind: "process", list: "sandpipe bg ls" });
  };
}
