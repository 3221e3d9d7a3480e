// @ts-check
// Something is killed at a random moment of 20 execs: what is true then, whatever was killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { isSandpipeError } from "sandpipe";

import { root } from "../../scripts/project.mjs";
import { marked, marker, until, within } from "./processes.mjs";
import { Random } from "./random.mjs";

/** How many rounds run at the same time. */
const LANES = 4;
/** How many execs each has. */
export const EXECS = 20;

/**
 * Runs rounds, each with chance of its own: every run of the tests has other moments. The seed of all is
 * printed; `SEED` repeats it.
 *
 * @param {string} name
 * @param {number} rounds how often something is killed
 * @param {(random: Random, round: number) => Promise<void>} round
 */
export async function atRandomMoments(name, rounds, round) {
  const seed = process.env["SEED"] ?? randomUUID();
  console.log(`${name}: SEED=${seed}`);
  let next = 0;
  const lane = async () => {
    for (let number = next++; number < rounds; number = next++) {
      await round(new Random(`${seed} ${number}`), number).catch((cause) => {
        throw new Error(`round ${number} of SEED=${seed}: ${cause}`, { cause });
      });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/**
 * The script of an exec, which writes down in its workspace that it began, and with what it ends.
 *
 * @param {number} number
 */
export function scriptOf(number) {
  const seconds = (number * 0.02).toFixed(2);
  return `echo begun >> ${number}; sleep ${seconds}; echo 7 >> ${number}; exit 7`;
}

/** What an exec may have written down when it is killed. Its shell makes the file before it writes to it. */
const CAN_BE_WRITTEN = ["", "begun\n", "begun\n7\n"];

/**
 * Runs 20 execs at once, and says of how many the exit code is known. None has one that it has not ended with.
 *
 * @param {import("sandpipe").Execs} execs
 * @param {string} workspace on this machine
 */
export async function runAll(execs, workspace) {
  const outcomes = Array.from({ length: EXECS }, async (_, number) => {
    const result = await execs.exec("sh", ["-c", scriptOf(number)]).catch((error) => error);
    const written = readWritten(workspace, number);
    if (result instanceof Error) {
      assert.ok(isSandpipeError(result), String(result));
      assert.ok(CAN_BE_WRITTEN.includes(written), written);
      return false;
    }
    assert.deepEqual([result.exitCode, written], [7, "begun\n7\n"]);
    return true;
  });
  return (await Promise.all(outcomes)).filter((isKnown) => isKnown).length;
}

/** @param {string} workspace @param {number} number */
function readWritten(workspace, number) {
  try {
    return readFileSync(join(workspace, String(number)), "utf8");
  } catch {
    return "";
  }
}

/** What a caller says when its execs run. */
export const READY = /^ready$/m;

/** What a {@link nodeCaller} says when an exec has ended. */
export const RESULT = /^\d+: /m;

/**
 * Starts a caller, and kills it at a random moment: half of them when they have said something, half maybe before there is an agent.
 * Nothing of it is left then, and what it has said is true.
 *
 * @param {Random} random
 * @param {number} round rounds that are even, and those that are odd, have callers of the same kind
 * @param {object} caller
 * @param {readonly string[]} caller.command
 * @param {string} caller.workspace
 * @param {string} [caller.cwd]
 * @param {readonly RegExp[]} [caller.says] of these, one is waited for, in turn: by default, that its execs run
 * @returns {Promise<boolean>} whether it has said how an exec ended
 */
export async function killCaller(
  random,
  round,
  { command, workspace, cwd = root, says = [READY] },
) {
  const mark = marker();
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...mark, WORKSPACE: workspace },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const ended = once(child, "exit");
  const turn = Math.floor(round / 2);
  const awaited = turn % 2 === 0 ? says[(turn / 2) % says.length] : undefined;
  if (awaited !== undefined) {
    await until(() => awaited.test(said) || child.stdout.readableEnded);
    // It may have ended since.
    assert.match(said, awaited);
    await pause(random.between(0, 500));
  } else {
    await pause(random.between(0, 1_000));
  }
  child.kill("SIGKILL");
  await ended;
  assert.ok(await within(60_000, () => marked(mark).length === 0), "processes are left");
  for (const name of readdirSync(workspace)) {
    // What a policy keeps from being made, `.git`, is not there any more either.
    assert.match(name, /^\d+$/);
    assert.ok(CAN_BE_WRITTEN.includes(readWritten(workspace, Number(name))), name);
  }
  const results = [...said.matchAll(/^(\d+): (\d+)$/gm)];
  for (const [, number, exitCode] of results) {
    assert.deepEqual([exitCode, readWritten(workspace, Number(number))], ["7", "begun\n7\n"]);
  }
  return results.length > 0;
}

/**
 * The command line of a caller in Node.js: it runs 20 execs at an agent with these options, and prints what each ends with.
 *
 * @param {import("sandpipe/node").StartAgentOptions} options
 */
export function nodeCaller(options) {
  const script = `
    import { connect } from "sandpipe";
    import { startAgent } from "sandpipe/node";
    import { scriptOf } from "./tests/support/killed-at-random.mjs";
    const workspace = process.env["WORKSPACE"];
    const agent = await startAgent({ ...${JSON.stringify(options)}, workspace });
    const { execs } = await connect(agent);
    console.log("ready");
    for (let number = 0; number < ${EXECS}; number += 1) {
      execs.exec("sh", ["-c", scriptOf(number)]).then(({ exitCode }) => console.log(number + ": " + exitCode));
    }
    setInterval(() => {}, 1000);`;
  return [process.execPath, "--input-type=module", "--eval", script];
}

/** Makes a directory for a round. @param {string} parent @param {number} round */
export function workspaceOf(parent, round) {
  const path = join(parent, `workspace-${round}`);
  mkdirSync(path);
  return path;
}
