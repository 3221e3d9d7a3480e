// @ts-check
/** What the console decides of runs and their outputs, apart from the page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./console-modules.mjs";

/** @param {object} [facts] */
const item = (facts) => ({
  ...{ id: "a", command: "sh", args: ["-c", "make all"], status: "RUNNING", pid: 7, exitCode: -1 },
  ...{ pty: false },
  ...facts,
});

test("a state says what happened, and nothing runs that is not known to run", async () => {
  const { stateOf, wordOf, detailOf } = await load("runs/state.ts");
  const terminating = { phase: "terminating", killAt: 10_000 };
  const ended = { status: "EXITED", exitCode: 0 };
  const stopped = { status: "STOPPED", exitCode: 143 };
  const byForce = { phase: "stopped", forced: true };
  for (const [facts, isLive, stopping, word, detail] of [
    [{ status: "CREATED" }, true, undefined, "Not started", ""],
    [{ status: "CREATED" }, false, undefined, "Not started", ""],
    [{}, true, undefined, "Running", ""],
    [{}, false, undefined, "Unknown", "it ran when the connection was lost"],
    [{ status: "STOPPING" }, false, terminating, "Unknown", "it ran when the connection was lost"],
    [{ status: "STOPPING" }, true, undefined, "Stopping", "told to end"],
    [{}, true, terminating, "Stopping", "killed in 8 s"],
    [{}, true, { phase: "killing" }, "Killing", "SIGKILL was sent"],
    [{}, true, { phase: "failed" }, "Running", ""],
    [ended, true, undefined, "Succeeded", ""],
    [ended, false, undefined, "Succeeded", ""],
    [{ ...ended, exitCode: 3 }, true, undefined, "Failed 3", ""],
    [{ ...ended, exitCode: 139 }, true, undefined, "Failed 139", "SIGSEGV"],
    [stopped, true, undefined, "Stopped", "SIGTERM"],
    [stopped, true, { phase: "stopped", forced: false }, "Stopped", "by you: SIGTERM"],
    [stopped, true, { phase: "failed" }, "Stopped", "SIGTERM"],
    [{ ...stopped, stopReason: "client" }, true, undefined, "Stopped", "by a user: SIGTERM"],
    [
      { ...stopped, stopReason: "client" },
      true,
      { phase: "stopped", forced: false },
      "Stopped",
      "by you: SIGTERM",
    ],
    [
      { ...stopped, stopReason: "agent" },
      true,
      { phase: "failed" },
      "Stopped",
      "by the agent’s end: SIGTERM",
    ],
    [
      { ...stopped, exitCode: 137, stopReason: "wallTime" },
      true,
      undefined,
      "Stopped",
      "by the time limit: SIGKILL",
    ],
    [
      { ...ended, exitCode: 152, stopReason: "cpuTime" },
      true,
      undefined,
      "Stopped",
      "by the processor time limit: SIGXCPU",
    ],
    [{ ...stopped, stopReason: "new" }, true, undefined, "Stopped", "by new: SIGTERM"],
    [{ ...stopped, exitCode: 137 }, true, byForce, "Stopped", "by you, by force: SIGKILL"],
    [
      { status: "STOPPED" },
      true,
      undefined,
      "Lost",
      "the agent ended while it ran; its exit code is not known",
    ],
  ]) {
    const state = stateOf(item(/** @type {object} */ (facts)), isLive, stopping);
    assert.equal(wordOf(state), word);
    assert.equal(detailOf(state, 2_001), detail);
  }
});

test("times are told in at most two units", async () => {
  const { ageText, durationText, elapsedText } = await load("runs/time-text.ts");
  const durations = [0, 449, 9_949, 9_950, 59_600, 184_000, 7_500_000, 180_000_000];
  const expected = [
    "0.0 s",
    "0.4 s",
    "9.9 s",
    "10 s",
    "1 min",
    "3 min 4 s",
    "2 h 5 min",
    "2 d 2 h",
  ];
  assert.deepEqual(durations.map(durationText), expected);
  assert.deepEqual([999, 9_999, 61_999].map(elapsedText), ["0 s", "9 s", "1 min 1 s"]);
  assert.equal(ageText(0, 3_599_999), "59 min ago");
  assert.equal(ageText(5_000, 0), "now", "the clocks of agent and browser may differ");
});

