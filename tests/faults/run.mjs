// @ts-check
/** One run: a command with known output, run through a proxy that brings faults, and the verdict. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { connect, isSandpipeError } from "sandpipe";
import { Plan } from "./plan.mjs";
import { Proxy } from "./proxy.mjs";
import { Random } from "../support/random.mjs";
import { hashesOf, sha256 } from "./texts.mjs";

/** Longer than any run takes: what hangs fails. */
const PATIENCE_MS = 100_000;

/** Writes its texts to both streams at the same time, in two parts with a pause between. */
const SCRIPT = `
echo ran >> "$1"
{ cat "$4"; sleep "$3"; cat "$5"; } &
{ cat "$6"; sleep "$3"; cat "$7"; } >&2
wait
exit "$2"`;

/**
 * How many faults a run may have, and how many of a stream's come late.
 *
 * @type {Record<import("./texts.mjs").Size, { budget: [from: number, to: number], lateShare: number }>}
 */
const PLANS = {
  small: { budget: [1, 8], lateShare: 0.4 },
  "1mb": { budget: [4, 30], lateShare: 0.15 },
  "20mb": { budget: [8, 60], lateShare: 0.08 },
};

/** @typedef {"exec" | "exec with onOutput" | "create and streamOutput" | "create and wait"} Way */

/** @type {readonly Way[]} */
const WAYS = ["exec", "exec with onOutput", "create and streamOutput", "create and wait"];

/** A run that did not end as it should. Its message has what is needed to see why. */
export class RunFailed extends Error {
  /**
   * @param {string} seed
   * @param {string} what
   * @param {readonly import("./proxy.mjs").Struck[]} struck
   * @param {unknown} cause
   */
  constructor(seed, what, struck, cause) {
    const faults = struck.map(({ kind, name }) => `${kind}: ${name}`).join("\n  ");
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    super(`SEED=${seed} (${what})\n  ${faults}\n${reason}`, { cause });
    this.name = "RunFailed";
  }
}

/**
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed all chance comes of it
 * @param {import("./texts.mjs").Size} size
 * @param {import("./tally.mjs").Tally} tally
 */
export async function run(rig, seed, size, tally) {
  const random = new Random(seed);
  const way = random.pick(WAYS);
  const exitCode = random.chance(0.2) ? 0 : random.between(1, 255);
  const seconds = random.pick(["0", "0", "0.02", "0.1"]);
  const text = await rig.text(size);
  const command = {
    command: "sh",
    args: ["-c", SCRIPT, seed, rig.countFile(seed), String(exitCode), seconds, ...text.files],
  };

  const plan = new Plan(random, {
    budget: random.between(...PLANS[size].budget),
    lateShare: PLANS[size].lateShare,
    reach: { bytes: text.bytes * 1.2, events: Math.ceil(text.bytes / 20e3) + 3 },
    chances: {
      health: 0.3,
      // There a create that fails ends the run: most are to get further.
      create: rig.kind === "plain" ? 0.2 : 0.5,
      get: 0.3,
      stream: 0.95,
    },
  });
  const proxy = new Proxy(rig.agent.url, plan);
  const url = await proxy.listen();
  const sandbox = await connect({
    url,
    token: rig.agent.token,
    retry: { baseDelayMs: 1, maxDelayMs: 20, maxAttempts: 10 },
  });
  let survived = false;
  try {
    const outcome = await inTime(attempt(way, sandbox.execs, command));
    await proxy.close();
    assert.deepEqual(proxy.errors, [], "the proxy had no faults of its own");
    if ("thrown" in outcome) {
      await checkFailure(rig, seed, proxy.struck, outcome.thrown);
    } else {
      checkResult(outcome, exitCode, text);
      await checkRanOnce(rig, seed);
    }
    survived = true;
  } catch (error) {
    throw new RunFailed(seed, `${way}, exit code ${exitCode}`, proxy.struck, error);
  } finally {
    tally.count(proxy.struck, survived);
    sandbox.close();
    await proxy.close();
    for (const exec of await execsOf(rig, seed)) await rig.direct.delete(exec.id);
    await rm(rig.countFile(seed), { force: true });
  }
  return proxy.struck;
}

