// @ts-check
/** How long a single line takes from the process to the reader: the median. */

import { measured } from "../child.mjs";
import { openSsh } from "../openssh.mjs";

/** Milliseconds from one line to the next, and how many. */
const PACES = /** @type {const} */ ([
  [10, 300],
  [1, 2000],
]);

/** @type {import("../main.mjs").Row[]} */
export const lineRows = PACES.map(([interval, count]) => ({
  ...{ name: `line-${interval}ms`, title: `a line, ${interval} ms apart, real agent` },
  reference: "pipe",
  async open() {
    const ssh = await openSsh();
    const pace = [String(interval), String(count)];
    const columns = {
      pipe: () => measured("line.mjs", ["pipe", ...pace]),
      sandpipe: () => measured("line.mjs", ["sandpipe", ...pace]),
      openssh: () => measured("line.mjs", ["openssh", ...pace, ...ssh.command]),
    };
    return { columns, end: ssh.stop };
  },
}));