test("runs are found by command, id, pid and what was found in their outputs, in any case", async () => {
  const { filtered } = await load("runs/filter.ts");
  const items = [
    item(),
    item({ id: "b", args: ["-c", "echo it's"], status: "EXITED", exitCode: 0, pid: 8 }),
    item({ id: "c", args: [], status: "EXITED", exitCode: 2, pid: 9 }),
  ];
  const ids = (
    /** @type {object} */ filter,
    /** @type {Map<string, string>} */ found = new Map(),
  ) =>
    filtered(items, filter, found)
      .map((/** @type {{ id: string }} */ { id }) => id)
      .join("");
  assert.equal(ids({ kind: "all", text: " " }), "abc");
  assert.equal(ids({ kind: "all", text: "MAKE" }), "a");
  assert.equal(ids({ kind: "all", text: "it's" }), "b", "as it was typed, not as it is quoted");
  assert.equal(ids({ kind: "all", text: "9" }), "c");
  assert.equal(ids({ kind: "running", text: "" }), "a");
  assert.equal(ids({ kind: "ended", text: "" }), "bc");
  assert.equal(ids({ kind: "failed", text: "" }), "c");
  assert.equal(ids({ kind: "all", text: "error" }, new Map([["b", "an error"]])), "b");
  assert.equal(ids({ kind: "failed", text: "error" }, new Map([["b", "an error"]])), "");
});

test("an output has a text in the last line with it, shown without terminal sequences", async () => {
  const { placeOf } = await load("runs/search-outputs.ts");
  const output = "an error\n\x1b[31mlast ERROR\x1b[0m here\nend\n";
  assert.equal(placeOf(output, "error"), "last ERROR here");
  assert.equal(placeOf(output, "nowhere"), undefined);
  assert.equal(placeOf(output, ""), undefined);
  assert.equal(placeOf("x".repeat(500) + "needle" + "y".repeat(500), "needle")?.length, 126);
});

test("the arrow keys bring the lines that were run before, and back what was typed", async () => {
  const { recalled, withLine } = await load("runs/history.ts");
  /** @type {readonly string[]} */
  let lines = [];
  for (const line of ["one", "two", "one"]) lines = withLine(lines, line);
  assert.deepEqual(lines, ["two", "one"]);
  let at = { recall: { index: -1, draft: "" }, text: "typed" };
  const press = (/** @type {1 | -1} */ step) =>
    (at = recalled(lines, at.recall, at.text, step) ?? at).text;
  assert.equal(press(1), "one");
  assert.equal(press(1), "two");
  assert.equal(press(1), "two", "there is none before it");
  assert.equal(press(-1), "one");
  assert.equal(press(-1), "typed");
  assert.equal(recalled(lines, at.recall, "typed", -1), undefined);
  for (let number = 0; number < 300; number++) lines = withLine(lines, String(number));
  assert.equal(lines.length, 200);
});

test("a removal can be undone until it is carried out", async () => {
  const { Removals } = await load("runs/removals.ts");
  /** @type {string[]} */
  const deleted = [];
  const execs = {
    async delete(/** @type {string} */ id) {
      if (id === "kept") throw new Error("it is kept");
      deleted.push(id);
    },
  };
  const removals = new Removals(execs);
  removals.remove("one", ["a", "b"]);
  assert.deepEqual([...removals.hidden.value], ["a", "b"]);
  removals.undo();
  assert.deepEqual([...removals.hidden.value], []);
  assert.deepEqual(deleted, []);
  removals.remove("two", ["c", "kept"]);
  removals.remove("three", ["d"]);
  // The first one is carried out when the next one comes.
  await new Promise(setImmediate);
  assert.deepEqual(deleted, ["c"]);
  assert.deepEqual([...removals.hidden.value], ["c", "d"], "what could not be deleted is shown");
  assert.match(String(removals.error.value), /it is kept/);
  removals.undo();
  assert.deepEqual(deleted, ["c"]);
});

