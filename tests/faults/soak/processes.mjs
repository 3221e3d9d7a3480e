// @ts-check
/** The limit on processes is reached: one exec keeps forking. */

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "sandpipe";
import { isRoot, startLimitedAgent, threadsOf } from "./limited-agent.mjs";
import { checkAfterwards, checkObserved, startObserved, UNTIL_IDLE_MS } from "./observed.mjs";
import { Row } from "./row.mjs";

const LIMIT = 60;

/** Forks as long as it can, and tries again when it can't: it has what becomes free before anyone else. */
const FORKS = `while (1) {
  my $pid = fork;
  if (!defined $pid) { select undef, undef, undef, 0.01 }
  elsif ($pid == 0) { sleep 1000; exit }
}`;

/** @type {import("./row.mjs").Scenario} */
export const processes = {
  name: "processes",
  async run(deadline) {
    const name = `processes: at most ${LIMIT}, all taken`;
    if (!isRoot) {
      return [Row.skipped(name, "the limit counts all of a user's processes: it needs root")];
    }
    return [await new Row(name).repeat(deadline, once)];
  },
};

/** @param {import("./row.mjs").Promises} promises */
async function once(promises) {
  const limited = await startLimitedAgent({ limits: [`--nproc=${LIMIT}:${LIMIT}`], ownUser: true });
  const uid = limited.uid ?? 0;
  const sandbox = await connect(limited.agent);
  const { execs } = sandbox;
  try {
    const observed = await startObserved(execs, 4);
    const { id } = await execs.create({ command: "perl", args: ["-e", FORKS] });
    for (let tries = 0; tries < 600 && (await threadsOf(uid)) < LIMIT; tries++) await pause(50);
    if ((await threadsOf(uid)) >= LIMIT) promises.struck += 1;
    await pause(UNTIL_IDLE_MS);

    await checkObserved(promises, execs, observed);
    await promises.keeps("what forks is stopped", 60_000, () =>
      execs.terminate(id, { graceMs: 1000 }),
    );
    await promises.keeps("nothing of it is left", 60_000, async () => {
      const { status } = await execs.get(id);
      assert.ok(["EXITED", "STOPPED"].includes(status), `it is ${status}`);
      while ((await threadsOf(uid)) > LIMIT / 2) await pause(50);
    });
    await checkAfterwards(promises, execs);
  } finally {
    sandbox.close();
    await limited.stop();
  }
}
