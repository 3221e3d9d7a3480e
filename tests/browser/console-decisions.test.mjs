// @ts-check
/** What the console decides apart from the page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./console-modules.mjs";

test("a line without a shell is taken apart as a shell would, and shown again as one", async () => {
  const { commandOf, lineOf } = await load("runs/command-line.ts");
  const line = `echo 'a b' "c \\"d\\" \\$e" f\\ g '' h"i"'j'`;
  const command = commandOf(line, "none");
  assert.deepEqual(command, {
    command: "echo",
    args: ["a b", 'c "d" \\$e', "f g", "", "hij"],
  });
  assert.deepEqual(commandOf(lineOf(command), "none"), command);
  assert.deepEqual(commandOf("a 'b", "sh"), { command: "sh", args: ["-c", "a 'b"] });
  assert.throws(() => commandOf("echo 'a", "none"), /The quote ' is not closed/);
  assert.throws(() => commandOf("  ", "sh"), /Enter a command/);
  assert.equal(lineOf({ command: "it's", args: [] }), `'it'\\''s'`);
});

test("the environment is a variable a line", async () => {
  const { environmentOf } = await load("runs/environment.ts");
  assert.deepEqual(environmentOf("A=1\n\nB=x=y\nC="), { A: "1", B: "x=y", C: "" });
  assert.throws(() => environmentOf("A=1\n=2"), /NAME=VALUE, not “=2”/);
});

test("stderr has a mark before each of its lines, also of one that comes in pieces", async () => {
  const { StreamMarker, unmarked } = await load("output/streams.ts");
  const marker = new StreamMarker();
  const pieces = [
    { type: "stdout", output: "out\n" },
    { type: "stderr", output: "one\ntw" },
    { type: "stderr", output: "o\n" },
    { type: "stdout", output: "a" },
    { type: "stderr", output: "b" },
    { type: "stdout", output: "" },
    { type: "stderr", output: "\n" },
  ];
  const text = pieces.map((piece) => marker.mark(piece)).join("");
  const plain = text.replace(/\x1b\[\d+m/g, "");
  assert.equal(plain, "out\n┃ one\n┃ two\na┃ b\n");
  assert.equal(unmarked(plain), "out\none\ntwo\nab\n");
});

test("a run's output keeps its newest part, and counts what is dropped", async () => {
  const { withOutput } = await load("sessions/run.ts");
  let run = { number: 1, script: "", pieces: [], dropped: 0, outcome: { state: "running" } };
  run = withOutput(run, { type: "stdout", output: "a".repeat(150_000) });
  run = withOutput(run, { type: "stdout", output: "b".repeat(40_000) });
  assert.equal(run.pieces.length, 1);
  run = withOutput(run, { type: "stderr", output: "c".repeat(20_000) });
  assert.equal(run.dropped, 10_000);
  run = withOutput(run, { type: "stderr", output: "d".repeat(5_000) });
  assert.equal(run.dropped, 15_000);
  const lengths = run.pieces.map((/** @type {{ output: string }} */ piece) => piece.output.length);
  assert.deepEqual(lengths, [175_000, 25_000]);
});

test("of a session's runs the newest are kept, and those that go on", async () => {
  const { withRun } = await load("sessions/run.ts");
  /** @typedef {{ number: number, outcome: { state: string } }} Run @type {Run[]} */
  let runs = [];
  for (let number = 1; number <= 60; number++) {
    const state = number <= 2 ? "running" : "ended";
    runs = withRun(runs, { number, outcome: { state } });
  }
  const numbers = runs.map(({ number }) => number);
  assert.deepEqual(numbers, [1, 2, ...Array.from({ length: 48 }, (_, index) => 13 + index)]);
});

test("an open output waits for an agent that is away, a request gives up", async () => {
  const { shouldRetry } = await load("connection/retry.ts");
  const { HttpError } = await import("sandpipe");
  const away = new HttpError("away", { status: 0, operation: "" });
  const ended = new Error("ended");
  for (const [operation, attempt, error, willRetry, expected] of [
    ["stream output", 99, away, true, true],
    ["stream output", 4, ended, true, false],
    ["list execs", 2, away, true, true],
    ["list execs", 3, away, true, false],
    ["list execs", 1, ended, false, false],
    ["stream list", 1, away, true, false],
  ]) {
    const retries = shouldRetry({ operation, attempt, error, willRetry, delay: 1 });
    assert.equal(retries, expected, `${operation}, attempt ${attempt}`);
  }
});

