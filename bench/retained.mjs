// @ts-check
/**
 * An agent with many execs that have ended. `node -- retained.mjs fill STATE COUNT` leaves them in a state directory, as
 * an agent does, two minutes old: their keys still count; `start STATE` measures its start, `exec STATE [KEPT]` commands
 * while a client follows the list, by an agent that keeps no more than so many. Each prints one line of JSON.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "sandpipe";
import { releaseAgent as AGENT } from "../scripts/project.mjs";

const TOKEN = "token-of-the-bench";

const [what, state, count] = /** @type {[string, string, string?]} */ (process.argv.slice(2));
if (what === "fill") {
  for (let number = 1; number <= Number(count); number++) leaveExec(number);
  // The first start reads each of them, and writes the index.
  await (await start()).end();
  console.log("{}");
} else if (what === "start") {
  const { ms, rssMb, end } = await start();
  await end();
  console.log(JSON.stringify({ ms, rssMb }));
} else {
  const { url, rssMb, end } = await start(count);
  const ms = await measureExecs(url);
  await end();
  console.log(JSON.stringify({ ms, rssMb }));
}

/** @param {number} number */
function leaveExec(number) {
  const id = number.toString(16).padStart(32, "0");
  const folder = join(state, "execs", id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const timestamp = new Date(Date.now() - 120_000).toISOString();
  const item = {
    ...{ id, command: "sh", args: ["-c", `echo line ${number}; exit 0`], status: "EXITED" },
    ...{ pid: 1000 + number, pty: false, exitCode: 0 },
    ...{ createdAt: timestamp, startedAt: timestamp, endedAt: timestamp },
  };
  const creation = { key: `key-${id}`, request: Array(32).fill(128) };
  const lastEvent = { type: "stdout", output: "", sequence: 2, timestamp, exitCode: 0 };
  const record = { number, item, creation, lastEvent };
  writeFileSync(join(folder, "exec.json"), JSON.stringify(record));
  const event = { type: "stdout", output: `line ${number}\n`, sequence: 1, timestamp };
  writeFileSync(join(folder, "0000.sse"), `data: ${JSON.stringify(event)}\n\n`);
}

async function start(kept = "100000") {
  const before = performance.now();
  const child = spawn(
    AGENT,
    [
      ...["--listen", "127.0.0.1:0", "--state-dir", state, "--until-stdin-closes"],
      ...["--keep-execs", kept, "--keep-for", "10000h", "--spool-total", "1000GiB"],
    ],
    {
      env: { ...process.env, SANDPIPE_ADMIN_TOKEN: TOKEN },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const ms = performance.now() - before;
  const status = readFileSync(`/proc/${child.pid}/status`, "latin1");
  const rssMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  const end = async () => {
    child.stdin.end();
    await once(child, "close");
  };
  return { ms, rssMb, end, url: JSON.parse(line).url };
}

/** How long 200 commands take, one after the other, while the list is followed. @param {string} url */
async function measureExecs(url) {
  const { execs } = await connect({ url, token: TOKEN });
  const stop = new AbortController();
  const lists = execs.streamList({ signal: stop.signal });
  await lists.next();
  const following = (async () => {
    for await (const _ of lists);
  })().catch(() => {});
  for (let i = 0; i < 20; i++) await execs.exec("true");
  const before = performance.now();
  for (let i = 0; i < 200; i++) await execs.exec("true");
  const ms = performance.now() - before;
  stop.abort();
  await following;
  return ms;
}
