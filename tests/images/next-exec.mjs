// @ts-check
import assert from "node:assert/strict";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";

/**
 * Runs a command in a new agent after others were killed: its start removes what was left.
 *
 * @param {ReturnType<typeof import("./with-podman.mjs").withPodman>} place
 */
export async function nextExecWorks({ temporary, withAgent }) {
  // A folder whose maker was killed before it could say that it lives is removed a minute later.
  const aMinuteAgo = Date.now() / 1_000 - 61;
  for (const name of readdirSync(temporary)) {
    utimesSync(join(temporary, name), aMinuteAgo, aMinuteAgo);
  }
  await withAgent({}, async ({ execs }) => {
    assert.equal((await execs.exec("sh", ["-c", "exit 5"])).exitCode, 5);
  });
}
