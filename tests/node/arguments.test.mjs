// @ts-check
// Wrong arguments: the same class everywhere, at once, and before anything is asked of the agent.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { background, connect, InvalidArgumentError } from "sandpipe";
import { startAgent } from "sandpipe/node";

/** Whatever it may be. @param {unknown} value @returns {any} */
const any = (value) => value;

const DURATIONS = [Number.NaN, -1, "5", null, {}, -Infinity];
const SIZES = [...DURATIONS, 1.5];
const SIGNALS = [true, "abort", {}, null, new AbortController()];
const TEXTS = ["a\0b", 5, null, "\ud800"];
const ENVIRONMENTS = [
  { "": "x" },
  { "A=B": "x" },
  { "A\0": "x" },
  { A: "x\0" },
  { A: 5 },
  ["A"],
  "A=B",
  null,
];

/**
 * Each of the values for the option.
 *
 * @param {string} name
 * @param {unknown[]} values
 */
const options = (name, values) => values.map((value) => any({ [name]: value }));

const FOLLOWING = [
  ...options("timeoutMs", DURATIONS),
  ...options("graceMs", DURATIONS),
  ...options("maxOutputBytes", SIZES),
  ...options("signal", SIGNALS),
  ...options("forceSignal", SIGNALS),
  ...options("onOutput", ["x", null, {}]),
  ...options("nonsense", [1]),
];
const SETTINGS = [
  ...options("cwd", TEXTS),
  ...options("user", TEXTS),
  ...options("env", ENVIRONMENTS),
];
const MAKING = [
  ...SETTINGS,
  ...options("pty", ["yes", 1, null]),
  ...[0, -1, 1.5, 65_536, "80", null].map((cols) => any({ pty: true, cols })),
  any({ rows: 24 }),
];

describe("wrong arguments", () => {
  /** @type {string[]} */
  const asked = [];
  const sandbox = connect({
    url: "http://127.0.0.1:1",
    fetch: async (input) => {
      asked.push(String(input));
      throw new Error("nothing is to be asked");
    },
  });

  /**
   * @param {string} what
   * @param {readonly unknown[]} values
   * @param {(value: any, sandbox: import("sandpipe").Sandbox) => unknown} call
   */
  const refuses = (what, values, call) =>
    it(`are refused by ${what}`, async () => {
      for (const value of values) {
        const calling = async () => call(value, await sandbox);
        await assert.rejects(calling, InvalidArgumentError, inspect(value));
      }
      assert.deepEqual(asked, []);
    });

  const programs = ["", ...TEXTS];
  const args = [...TEXTS.map((text) => [text]), "x", null, {}];
  refuses("exec: command", programs, (value, { execs }) => execs.exec(value));
  refuses("exec: args", args, (value, { execs }) => execs.exec("x", value));
  refuses(
    "exec: options",
    [...MAKING, ...FOLLOWING, ...options("input", [5, null])],
    (value, { execs }) => execs.exec("x", [], value),
  );
  refuses("create: command", programs, (command, { execs }) => execs.create({ command, args: [] }));
  refuses("create: args", args, (value, { execs }) => execs.create({ command: "x", args: value }));
  refuses("create: settings", MAKING, (value, { execs }) =>
    execs.create({ command: "x", args: [], ...value }),
  );
  refuses("wait", FOLLOWING, (value, { execs }) => execs.wait("x", value));
  refuses(
    "terminate",
    [...options("graceMs", DURATIONS), ...options("forceSignal", SIGNALS)],
    (value, { execs }) => execs.terminate("x", value),
  );
  refuses("streamOutput", options("signal", SIGNALS), async (value, { execs }) =>
    execs.streamOutput("x", 0, value).next(),
  );
  refuses("streamList", options("signal", SIGNALS), async (value, { execs }) =>
    execs.streamList(value).next(),
  );
  refuses("getOutput", [Number.NaN, 1.5, "1", null], (value, { execs }) =>
    execs.getOutput("x", value),
  );
  refuses("sandbox.run: script", TEXTS, (script, sandbox) => sandbox.run(script));
  refuses("sandbox.run: options", options("signal", SIGNALS), (value, sandbox) =>
    sandbox.run("x", value),
  );
  refuses(
    "sessions.create",
    [...SETTINGS, ...options("shell", programs), ...options("nonsense", [1])],
    (value, { sessions }) => sessions.create(value),
  );
  refuses("background.spawn: script", TEXTS, (script, { background }) => background.spawn(script));
  refuses(
    "background.spawn: options",
    [
      ...options("timeoutMs", DURATIONS),
      ...options("cwd", TEXTS),
      ...options("env", ENVIRONMENTS),
      ...options("name", TEXTS),
    ],
    (value, { background }) => background.spawn("x", value),
  );
  refuses(
    "background.run",
    [
      ...options("waitTimeoutMs", DURATIONS),
      ...options("maxOutputBytes", SIZES),
      ...options("outputFile", TEXTS),
      ...options("ignoreOutput", ["yes"]),
      ...options("timeoutMs", DURATIONS),
      ...options("cwd", TEXTS),
      ...options("env", ENVIRONMENTS),
      ...options("name", TEXTS),
    ],
    (value, { background }) => background.run("x", value),
  );
  refuses(
    "background.wait",
    [...options("timeoutMs", DURATIONS), ...options("signal", SIGNALS)],
    (value, { background }) => background.wait("x", value),
  );
  refuses("background.terminate", options("graceMs", DURATIONS), (value, { background }) =>
    background.terminate("x", value),
  );
  refuses(
    "background.readOutput",
    [
      ...options("offset", SIZES),
      ...options("maxBytes", SIZES),
      ...options("tailBytes", SIZES),
      ...options("waitMs", DURATIONS),
    ],
    (value, { background }) => background.readOutput("x", value),
  );
  refuses("background()", [null, 5, {}], (value) => background(value).list());
  refuses(
    "connect: retry",
    [
      ...options("maxAttempts", [0, -1, 1.5, Number.NaN, "3", null]),
      ...options("baseDelayMs", DURATIONS),
      ...options("maxDelayMs", DURATIONS),
      ...options("shouldRetry", [true, null]),
      ...options("onRetry", [true, null]),
      ...options("nonsense", [1]),
    ],
    (retry) => connect({ url: "http://127.0.0.1:1", retry }),
  );
  refuses(
    "startAgent",
    [...options("workspace", ["a\0b", 5]), ...options("args", [["a\0b"], [5], "--x", {}, 5])],
    (value) => startAgent(value),
  );

  it("are refused where shouldRetry returns them", async () => {
    for (const delay of [Number.NaN, -1]) {
      const { execs } = await connect({
        url: "http://127.0.0.1:1",
        retry: { shouldRetry: () => delay },
      });
      await assert.rejects(execs.list(), InvalidArgumentError);
    }
  });
});

/** @param {unknown} value */
function inspect(value) {
  return `${JSON.stringify(value)} ${String(Object.values(Object(value))[0])}`;
}
