// @ts-check
/** Commands through a proxy that breaks what it can, as in `npm test`, with new seeds. */

import { randomInt } from "node:crypto";
import { AGENT_NAMES, Rig } from "../rig.mjs";
import { runAll } from "../runs.mjs";
import { Row } from "./row.mjs";

const KINDS = /** @type {const} */ (["full", "sse", "plain"]);

/** @type {[size: import("../texts.mjs").Size, atOnce: number][]} */
const BATCHES = [
  ["small", 40],
  ["20mb", 8],
];

/** @type {import("./row.mjs").Scenario} */
export const randomFaults = {
  name: "random-faults",
  async run(deadline) {
    const rigs = await Promise.all(KINDS.map((kind) => Rig.start(kind)));
    const batches = rigs.flatMap((rig) =>
      BATCHES.map(([size, atOnce]) => {
        const row = new Row(`random faults: ${size}, ${AGENT_NAMES[rig.kind]}`);
        return { rig, size, atOnce, row };
      }),
    );
    try {
      do {
        for (const { rig, size, atOnce, row } of batches) {
          const { tally, failures } = await runAll(rig, size, randomInt(1_000_000_000), atOnce);
          row.add(tally.sums, failures);
        }
      } while (performance.now() < deadline);
    } finally {
      for (const rig of rigs) await rig.stop();
    }
    return batches.map(({ row }) => row);
  },
};