/**
 * @typedef {object} Result
 * @property {number | undefined} exitCode
 * @property {string} output
 * @property {import("sandpipe").ExecStdout[]} [events]
 */

/**
 * @param {Way} way
 * @param {import("sandpipe").Execs} execs
 * @param {{ command: string, args: string[] }} command
 * @returns {Promise<Result | { thrown: unknown }>}
 */
async function attempt(way, execs, { command, args }) {
  /** @type {import("sandpipe").ExecStdout[]} */
  const events = [];
  try {
    if (way === "exec") return await execs.exec(command, args);
    if (way === "exec with onOutput") {
      const result = await execs.exec(command, args, { onOutput: (event) => events.push(event) });
      return { ...result, events };
    }
    const { id } = await execs.create({ command, args });
    if (way === "create and wait") return await execs.wait(id);
    for await (const event of execs.streamOutput(id)) events.push(event);
  } catch (thrown) {
    return { thrown };
  }
  const output = events.map((event) => event.output).join("");
  return { exitCode: events.at(-1)?.exitCode, output, events };
}

/**
 * @template T
 * @param {Promise<T>} work
 * @returns {Promise<T>}
 */
async function inTime(work) {
  const over = new AbortController();
  const late = pause(PATIENCE_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`nothing came of it in ${PATIENCE_MS} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

/**
 * @param {Result} result
 * @param {number} exitCode
 * @param {import("./texts.mjs").Text} text
 */
function checkResult(result, exitCode, text) {
  assert.equal(result.exitCode, exitCode, "the exit code is the command's own");
  assert.deepEqual(hashesOf(result.output), text.hashes, "the output is the command's");
  if (result.events === undefined) return;

  const { events } = result;
  events.forEach(({ sequence }, index) => {
    assert.equal(sequence, index + 1, "the events come in order, each once");
  });
  const ends = events.filter((event) => event.exitCode !== undefined);
  assert.deepEqual(ends, events.slice(-1), "the last event has the exit code");
  const joined = events.map((event) => event.output).join("");
  assert.equal(sha256(joined), sha256(result.output), "the events are the output");
  for (const type of /** @type {const} */ (["stdout", "stderr"])) {
    const own = events.filter((event) => event.type === type).map((event) => event.output);
    assert.equal(sha256(own.join("")), text.hashes[type], `${type} is told from the other`);
  }
}

/**
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed
 */
async function checkRanOnce(rig, seed) {
  assert.equal((await execsOf(rig, seed)).length, 1, "the agent has one exec of it");
  assert.equal(await rig.timesRun(seed), 1, "it ran once");
}

/**
 * Without `idempotency-key`, a create whose fate is unknown ends the run: it can't be tried again.
 *
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed
 * @param {readonly import("./proxy.mjs").Struck[]} struck
 * @param {unknown} thrown
 */
async function checkFailure(rig, seed, struck, thrown) {
  // Too many requests is an answer that says that nothing was done.
  const open = struck.filter(({ kind, name }) => kind === "create" && !name.startsWith("429"));
  if (rig.kind === "full" || open.length === 0) throw thrown;
  if (!isSandpipeError(thrown, "create_unknown")) throw thrown;
  assert.equal(open.length, 1, "it is not tried again");

  const execs = await execsOf(rig, seed);
  assert.equal(execs.length, open[0]?.forwarded ? 1 : 0, "the agent has at most one exec of it");
  for (const exec of execs) await rig.direct.wait(exec.id);
  assert.equal(await rig.timesRun(seed), execs.length, "it ran at most once");
}

/**
 * @param {import("./rig.mjs").Rig} rig
 * @param {string} seed
 */
async function execsOf(rig, seed) {
  return (await rig.direct.list()).filter((exec) => exec.args.includes(seed));
}