test("an address names a page and what is selected there", async () => {
  const { hashOf, routeOf } = await load("route.ts");
  for (const route of [{ page: "runs" }, { page: "runs", id: "a/b ?" }, { page: "sessions" }])
    assert.deepEqual(routeOf(hashOf(route)), route);
  for (const hash of ["", "#", "#/", "#/nowhere/a", "#runs/a", "#/runs/", "#/runs/%ff"])
    assert.deepEqual(routeOf(hash), { page: "runs" }, hash);
});

test("outputs are opened, put beside each other and closed, each once in sight", async () => {
  const { NOTHING_OPEN, readArrangement, withBeside, withOpen, withoutBeside, withoutOpen } =
    await load("output/arrangement.ts");
  let now = ["a", "b", "c"].reduce(withOpen, NOTHING_OPEN);
  assert.deepEqual(now, { open: ["a", "b", "c"], active: "c" });
  assert.deepEqual(withoutOpen(now, "c"), { open: ["a", "b"], active: "b" });
  assert.deepEqual(withoutOpen(withOpen(now, "a"), "a"), { open: ["b", "c"], active: "b" });
  now = withBeside(now, "a");
  assert.deepEqual(now, { open: ["a", "b", "c"], active: "c", beside: "a" });
  assert.deepEqual(withBeside(now, "c"), { open: ["a", "b", "c"], active: "a", beside: "c" });
  assert.equal(withOpen(now, "a"), now, "it is in sight already");
  assert.deepEqual(withoutBeside(now), { open: ["a", "b", "c"], active: "c" });
  assert.deepEqual(withoutOpen(now, "c"), { open: ["a", "b"], active: "a" });
  assert.deepEqual(withoutOpen(now, "a"), { open: ["b", "c"], active: "c" });
  assert.deepEqual(withoutOpen(now, "a", "b", "c"), { open: [] });
  assert.deepEqual(readArrangement(JSON.parse(JSON.stringify(now))), now);
  assert.deepEqual(readArrangement({ open: ["a", 1, "a"], active: "z" }), { open: ["a"] });
  assert.deepEqual(readArrangement("broken"), NOTHING_OPEN);
});

/** @param {number} sequence @param {string} output */
const piece = (sequence, output) => ({ type: "stdout", sequence, output });

test("of an output a part is loaded: it grows at its end, or at its beginning and then loses its end", async () => {
  const { Loaded } = await load("output/loaded.ts");
  // Each piece costs 128 more than its characters.
  const loaded = new Loaded({ characters: 300, lines: 4 });
  for (const sequence of [10, 11]) loaded.push(piece(sequence, "aa"));
  assert.equal(loaded.push(piece(11, "again")), false, "it is there already");
  assert.equal(loaded.isFull, false);
  loaded.push(piece(12, "bb"));
  assert.deepEqual([loaded.first, loaded.last, loaded.isFull], [10, 12, true]);
  loaded.push(piece(13, "cc"));
  assert.deepEqual([loaded.first, loaded.last, loaded.hasEnd], [11, 13, true]);
  const older = [piece(9, "dd"), piece(10, "ee")];
  assert.deepEqual(loaded.prepend(older, true), [], "there is no room beside the end");
  assert.deepEqual(loaded.prepend(older, false), older.slice(1));
  assert.deepEqual([loaded.first, loaded.last, loaded.hasEnd], [10, 12, false]);
  assert.equal(loaded.push(piece(14, "ff")), false, "it does not follow what is loaded");
  loaded.clear();
  for (const sequence of [1, 2, 3]) loaded.push(piece(sequence, "\n\n"));
  assert.deepEqual([loaded.first, loaded.last], [2, 3], "lines are counted, too");
  loaded.push(piece(4, "\n".repeat(9)));
  assert.deepEqual([loaded.first, loaded.last], [4, 4], "one piece is always held");
  loaded.prepend([piece(3, "\n".repeat(9))], false);
  assert.deepEqual([loaded.first, loaded.last], [3, 4], "what is in sight stays");
});

