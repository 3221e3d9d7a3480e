// @ts-check
// The table of attempts (docs/isolation.md) in a container: programs that try what its walls are for.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { childrenOf, marked, marker, statOf, until, within } from "../support/processes.mjs";

/** @import { Execs } from "sandpipe" */

/**
 * What came of an attempt. `its own`: it was done to the container alone, where it would have been done to this machine without one.
 *
 * @typedef {"reached" | "held" | "its own" | "–"} Outcome
 */

/** A script that ends well where it has reached what it tries. @type {{ name: string, script: string, pty?: boolean }[]} */
const SCRIPTS = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "support", "attempts.json"), "utf8"),
);

/** Where the workspace is in the container. */
const WORKSPACE = "/workspace";
/** Where the agent has its execs in the container. */
const EXECS = "/tmp/sandpipe-agent/ephemeral-execs";
/** The name in the workspace of the program that scripts call `$TRY`. */
export const PROGRAM = "attempt";
/** How long a command may take, in milliseconds. */
const TIMEOUT = 60_000;
/** More than a stop takes on a busy machine, in milliseconds: what is left by then has survived it. */
export const ENOUGH = 50_000;

/** Listens on an abstract socket. */
const ABSTRACT = `socket S, AF_UNIX, SOCK_STREAM, 0; bind S, pack_sockaddr_un("\\0$ARGV[0]"); listen S, 5;
  $| = 1; print "ready\\n"; sleep 600`;

/** @param {boolean} isReached @returns {Outcome} */
export const outcomeOf = (isReached) => (isReached ? "reached" : "held");

/**
 * Who tries, and at whose agent.
 *
 * @typedef {object} Attempter
 * @property {Execs} execs
 * @property {string} user of the container
 * @property {string} workspace on this machine
 * @property {string} agent the agent's process id on this machine
 */

/** Puts into a workspace and a home what is to be kept. @param {string} workspace @param {string} home */
export function fill(workspace, home) {
  mkdirSync(join(workspace, ".git", "hooks"), { recursive: true });
  writeFileSync(join(workspace, ".git", "config"), "[core]\n");
  mkdirSync(join(workspace, ".vscode"));
  writeFileSync(join(workspace, ".npmrc"), "");
  for (const path of ["", ".git", ".git/hooks", ".vscode"]) chmodSync(join(workspace, path), 0o777);
  for (const path of [".git/config", ".npmrc"]) chmodSync(join(workspace, path), 0o666);
  mkdirSync(join(home, ".ssh"), { recursive: true });
  writeFileSync(join(home, ".ssh", "id_ed25519"), "secret\n");
}

/**
 * Tries all that takes no more than there is.
 *
 * @param {Attempter} attempter
 * @param {{ home: string, url: string }} of the home on this machine, and the address of the agent
 * @returns {Promise<[string, Outcome][]>}
 */
export async function attempts(attempter, of) {
  return [
    ...(await scripts(attempter, of)),
    ["survive a stop by `setsid` and a double fork", outcomeOf(await survivesStop(attempter))],
    ["kill the box", outcomeOf(await killsBox(attempter))],
    // The last one: nothing may run after it.
    ["stop all processes (`kill -STOP -1`)", outcomeOf(await stopsAll(attempter))],
  ];
}

/**
 * @param {Attempter} attempter
 * @param {{ home: string, url: string }} of
 * @returns {Promise<[string, Outcome][]>}
 */
