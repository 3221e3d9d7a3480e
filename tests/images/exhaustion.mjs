// @ts-check
// Attempts of the table that take more than there is: processes, memory, disk, output.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { isSandpipeError } from "sandpipe";

import { marked, marker, until, within } from "../support/processes.mjs";
import { ENOUGH, outcomeOf } from "./attempts.mjs";

/** @import { Attempter, Outcome } from "./attempts.mjs" */

/** Each process starts two, one of them in a session of its own. None is started where the file `fuse` is not there. */
const BOMB = readFileSync(join(import.meta.dirname, "..", "support", "fork-bomb.sh"), "utf8");
/** The name in the workspace of the agent's files. */
const STATE = "state";

/** The options of an agent that these are tried at: its files are on the disk of the workspace. */
export const EXHAUSTIBLE = {
  memory: "128m",
  args: ["--state-dir", `/workspace/${STATE}`, "--spool-limit", "1MiB"],
};

/** Mounts a file system at a directory that is soon full. Only root can. @param {string} directory */
export function mountSmallDisk(directory) {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m,mode=1777", "tmpfs", directory]);
}

/** @param {string} directory */
export function unmount(directory) {
  execFileSync("umount", ["--lazy", directory]);
}

/**
 * @param {Attempter} attempter
 * @returns {Promise<[string, Outcome][]>}
 */
export async function exhaustion(attempter) {
  return [
    ["survive a stop as a fork bomb", outcomeOf(await bombSurvives(attempter))],
    ["more memory than the limit", outcomeOf(await takesMemory(attempter))],
    ["harm the agent by endless output", outcomeOf(await outputHarms(attempter))],
    ["harm the agent by a full disk", outcomeOf(await fullDiskHarms(attempter))],
  ];
}

/** Whether the agent is not as well as it should be. @param {Attempter} attempter */
async function isHarmed({ execs, user }) {
  const script = "echo there; exit 4";
  const next = await execs
    .exec("sh", ["-c", script], { user, timeoutMs: 60_000 })
    .catch(() => undefined);
  return next?.exitCode !== 4 || next.stdout !== "there\n";
}

/** @param {Attempter} attempter */
async function bombSurvives(attempter) {
  const { execs, user, workspace } = attempter;
  writeFileSync(join(workspace, "fuse"), "");
  const mark = marker();
  const env = { ...mark, BOMB, LEFT: "5" };
  const { id } = await execs.create({ command: "sh", args: ["-c", BOMB], env, user });
  await until(() => marked(mark).length >= 100);
  await execs.delete(id);
  const isGone = await within(ENOUGH, () => marked(mark).length === 0);
  // One that was not stopped ends now.
  rmSync(join(workspace, "fuse"));
  return !isGone || (await isHarmed(attempter));
}

/** @param {Attempter} attempter */
async function takesMemory(attempter) {
  const { execs, user } = attempter;
  const args = ["if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"];
  return (await execs.exec("dd", args, { user })).exitCode === 0 || (await isHarmed(attempter));
}

/** @param {Attempter} attempter */
async function outputHarms(attempter) {
  const { execs, user, workspace, agent } = attempter;
  const mark = marker();
  const { id } = await execs.create({ command: "yes", args: [], env: mark, user });
  let most = 0;
  // Some 100 MB of it.
  await until(async () => {
    most = Math.max(most, sizeOf(join(workspace, STATE)));
    // The newest may be dropped before it is read.
    const newest = await newestSequence(attempter, id).catch(() => 0);
    return newest >= 3_000;
  });
  const memory = Number(
    /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${agent}/status`, "utf8"))?.[1],
  );
  await execs.delete(id);
  const isGone = await within(ENOUGH, () => marked(mark).length === 0);
  return most > 4 << 20 || memory > 100 << 10 || !isGone || (await isHarmed(attempter));
}

/** @param {Attempter} attempter @param {string} id */
async function newestSequence({ execs }, id) {
  for await (const { sequence } of execs.streamOutput(id, -1)) return sequence;
  return 0;
}

/** @param {Attempter} attempter */
async function fullDiskHarms(attempter) {
  const { execs, user, workspace } = attempter;
  const fill = "head -c 67108864 /dev/zero > large; echo x >> small || echo full; exit 9";
  const { id } = await execs.create({ command: "sh", args: ["-c", fill], user });
  const isTold = (await exitCodeOf(attempter, id)) === 9;
  assert.equal(statfsSync(workspace).bavail, 0);
  // Another one has its own exit code, or is refused with a reason.
  const next = await execs.create({ command: "sh", args: ["-c", "exit 4"], user }).then(
    (item) => exitCodeOf(attempter, item.id),
    (error) => error,
  );
  const isTrue = next === 4 || (isSandpipeError(next, "http") && next.status >= 500);
  rmSync(join(workspace, "large"));
  return !isTold || !isTrue || (await isHarmed(attempter));
}

/** The exit code of a command whose output may be lost. @param {Attempter} attempter @param {string} id */
async function exitCodeOf({ execs }, id) {
  let item = await execs.get(id);
  await until(async () => (item = await execs.get(id)).status === "EXITED");
  return item.exitCode;
}

/** What the files of a directory take, in bytes. One may go while it is looked at. @param {string} directory */
function sizeOf(directory) {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names
    .map((name) => statSync(join(directory, name), { throwIfNoEntry: false }))
    .reduce((sum, stats) => sum + (stats?.isFile() ? stats.blocks * 512 : 0), 0);
}