test("as much is loaded upward at once as half a megabyte or some thousand lines", async () => {
  const { batchSize } = await load("output/loaded.ts");
  const pieces = new Array(10);
  assert.equal(batchSize({ characters: 327_680, lines: 10, pieces }), 16);
  assert.equal(batchSize({ characters: 327_680, lines: 25_000, pieces }), 2);
  assert.equal(batchSize({ characters: 100, lines: 10, pieces }), 5_000);
  assert.equal(batchSize({ characters: 0, lines: 0, pieces: [] }), 5_000);
});

test("what is copied is all of it, or says how much of its end", async () => {
  const { collect, copiedText } = await load("output/copy.ts");
  const all = Array.from({ length: 40 }, (_, index) => piece(index + 1, `${index + 1}\n`));
  const execs = {
    async *streamOutput(/** @type {string} */ _id, /** @type {number} */ after) {
      yield* all.slice(after);
    },
  };
  const signal = new AbortController().signal;
  const text = all.map(({ output }) => output).join("");
  const whole = await collect(execs, "id", all.slice(-2), signal);
  assert.deepEqual(whole, { text, isAll: true });
  assert.equal(copiedText(whole), `Copied all of it: ${text.length} characters.`);
  const part = await collect(execs, "id", all.slice(-2), signal, 50);
  assert.deepEqual(part, { text: text.slice(-50), isAll: false });
  assert.equal(copiedText(part), "Copied the last 50 characters. Download has all of it.");
  const million = copiedText({ text: "x".repeat(1_250_000), isAll: true });
  assert.equal(million, "Copied all of it: 1.3 million characters.");
});

test("of very many rows those in sight are drawn, and a few beyond", async () => {
  const { visibleRows } = await load("design/visible-rows.ts");
  assert.deepEqual(visibleRows(10_000, 50, 0, 500), { first: 0, end: 16 });
  assert.deepEqual(visibleRows(10_000, 50, 250_000, 500), { first: 4_994, end: 5_016 });
  assert.deepEqual(visibleRows(10_000, 50, 499_500, 500), { first: 9_984, end: 10_000 });
  assert.deepEqual(visibleRows(3, 50, 5_000, 500), { first: 3, end: 3 });
  assert.deepEqual(visibleRows(0, 50, 0, 500), { first: 0, end: 0 });
});

test("a run is run again where and under which policy it ran, or not at all", async () => {
  const { Requests } = await load("runs/requests.ts");
  globalThis.sessionStorage ??= /** @type {any} */ ({ getItem: () => null, setItem: () => {} });
  const requests = new Requests();
  /** @type {object[]} */
  const created = [];
  const execs = {
    create: async (/** @type {object} */ request) => {
      created.push(request);
      return item({ id: "b" });
    },
    get: async () => item({ args: ["-c", "whole"], cwd: "/whole" }),
  };
  const usual = { command: "sh", args: ["-c", "make all"], pty: false, interactive: false };
  for (const [facts, request] of [
    [{}, usual],
    [
      { cwd: "/a", policy: "workspace", user: "1" },
      { ...usual, cwd: "/a", user: "1" },
    ],
    [{ policy: "strict" }, { ...usual, policy: "strict" }],
    [{ argsTruncated: true }, { ...usual, args: ["-c", "whole"], cwd: "/whole" }],
  ]) {
    await requests.again(execs, item(/** @type {object} */ (facts)), "workspace");
    assert.deepEqual(created.pop(), request);
  }
  // The agent's own may be no preset either, and allow more.
  const custom = item({ id: "c", policy: "custom" });
  for (const policy of ["workspace", "custom", undefined]) {
    await assert.rejects(requests.again(execs, custom, policy), /a policy that is no preset/);
  }
  assert.deepEqual(created, []);
  // What this page has asked for is known in full.
  for (const request of [usual, { ...usual, policy: '{ "network": "none" }' }]) {
    requests.remember(undefined, custom.id, request);
    await requests.again(execs, custom, "custom");
    assert.deepEqual(created.pop(), request);
  }
});