test("a background output is given up when its target fails five times in succession", async () => {
  const { tail } = await load("background/tail.ts");
  const { BackgroundError } = await import("sandpipe");
  const page = new EventTarget();
  Object.assign(globalThis, {
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  });
  const answers = [false, false, false, false, true, false, false, false, false, false, true];
  const background = {
    async readOutput() {
      if (answers.shift()) return { output: "read", nextOffset: 4, status: "running" };
      throw new BackgroundError("it failed", { operation: "read output", output: "" });
    },
  };
  /** @type {string[]} */
  const taken = [];
  const take = async (/** @type {string} */ output) => void taken.push(output);
  // It is asked again at once where the browser has a connection again.
  const onFailure = () => void setImmediate(() => page.dispatchEvent(new Event("online")));
  const grep = { stream: "both", pattern: "", exclude: false };
  const { signal } = new AbortController();
  await assert.rejects(tail(background, "id", grep, signal, take, onFailure), /it failed/);
  assert.deepEqual(taken, ["read"]);
  assert.deepEqual(answers, [true]);
});

test("a connection that is refused is not tried again", async () => {
  const { stateAfter } = await load("connection/state.ts");
  const { HttpError, SandpipeError } = await import("sandpipe");
  const refused = new HttpError("no such token", { status: 401, operation: "" });
  const live = { state: "live" };
  const lost = stateAfter(new Error("cut"), live, 1_000);
  assert.deepEqual(lost, { state: "lost", since: 1_000 });
  assert.deepEqual(
    stateAfter(new Error("cut"), lost, 9_000),
    lost,
    "it counts from the first loss",
  );
  const never = stateAfter(new Error("no agent"), { state: "connecting" }, 1_000);
  assert.deepEqual(never, { state: "unreachable", reason: "no agent" });
  assert.deepEqual(stateAfter(undefined, never, 9_000), { state: "unreachable", reason: "" });
  const silent = stateAfter(new SandpipeError("network", "no answer"), never, 9_000);
  assert.deepEqual(silent, {
    state: "unreachable",
    reason: "Check that the agent runs, and allows this page's origin (--allow-origin).",
  });
  const expected = { state: "refused", reason: "The agent does not know this token." };
  assert.deepEqual(stateAfter(refused, live, 1_000), expected);
});

test("a lost connection is tried again sooner at first, and the banner counts down to it", async () => {
  const { attemptText, pauseAfter } = await load("connection/state.ts");
  const pauses = [1, 2, 3, 4, 5, 100].map(pauseAfter);
  assert.deepEqual(pauses, [1_000, 2_000, 3_000, 5_000, 5_000, 5_000]);
  assert.equal(attemptText(5_000, 1_001), "Next attempt in 4\u00A0s.");
  assert.equal(attemptText(5_000, 5_000), "Trying again…");
  assert.equal(attemptText(undefined, 5_000), "Trying again…");
});

test("an error advises what can be done in the console, not what callers of the package can", async () => {
  const { messageOf } = await load("message.tsx");
  const { BackgroundError, HttpError, NotFoundError, SessionError } = await import("sandpipe");
  const forbidden = { status: 403, operation: "", hint: "Use the admin token: …" };
  assert.equal(
    messageOf(new HttpError(`the token is read-only. ${forbidden.hint}`, forbidden)),
    "the token is read-only. Sign in with the agent's admin token.",
  );
  const gone = { id: "x", hint: "Look for it with list()." };
  assert.match(
    messageOf(new NotFoundError(`no x. ${gone.hint}`, gone)),
    /^no x\. It may have been/,
  );
  const ended = { execId: "x", output: "", hint: "Make another with sessions.create()." };
  assert.equal(
    messageOf(new SessionError(`it ended. ${ended.hint}`, ended)),
    "it ended. Open another session.",
  );
  const running = /** @type {const} */ ({
    operation: "",
    output: "",
    reason: "running",
    hint: "Stop it with terminate().",
  });
  assert.equal(
    messageOf(new BackgroundError(`it runs. ${running.hint}`, running)),
    "it runs. Stop it first.",
  );
  assert.equal(messageOf(new Error("plain. Nothing.")), "plain. Nothing.");
});
