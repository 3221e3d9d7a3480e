// @ts-check
/** Many short commands, against processes that Node.js starts itself. */

import { measured } from "../child.mjs";
import { openSsh } from "../openssh.mjs";

const TITLES = {
  warm: '200 × exec("true"), one after the other, real agent',
  burst: '1,000 × exec("true"), 100 at a time, real agent',
  cold: "from the import to the first result",
};

/** @type {import("../main.mjs").Row[]} */
export const latencyRows = Object.entries(TITLES).map(([name, title]) => ({
  ...{ name, title, reference: "spawn" },
  async open() {
    const ours = {
      spawn: () => measured("latency.mjs", ["spawn", name]),
      sandpipe: () => measured("latency.mjs", ["sandpipe", name]),
    };
    if (name === "cold") return { columns: ours };
    const ssh = await openSsh();
    const openssh = () => measured("latency.mjs", ["openssh", name, ...ssh.command, "true"]);
    return { columns: { ...ours, openssh }, end: ssh.stop };
  },
}));
