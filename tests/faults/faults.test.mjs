// @ts-check
// Commands through a proxy that breaks what it can: their output, exit codes and effects are as if
// it had broken nothing. `npm run soak` has more and larger ones; `SEED=…` repeats one run.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { AGENT_NAMES, Rig } from "./rig.mjs";
import { run } from "./run.mjs";
import { runAll } from "./runs.mjs";
import { Tally } from "./tally.mjs";

/**
 * @typedef {import("./rig.mjs").AgentKind} AgentKind
 * @typedef {import("./texts.mjs").Size} Size
 */

/** @type {[count: number, size: Size][]} */
const BATCHES = [
  [20, "small"],
  [10, "1mb"],
];

/** The tests have always the same faults, a soak has new ones. */
const FIRST = 1;

const { SEED } = process.env;

describe("faults", { concurrency: true, skip: SEED !== undefined }, () => {
  for (const kind of /** @type {AgentKind[]} */ (["full", "sse", "plain"])) {
    describe(AGENT_NAMES[kind], { concurrency: true }, () => {
      /** @type {Rig} */
      let rig;
      before(async () => {
        rig = await Rig.start(kind);
      });
      after(() => rig.stop());

      it("announces what it should", async () => {
        const features = await rig.features();
        assert.equal(features.includes("frames"), kind === "full", features.join(", "));
        assert.equal(features.includes("idempotency-key"), kind !== "plain");
        if (kind === "plain") assert.deepEqual(features, []);
      });

      for (const [count, size] of BATCHES) {
        it(`keeps its promises in ${count} runs (${size})`, async () => {
          const { tally, failures } = await runAll(rig, size, FIRST, count);
          const seeds = `${kind}-${size}-${FIRST} to ${FIRST + count - 1}`;
          console.log(tally.table(seeds));
          assert.equal(failures.length, 0, failures.map(String).join("\n"));
        });
      }
    });
  }
});

it("repeats one run", { skip: SEED === undefined && "only with SEED" }, async () => {
  const [, kind, size] = /^(full|sse|plain)-(small|1mb|20mb)-\d+$/.exec(SEED ?? "") ?? [];
  assert.ok(kind !== undefined && size !== undefined, `SEED=${SEED} is no seed`);
  const rig = await Rig.start(/** @type {AgentKind} */ (kind));
  try {
    const struck = await run(rig, SEED ?? "", /** @type {Size} */ (size), new Tally());
    console.log(struck);
  } finally {
    await rig.stop();
  }
});
