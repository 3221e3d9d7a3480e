// @ts-check
// Stopping a command through a proxy that breaks what it can: what is told to stop, stops.
import { after, before, describe, it } from "node:test";

import { Rig } from "./rig.mjs";
import { checkStop } from "./stop.mjs";

const RUNS = 5;

describe("stopping through faults", { skip: process.env["SEED"] !== undefined }, () => {
  for (const kind of /** @type {import("./rig.mjs").AgentKind[]} */ (["full", "plain"])) {
    describe(kind === "full" ? "with all extensions" : "without extensions", () => {
      /** @type {Rig} */
      let rig;
      before(async () => {
        rig = await Rig.start(kind);
      });
      after(() => rig.stop());

      it(`stops ${RUNS} commands, or says that it could not`, async () => {
        for (let number = 1; number <= RUNS; number++) {
          await checkStop(rig, `stop-${kind}-${number}`);
        }
      });
    });
  }
});
