// @ts-check
/** Stops through a proxy that breaks what it can, as in `npm test`, with new seeds. */

import { randomInt } from "node:crypto";
import { AGENT_NAMES, Rig } from "../rig.mjs";
import { checkStop } from "../stop.mjs";
import { Row } from "./row.mjs";

/** @type {import("./row.mjs").Scenario} */
export const stops = {
  name: "stops",
  async run(deadline) {
    const rows = [];
    for (const kind of /** @type {const} */ (["full", "plain"])) {
      const rig = await Rig.start(kind);
      // Each has half of the time.
      const until = kind === "full" ? (performance.now() + deadline) / 2 : deadline;
      const row = new Row(`stops: ${AGENT_NAMES[kind]}`);
      try {
        const once = async (/** @type {import("./row.mjs").Promises} */ promises) => {
          promises.struck += await checkStop(rig, `stop-${kind}-${randomInt(1_000_000_000)}`);
        };
        rows.push(await row.repeat(until, once));
      } finally {
        await rig.stop();
      }
    }
    return rows;
  },
};
