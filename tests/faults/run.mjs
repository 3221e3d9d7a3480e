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
  const inBytes = rig.kind === "full" && random.chance(0.5);
  const exitCode = random.chance(0.2) ? 0 : random.between(1, 255);
  const seconds = random.pick(["0", "0", "0.02", "0.1"]);
  const text = await rig.text(size, inBytes);
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
    const outcome = await inTime(attempt(way, sandbox.execs, command, inBytes));
    await proxy.close();
    assert.deepEqual(proxy.errors, [], "the proxy had no faults of its own");
    if ("thrown" in outcome) {
      await checkFailure(rig, seed, proxy.struck, outcome.thrown);
    } else {
      checkResult(outcome, exitCode, text, inBytes);
      await checkRanOnce(rig, seed);
    }
    survived = true;
  } catch (error) {
    const what = `${way}${inBytes ? " in bytes" : ""}, exit code ${exitCode}`;
    throw new RunFailed(seed, what, proxy.struck, error);
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
 * @typedef {object} Piece
 * @property {"stdout" | "stderr"} type
 * @property {Buffer} output
 * @property {number} sequence
 * @property {number} [exitCode]
 *
 * @typedef {object} Result
 * @property {number | undefined} exitCode
 * @property {Buffer} output
 * @property {Record<"stdout" | "stderr", Buffer>} streams
 * @property {Piece[]} [events]
 */

/**
 * @param {Way} way
 * @param {import("sandpipe").Execs} execs
 * @param {{ command: string, args: string[] }} command
 * @param {boolean} inBytes
 * @returns {Promise<Result | { thrown: unknown }>}
 */
async function attempt(way, execs, { command, args }, inBytes) {
  // Text becomes a buffer, too: what is checked is the same.
  const options = /** @type {{ encoding: "bytes" }} */ (inBytes ? { encoding: "bytes" } : {});
  /** @type {Piece[]} */
  const events = [];
  const onOutput = (/** @type {import("sandpipe").OutputEvent<Uint8Array>} */ event) => {
    events.push({ ...event, output: Buffer.from(event.output) });
  };
  try {
    if (way === "exec") return resultOf(await execs.exec(command, args, options));
    if (way === "exec with onOutput") {
      const result = await execs.exec(command, args, { ...options, onOutput });
      return { ...resultOf(result), events };
    }
    const { id } = await execs.create({ command, args });
    if (way === "create and wait") return resultOf(await execs.wait(id, options));
    for await (const event of execs.streamOutput(id, 0, options)) onOutput(event);
  } catch (thrown) {
    return { thrown };
  }
  const streams = { stdout: joined(events, "stdout"), stderr: joined(events, "stderr") };
  return { exitCode: events.at(-1)?.exitCode, output: joined(events), streams, events };
}

/** @param {import("sandpipe").ExecResult<Uint8Array>} result @returns {Result} */
function resultOf({ exitCode, output, stdout, stderr }) {
  const streams = { stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) };
  return { exitCode, output: Buffer.from(output), streams };
}

/** @param {Piece[]} events @param {"stdout" | "stderr"} [type] */
function joined(events, type) {
  const own = events.filter((event) => type === undefined || event.type === type);
  return Buffer.concat(own.map(({ output }) => output));
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
 * @param {boolean} inBytes
 */
function checkResult({ output, streams, events, ...result }, exitCode, text, inBytes) {
  assert.equal(result.exitCode, exitCode, "the exit code is the command's own");
  const hashes = { stdout: sha256(streams.stdout), stderr: sha256(streams.stderr) };
  assert.deepEqual(hashes, text.hashes, "the output is the command's, each stream by itself");
  assert.equal(output.length, streams.stdout.length + streams.stderr.length, "it is both streams");
  // The characters of a text say which stream they are of.
  if (!inBytes) assert.deepEqual(hashesOf(output.toString()), text.hashes);
  if (events === undefined) return;

  events.forEach(({ sequence }, index) => {
    assert.equal(sequence, index + 1, "the events come in order, each once");
  });
  const ends = events.filter((event) => event.exitCode !== undefined);
  assert.deepEqual(ends, events.slice(-1), "the last event has the exit code");
  assert.equal(sha256(joined(events)), sha256(output), "the events are the output");
  for (const type of /** @type {const} */ (["stdout", "stderr"]))
    assert.equal(sha256(joined(events, type)), hashes[type], `${type} is told from the other`);
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
