// @ts-check
/** Many short commands, against processes that Node.js starts itself. */

import { measured } from "../child.mjs";
import { openSsh } from "../openssh.mjs";

const TITLES = {
  warm: '200 × exec("true"), one after the other, real agent',
  burst: '1,000 × exec("true"), 100 at a time, real agent',
  cold: "from the import to the first result",
  "left-behind": "10 × `sleep 5 & exit 7`: the output is complete after 200 ms of silence",
};

/** @type {import("../main.mjs").Row[]} */
export const latencyRows = Object.entries(TITLES).map(([name, title]) => ({
  ...{ name, title, reference: "spawn" },
  async open() {
    const ours = {
      spawn: () => measured("latency.mjs", ["spawn", name]),
      sandpipe: () => measured("latency.mjs", ["sandpipe", name]),
    };
    if (name === "cold" || name === "left-behind") return { columns: ours };
    const ssh = await openSsh();
    const openssh = () => measured("latency.mjs", ["openssh", name, ...ssh.command, "true"]);
    return { columns: { ...ours, openssh }, end: ssh.stop };
  },
}));
