// @ts-check
/** The agent with many execs that have ended on disk. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measured } from "../child.mjs";

const COUNT = 50_000;
/** So many that their ends, and the keys of these, are a file of some length. */
const LIMIT = 10_000;
const NONE = "none";

const TITLES = {
  exec: '200 × exec("true") beside ended execs, while a client follows the list; the agent\'s memory',
  start: "the agent's start with ended execs, and its memory",
};

/** @type {import("../main.mjs").Row[]} */
export const retainedRows = Object.entries(TITLES).map(([what, title]) => ({
  ...{ name: `retained-${what}`, title, reference: NONE },
  async open() {
    const folder = await mkdtemp(join(tmpdir(), "sandpipe-bench-"));
    const [few, many] = [join(folder, "few"), join(folder, "many")];
    await measured("retained.mjs", ["fill", few, "0"]);
    await measured("retained.mjs", ["fill", many, String(COUNT)]);
    const full = join(folder, "full");
    if (what === "exec") await measured("retained.mjs", ["fill", full, String(LIMIT)]);
    const columns = {
      [NONE]: () => measured("retained.mjs", [what, few]),
      [`${COUNT.toLocaleString("en")} ended`]: () => measured("retained.mjs", [what, many]),
      ...(what === "exec" && {
        // Each command that ends has another one go.
        [`${LIMIT.toLocaleString("en")} ended, as many as are kept`]: () =>
          measured("retained.mjs", [what, full, String(LIMIT)]),
      }),
    };
    return { columns, end: () => rm(folder, { recursive: true }) };
  },
}));