async function scripts({ execs, user, workspace }, { home, url }) {
  const machine = await listen();
  const env = {
    ...{ AGENT: "1", EXECS, HOME: home, TRY: join(WORKSPACE, PROGRAM) },
    ...{ TCP_PORT: String(machine.tcp), UDP_PORT: String(machine.udp) },
    AGENT_PORT: new URL(url).port,
  };
  /** @type {[string, Outcome][]} */
  const outcomes = [];
  try {
    // Another exec, whose files are there.
    await execs.exec("echo", ["there"]);
    // What is to be kept from the container this machine reaches.
    for (const ATTEMPT of ["tcp", "agent", "abstract"]) {
      execFileSync(join(workspace, PROGRAM), { env: { ...env, ATTEMPT } });
    }
    for (const { name, script, pty = false } of SCRIPTS) {
      const before = changeOfEtc();
      const options = { env, user, pty, timeoutMs: TIMEOUT };
      let isReached = (await execs.exec("sh", ["-c", `${script}\n`], options)).exitCode === 0;
      // That it was sent does not say that it has come.
      if (name.startsWith("UDP")) isReached = await machine.heard();
      const isOwn = isReached && name === "write `/etc`" && changeOfEtc() === before;
      outcomes.push([name, isOwn ? "its own" : outcomeOf(isReached)]);
      // Where it was moved away it is put back for the next.
      if (existsSync(join(workspace, "old"))) {
        rmSync(join(workspace, ".git"), { recursive: true });
        renameSync(join(workspace, "old"), join(workspace, ".git"));
      }
    }
  } finally {
    machine.close();
  }
  return outcomes;
}

/** When something was last made in this machine's `/etc`, or removed. */
function changeOfEtc() {
  return statSync("/etc", { bigint: true }).mtimeNs;
}

/** @param {Attempter} attempter */
async function survivesStop({ execs, user }) {
  const mark = marker();
  const script = "setsid sh -c 'setsid sleep 600 &' & sleep 600";
  const { id } = await execs.create({ command: "sh", args: ["-c", script], env: mark, user });
  await until(() => marked(mark).length >= 2);
  await execs.delete(id);
  return !(await within(ENOUGH, () => marked(mark).length === 0));
}

/** @param {Attempter} attempter */
async function killsBox({ execs, user }) {
  const args = ["-c", "kill -9 $PPID; exit 5"];
  const killed = await execs.exec("sh", args, { user }).catch(() => undefined);
  return killed?.exitCode !== 5;
}

/** @param {Attempter} attempter */
async function stopsAll({ execs, user, agent }) {
  // There is a box when a command has run, maybe another one than before.
  assert.equal((await execs.exec("sh", ["-c", "exit 6"])).exitCode, 6);
  const [box = ""] = childrenOf(agent);
  const isStopped = () => statOf(box)[0] === "T";
  // It does not stop itself. Nobody may be there any more to say how it ends.
  const args = ["-c", "kill -STOP -1; exit 7"];
  const stopping = { isOver: false, exitCode: NaN };
  void execs
    .exec("sh", args, { user })
    .then(({ exitCode }) => (stopping.exitCode = exitCode))
    .catch(() => undefined)
    .finally(() => (stopping.isOver = true));
  await until(() => stopping.isOver || isStopped());
  if (isStopped()) {
    // For the agent, which ends its commands by it.
    process.kill(Number(box), "SIGCONT");
    return true;
  }
  if (stopping.exitCode !== 7) return true;
  return (await execs.exec("sh", ["-c", "exit 4"], { user })).exitCode !== 4;
}

/** What listens on this machine. */
async function listen() {
  const tcp = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
  const udp = createSocket("udp4").bind(0, "127.0.0.1");
  await Promise.all([once(tcp, "listening"), once(udp, "listening")]);
  const { port } = /** @type {import("node:net").AddressInfo} */ (tcp.address());
  // Node.js 20 gives an abstract name more zeros.
  const abstract = spawn("perl", ["-MSocket", "-e", ABSTRACT, `sandpipe-attempt-${port}`]);
  await once(abstract.stdout, "data");
  const heard = new Set();
  udp.on("message", (message) => heard.add(message.toString()));
  return {
    tcp: port,
    udp: udp.address().port,

    /** Whether a packet of the attempt has come: it would have come before this one. */
    async heard() {
      udp.send("own", udp.address().port, "127.0.0.1");
      await until(() => heard.has("own"));
      return heard.has("attempt");
    },

    close() {
      tcp.close();
      udp.close();
      abstract.kill();
    },
  };
}
