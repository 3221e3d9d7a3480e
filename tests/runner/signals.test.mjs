// @ts-check
// A run of `npm test` that is told to end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { it } from "node:test";

import { root } from "../../scripts/project.mjs";
import { marked, marker, statOf, until } from "../support/processes.mjs";

const program = JSON.stringify(join(root, "scripts/suites/program.mjs"));

/** Two programs at a time, and a third after them. */
const RUNS = `
  const { endWithPrograms, isStopping, resultFile, runProgram } = await import(${program});
  endWithPrograms();
  const script = "sleep 4712; exit";
  const run = (name) => runProgram("sh", ["-c", script], { log: resultFile("signals " + name, "log") });
  await Promise.all([run("a"), run("b")]);
  if (!isStopping()) await run("c");`;

for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP", "SIGINT"])) {
  it(`ends by ${signal}, after the programs that it runs`, async () => {
    const mark = marker();
    const runner = spawn(process.execPath, ["--input-type=module", "--eval", RUNS], {
      env: { ...process.env, ...mark },
      detached: true,
      stdio: "inherit",
    });
    // Each leads a group of its own.
    await until(() => new Set(marked(mark).map((pid) => statOf(pid)[2])).size === 3);
    // As a terminal does: Ctrl+C goes to all of the group, a hangup or a kill to the runner.
    process.kill(signal === "SIGINT" ? -Number(runner.pid) : Number(runner.pid), signal);
    const [, by] = await once(runner, "exit");
    assert.equal(by, signal);
    assert.deepEqual(marked(mark), []);
  });
}
