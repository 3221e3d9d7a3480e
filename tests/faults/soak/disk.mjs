// @ts-check
/** The disk that output is kept on is full. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, isSandpipeError } from "sandpipe";
import { isRoot, startLimitedAgent } from "./limited-agent.mjs";
import { checkAfterwards, checkObserved, startObserved } from "./observed.mjs";
import { Row } from "./row.mjs";

const MEGABYTES = 8;
const WRITERS = 6;
const LINES = 700_000;

/** @type {import("./row.mjs").Scenario} */
export const disk = {
  name: "disk",
  async run(deadline) {
    const name = `disk: ${MEGABYTES} MB for ${WRITERS} execs that write 5 MB each`;
    if (!isRoot) return [Row.skipped(name, "a disk of that size can be mounted by root alone")];
    return [await new Row(name).repeat(deadline, once)];
  },
};

/** @param {import("./row.mjs").Promises} promises */
async function once(promises) {
  const folder = await mkdtemp(join(tmpdir(), "sandpipe-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${MEGABYTES}m,mode=700`, "tmpfs", folder]);
  try {
    const limited = await startLimitedAgent({ limits: ["--core=0:0"], temporary: folder });
    const sandbox = await connect(limited.agent);
    const { execs } = sandbox;
    try {
      const observed = await startObserved(execs, 4);
      promises.struck += 1;
      const writing = Array.from({ length: WRITERS }, () => write(promises, execs));
      await Promise.all(writing);
      await checkObserved(promises, execs, observed);
      for (const { id } of await execs.list()) await execs.delete(id);
      await checkAfterwards(promises, execs);
    } finally {
      sandbox.close();
      await limited.stop();
    }
  } finally {
    execFileSync("umount", [folder]);
    await rmdir(folder);
  }
}

/**
 * @param {import("./row.mjs").Promises} promises
 * @param {import("sandpipe").Execs} execs
 */
async function write(promises, execs) {
  await promises.keeps(
    "output is whole, or its loss is told, and the code is true",
    120_000,
    async () => {
      /** @type {string | undefined} */
      let id;
      try {
        ({ id } = await execs.create({ command: "sh", args: ["-c", `seq ${LINES}; exit 5`] }));
        const { exitCode, output } = await execs.wait(id);
        assert.equal(exitCode, 5);
        const lines = output.split("\n");
        assert.equal(lines.length, LINES + 1, "lines");
        assert.ok(lines.every((line, index) => index === LINES || line === String(index + 1)));
      } catch (error) {
        if (id === undefined && isSandpipeError(error, "http")) return;
        if (id === undefined || !isSandpipeError(error, "output_lost")) throw error;
        const { status, exitCode } = await ended(execs, id);
        assert.deepEqual({ status, exitCode }, { status: "EXITED", exitCode: 5 });
      }
    },
  );
}

/**
 * @param {import("sandpipe").Execs} execs
 * @param {string} id
 */
async function ended(execs, id) {
  for await (const { execs: items } of execs.streamList()) {
    const item = items.find((exec) => exec.id === id);
    if (item !== undefined && item.status !== "RUNNING") return item;
  }
  throw new Error("the list ended");
}
