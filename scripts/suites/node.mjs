// @ts-check
/** Jobs of Node's test runner: one for each file *.test.mjs of a folder of tests/. */

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "../project.mjs";
import { endOf } from "./lines.mjs";
import { resultFile, runProgram } from "./program.mjs";

/** @import { Job, JobResult, Lane, TestResult } from "./job.mjs" */

/** A test that says how long something may take at most has the machine for itself. */
const ALONE = ".alone.test.mjs";

/**
 * @param {string} folder
 * @param {object} options
 * @param {Lane} options.lane of all files but those that run alone
 * @param {readonly string[]} options.inputs of every file
 * @param {readonly string[]} [options.programInputs] of a file that runs the program `sandpipe`, as well
 * @param {string} [options.apart] files run one at a time
 * @param {number} [options.silenceMs] how long a file may go without a test that begins or ends
 * @param {readonly string[]} texts only the files whose names have one of them; none: all files
 * @returns {Job[]}
 */
export function nodeJobs(folder, { lane, inputs, programInputs = [], apart, silenceMs }, texts) {
  const names = readdirSync(join(root, "tests", folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".test.mjs") && !name.includes("node_modules"))
    .filter((name) => texts.length === 0 || texts.some((text) => name.includes(text)))
    .sort()
    .map((name) => {
      const file = join("tests", folder, name);
      return {
        suite: folder,
        name: file,
        lane: file.endsWith(ALONE) ? "alone" : lane,
        ...(apart === undefined ? {} : { apart }),
        inputs: runsProgram(file) ? [...inputs, ...programInputs] : inputs,
        hasBudget: apart === undefined,
        run: () => runFile(file, silenceMs),
      };
    });
}

/** Whether a file of tests runs, or imports, a part of the program `sandpipe`. @param {string} file */
function runsProgram(file) {
  return /\b(cli|mcp)\b/.test(readFileSync(join(root, file), "utf8"));
}

/**
 * @param {string} file its path, from the project's root
 * @param {number} [silenceMs]
 * @returns {Promise<JobResult>}
 */
export async function runFile(file, silenceMs) {
  const [log, events] = [resultFile(file, "log"), resultFile(file, "events")];
  const args = [
    `--test-reporter=${join(root, "scripts/suites/test-events.mjs")}`,
    `--test-reporter-destination=${events}`,
    // Node.js 20 has WebSockets when asked.
    "--experimental-websocket",
    file,
  ];
  // Where this process is run by a test itself, it is no part of that test.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const options = { log, env, signs: [events], ...(silenceMs === undefined ? {} : { silenceMs }) };
  const { exitCode, hang } = await runProgram(process.execPath, args, options);
  const { tests, unended } = readEvents(existsSync(events) ? readFileSync(events, "utf8") : "");
  if (hang !== undefined) {
    const names = unended.join(" › ") || "no test had begun";
    return { tests, failure: `It hung in: ${names}\n${hang}\n${endOf(log)}` };
  }
  // What fails beside the tests fails, too: a file that can't be loaded, for one.
  const isExplained = exitCode === 0 || tests.some(({ outcome }) => outcome === "failed");
  if (isExplained) return { tests: tests.map((test) => withLog(test, log)) };
  return { tests, failure: `It ended with ${exitCode}.\n${endOf(log)}` };
}

/**
 * What a file's tests said, as test-events.mjs writes it.
 *
 * @param {string} text
 * @returns {{ tests: TestResult[], unended: string[] }} `unended`: the tests that had begun last
 */
export function readEvents(text) {
  /** @type {TestResult[]} */
  const tests = [];
  /** @type {string[]} */
  const unended = [];
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const { event, ...rest } = JSON.parse(line);
    if (event === "begin") unended.push(rest.name);
    else if (event === "end") unended.splice(unended.lastIndexOf(rest.name), 1);
    else tests.push(rest);
  }
  return { tests, unended };
}

/** A failed test says what the agents and programs of its file said last. @param {TestResult} test @param {string} log */
function withLog(test, log) {
  if (test.outcome !== "failed") return test;
  const said = endOf(log);
  return said === "" ? test : { ...test, reason: `${test.reason}\n${said}` };
}
