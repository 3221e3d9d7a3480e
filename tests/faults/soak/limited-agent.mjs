// @ts-check
/** Agents that the system grants little. */

import { chmod, copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent } from "sandpipe/node";
import { releaseAgent as program } from "../../../scripts/project.mjs";

export const isRoot = process.getuid?.() === 0;

/** Nobody's: the limit on processes counts all of a user's. */
const FIRST_UID = 2_000_000_000;

let users = 0;

/**
 * Starts an agent under limits.
 *
 * @param {object} options
 * @param {readonly string[]} options.limits of prlimit(1), such as `--nofile=96:96`
 * @param {boolean} [options.ownUser] it runs as a user that nothing else runs as; only for root
 * @param {string} [options.temporary] the directory below which it keeps its state
 */
export async function startLimitedAgent({ limits, ownUser = false, temporary = tmpdir() }) {
  const folder = await mkdtemp(join(tmpdir(), "sandpipe-soak-"));
  const uid = ownUser ? FIRST_UID + process.pid * 100 + users++ : undefined;
  const user = uid === undefined ? "" : `setpriv --reuid=${uid} --regid=${uid} --clear-groups`;
  // Where another user may run it.
  const agentCopy = join(folder, "sandpipe-agent");
  await copyFile(program, agentCopy);
  const starter = join(folder, "start");
  await writeFile(
    starter,
    `#!/bin/sh\nexec prlimit ${limits.join(" ")} ${user} ${agentCopy} "$@"\n`,
  );
  for (const path of [folder, agentCopy, starter]) await chmod(path, 0o755);

  const before = { ...process.env };
  Object.assign(process.env, { SANDPIPE_AGENT: starter, TMPDIR: temporary });
  // It looks at its environment before it waits for anything.
  const starting = startAgent({ workspace: "/" });
  for (const name of ["SANDPIPE_AGENT", "TMPDIR"]) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  const agent = await starting;
  return {
    agent,
    uid,
    pid: await pidOf(agentCopy),
    async stop() {
      await agent.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The agent itself: of its processes, the one that was there first. @param {string} path */
async function pidOf(path) {
  const found = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.startsWith(`${path}\0`)) found.push(Number(pid));
  }
  const first = found.sort((a, b) => a - b)[0];
  if (first === undefined) throw new Error(`no process runs ${path}`);
  return first;
}

/** How many threads a user has. @param {number} uid */
export async function threadsOf(uid) {
  let threads = 0;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    if (!status.includes(`\nUid:\t${uid}\t`)) continue;
    threads += Number(/^Threads:\t(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return threads;
}

/**
 * A figure of /proc/PID/status in bytes.
 *
 * @param {number} pid
 * @param {"VmSize" | "VmRSS"} name
 */
export async function memoryOf(pid, name) {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
}
