// @ts-check
/**
 * `node -- files.mjs make-tree|make-100mb|make-1gb FOLDER` puts there what is copied; what else there is measures one thing with it. Each
 * prints one line of JSON.
 */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import http from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "sandpipe";
import { download, startAgent, upload } from "sandpipe/node";

const [what, folder] = /** @type {[string, string]} */ (process.argv.slice(2));
const [from, to, file] = [join(folder, "from"), join(folder, "to"), join(folder, "file")];

const making = {
  "make-tree": () => makeTree(),
  "make-100mb": () => makeFile(100),
  "make-1gb": () => makeFile(1000),
};
const measuring = {
  tar: async () => {
    const { ms } = await timed(() => execFileSync("sh", ["-c", PIPE, from, to]));
    return { ms };
  },
  upload: () => withAgent((sandbox) => timed(() => upload(sandbox, from, to))),
  download: () => withAgent((sandbox) => timed(() => download(sandbox, from, to))),
  "bare-read": () => readByHttp(),
  read: () => withAgent((sandbox) => timed(() => readFile(sandbox, file))),
  "client-memory": () => withAgent((sandbox) => memory(sandbox, ["self"])),
  "agent-memory": () => withAgent((sandbox) => memory(sandbox, descendants())),
};

/** The two as a shell runs them: from $0 to $1. */
const PIPE = 'mkdir "$1" && tar -C "$0" -cf - . | tar -C "$1" -xf -';

const act = { ...making, ...measuring }[what];
if (act === undefined) throw new Error(`${what} is none of these`);
rmSync(to, { recursive: true, force: true });
console.log(JSON.stringify((await act()) ?? {}));
process.exit(0);

function makeTree() {
  for (let n = 0; n < 10_000; n += 1) {
    const path = join(from, `directory ${n % 100}`);
    if (n < 100) mkdirSync(path, { recursive: true });
    writeFileSync(join(path, `file ${n}`), Buffer.alloc((n * 997) % 3000, `${n}\n`));
  }
}

/** @param {number} megabytes */
function makeFile(megabytes) {
  const part = Buffer.alloc(1_000_000, "some bytes\n");
  const descriptor = openSync(file, "w");
  for (let n = 0; n < megabytes; n += 1) writeSync(descriptor, part);
  closeSync(descriptor);
}

/** @param {() => unknown} act */
async function timed(act) {
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  await act();
  const ms = performance.now() - start;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    ms,
    cpuMs: (cpu.user + cpu.system) / 1000,
    rssMb: process.resourceUsage().maxRSS / 1024,
  };
}

/** @param {(sandbox: import("sandpipe").Sandbox) => Promise<object>} use */
async function withAgent(use) {
  const agent = await startAgent();
  const sandbox = await connect(agent);
  // A process's first request takes its time.
  await sandbox.files.list("/");
  const result = await use(sandbox);
  sandbox.close();
  await agent.stop();
  return result;
}

/** @param {import("sandpipe").Sandbox} sandbox @param {string} path */
async function readFile(sandbox, path) {
  const reader = sandbox.files.readStream(path).getReader();
  while (!(await reader.read()).done);
}

/** The same from a server that has nothing else to do. */
async function readByHttp() {
  const port = await freePort();
  const server = spawn("busybox", ["httpd", "-f", "-p", `127.0.0.1:${port}`, "-h", folder]);
  const get = async (/** @type {string} */ path) => {
    const request = http.get({ host: "127.0.0.1", port, path });
    const [answer] = await once(request, "response");
    answer.resume();
    await once(answer, "end");
  };
  for (;;) {
    // It listens when it answers.
    const answered = await get("/none").then(
      () => true,
      () => false,
    );
    if (answered) break;
    await pause(10);
  }
  const result = await timed(() => get("/file"));
  server.kill();
  return result;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  await once(server, "close");
  return port;
}

/**
 * How much more memory some processes have at most while 1 GB goes up and down.
 *
 * @param {import("sandpipe").Sandbox} sandbox
 * @param {string[]} pids
 */
async function memory(sandbox, pids) {
  const small = join(folder, "small");
  writeFileSync(small, "x");
  await upload(sandbox, small, join(folder, "small there"));
  await download(sandbox, join(folder, "small there"), small);
  const idle = sum(pids, "VmRSS");
  const start = performance.now();
  await upload(sandbox, file, to);
  await download(sandbox, to, join(folder, "back"));
  const ms = performance.now() - start;
  return { ms, rssMb: (sum(pids, "VmHWM") - idle) / 1024 };
}

/** @param {string[]} pids @param {string} field */
function sum(pids, field) {
  const sizes = pids.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
  });
  return sizes.reduce((all, size) => all + size, 0);
}

/** The agent, and what it has started: the processes that came of this one. */
function descendants() {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ");
        return [/** @type {const} */ ([pid, stat?.[1] ?? ""])];
      } catch {
        return [];
      }
    });
  /** @type {(of: string) => string[]} */
  const below = (of) =>
    parents.flatMap(([pid, parent]) => (parent === of ? [pid, ...below(pid)] : []));
  return below(String(process.pid));
}
