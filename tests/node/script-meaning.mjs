// @ts-check
// What shows that a script means the same over a runtime: what `sh -c` makes of it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { inTime } from "../background/in-time.mjs";
import { isMatrix } from "../support/matrix.mjs";
import { openSshRuntime, withPath } from "../support/sshd.mjs";
import { CARRIED, SCRIPTS } from "./script-table.mjs";

/** @import { RunResult, Runtime } from "sandpipe" */
/** @import { Script } from "./script-table.mjs" */

// Over SSH there is no locale: messages of a shell are compared with those of the same shell here.
process.env["LC_ALL"] = "C";

/** The longest argument that Linux takes. */
const MAX_ARGUMENT = 131_071;

/** @type {string} */
let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpipe-test-"));
});
after(() => rmSync(folder, { recursive: true }));

/**
 * The process id in a shell's message of what a job died of: bash's is `sh: line 1:  4711 Killed   sleep 600`. Any
 * other number is what the script means.
 */
const JOB = /(?<=^\S+: line \d+: +)\d+(?= )/gm;

/** By shell, `PATH` and script. @type {Map<string, Promise<RunResult>>} */
const known = new Map();

/**
 * @param {string} shell @param {string} script @param {string} [path] a `PATH`
 * @returns {Promise<RunResult>}
 */
function expected(shell, script, path) {
  const key = JSON.stringify([shell, path, script]);
  const result = known.get(key) ?? byItself(shell, script, path);
  known.set(key, result);
  return result;
}

let files = 0;

/**
 * What a shell makes of a script by itself: one that is too long for an argument comes from a file.
 *
 * @param {string} shell @param {string} script @param {string} [path] a `PATH`
 * @returns {Promise<RunResult>}
 */
async function byItself(shell, script, path) {
  const file = join(folder, `expected-${files++}`);
  const output = openSync(file, "ax+");
  let args = ["-c", "--", script];
  if (Buffer.byteLength(script) > MAX_ARGUMENT) {
    writeFileSync(`${file}.sh`, script);
    args = [`${file}.sh`];
  }
  const child = spawn(shell, args, {
    ...{ detached: true, stdio: ["ignore", output, output] },
    ...(path === undefined ? {} : { env: { ...process.env, PATH: path } }),
  });
  const [code, signal] = await once(child, "exit");
  const said = readFileSync(file, "utf8");
  closeSync(output);
  const exitCode = code ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)];
  return { exitCode, output: said };
}

/**
 * @typedef {object} Subject
 * @property {Runtime} runtime
 * @property {string} shell what it runs scripts with
 * @property {string} [path] its `PATH`
 * @property {() => unknown} [close]
 */

/**
 * @param {string} name
 * @param {() => Promise<Subject>} open
 * @param {object} [options]
 * @param {boolean} [options.whole] all scripts run, not just `CARRIED`
 * @param {(script: Script) => boolean} [options.without] scripts that mean something else there
 * @param {boolean} [options.apart] stdout and stderr are read apart: only each one's lines are in
 * order
 */
export function testMeaning(
  name,
  open,
  { whole = false, without = () => false, apart = false } = {},
) {
  const scripts = (whole || isMatrix ? SCRIPTS : CARRIED).filter((script) => !without(script));
  /** What does not change from run to run. @param {RunResult} result */
  const comparable = ({ exitCode, output }) => {
    const lines = output.replace(JOB, "PID").split("\n");
    return { exitCode, lines: apart ? lines.sort() : lines };
  };

  describe(`a script means the same over ${name}`, { concurrency: 4 }, () => {
    /** @type {Subject} */
    let subject;
    before(async () => {
      subject = await open();
    });
    after(() => subject.close?.());

    for (const { script, name = script } of scripts) {
      it(JSON.stringify(name), async () => {
        const { runtime, shell, path } = subject;
        const result = await inTime(runtime).run(script);
        assert.deepEqual(comparable(result), comparable(await expected(shell, script, path)));
      });
    }
  });
}

/**
 * A directory where `sh` is a shell, beside other programs.
 *
 * @param {string} shell @param {Record<string, string>} [programs]
 */
export function directoryWith(shell, programs = {}) {
  const place = mkdtempSync(join(folder, `${shell}-`));
  const program = execFileSync("sh", ["-c", `command -v ${shell}`], { encoding: "utf8" }).trim();
  for (const [name, target] of Object.entries({ ...programs, sh: program })) {
    symlinkSync(target, join(place, name));
  }
  return place;
}

/**
 * This machine over SSH.
 *
 * @param {string} path its `PATH`
 * @returns {Promise<Subject>}
 */
export async function openSsh(path) {
  const opened = await openSshRuntime({ settings: [withPath(path)] });
  return { ...opened, shell: "sh", path };
}
