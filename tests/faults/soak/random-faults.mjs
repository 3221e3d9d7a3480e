// @ts-check
/** Commands through a proxy that breaks what it can, as in `npm test`, with new seeds. */

import { randomInt } from "node:crypto";
import { Rig } from "../rig.mjs";
import { runAll } from "../runs.mjs";
import { Row } from "./row.mjs";

/** @type {[kind: import("../rig.mjs").AgentKind, size: import("../texts.mjs").Size, atOnce: number][]} */
const BATCHES = [
  ["full", "small", 40],
  ["full", "20mb", 8],
  ["plain", "small", 40],
  ["plain", "20mb", 8],
];

/** @type {import("./row.mjs").Scenario} */
export const randomFaults = {
  name: "random-faults",
  async run(deadline) {
    const rigs = { full: await Rig.start("full"), plain: await Rig.start("plain") };
    const rows = BATCHES.map(([kind, size]) => {
      const extensions = kind === "full" ? "all" : "no";
      return new Row(`random faults: ${size}, an agent with ${extensions} extensions`);
    });
    try {
      do {
        for (const [index, [kind, size, atOnce]] of BATCHES.entries()) {
          const rig = rigs[/** @type {"full" | "plain"} */ (kind)];
          const { tally, failures } = await runAll(rig, size, randomInt(1_000_000_000), atOnce);
          rows[index]?.add(tally.sums, failures);
        }
      } while (performance.now() < deadline);
    } finally {
      await rigs.full.stop();
      await rigs.plain.stop();
    }
    return rows;
  },
};
