// @ts-check
/**
 * Tests of the tools that hold over every runtime.
 *
 * The whole suite runs over this machine with its `sh`: no agent and no network is in between. The
 * tools use background processes and files, and no other part of a runtime. A new test belongs to
 *
 * - `it` if it proves a decision of the tools: their input, their texts, what they cut and keep;
 * - `contract` if it depends on how a runtime runs a script, returns its output (bytes that are no
 *   text, for one) or is aborted. `tests/background/` has what shells do differently.
 *
 * Files come from an agent, or else from a shell. All tests of files run over a sandbox and over
 * this machine.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, describe } from "node:test";

import { isSandpipeError } from "sandpipe";

import { timedBy } from "../background/timed-runtime.mjs";
import { isMatrix, testsOf } from "../support/matrix.mjs";
import { failure } from "../support/script.mjs";
import { marked, marker, until } from "../support/processes.mjs";
import { testFiles, testFilesOnce } from "./files.mjs";
import { BUDGET, field, Subject, tools } from "./subject.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

/** @import { Part, Tests } from "../support/matrix.mjs" */
/** @import { Open } from "./subject.mjs" */

/** A wait that is longer than the deadline of a call, in seconds. */
const LONG_SECS = 600;

/**
 * Defines the tests for a runtime.
 *
 * @param {string} name
 * @param {Open} open
 * @param {object} options
 * @param {Part} options.part
 * @param {boolean} [options.hasFiles] its files come from an agent
 */
export function testTools(name, open, { part, hasFiles = false }) {
  describe(`tools over ${name}`, () => {
    const subject = new Subject();
    before(() => subject.open(open));
    after(() => subject.close());

    const tests = testsOf(part);
    testForeground(subject, tests);
    testStops(subject, tests);
    testBackground(subject, tests);
    const isThorough = part === "whole" || hasFiles;
    if (!isThorough) testFilesOnce(subject);
    if (isThorough || isMatrix) testFiles(subject);
  });
}

/** @param {Subject} subject @param {Tests} tests */
function testForeground(subject, { it, contract }) {
  contract(
    "bash gives the exit code first, then the output in order of arrival, as plain text",
    async () => {
      const script = "printf '\\033[31mone\\033[0m\\r\\n'; echo two >&2; echo three; exit 3";
      assert.equal(await subject.bash(script), "exit code: 3\n\none\ntwo\nthree\n");
      assert.equal(await subject.bash("true"), "exit code: 0\n\n(no output)");
    },
  );

  it("bash runs bash, and messages have the script's own line numbers", async () => {
    // The test reads messages of bash.
    const script = "export LC_ALL=C; [[ a = a ]] && echo ${BASH_VERSION:+bash}\nnosuchprogram";
    const result = await subject.bash(script);
    assert.match(result, /^exit code: 127\n\nbash\n.*: line 2: nosuchprogram: /);
  });

  it("bash takes what no other shell can read, from the first line on", async () => {
    const script = "numbers=(1 2); for ((n = 0; n < 2; n++)); do cat <(echo ${numbers[n]}); done";
    assert.equal(await subject.bash(script), "exit code: 0\n\n1\n2\n");
    const id = await subject.start(script);
    await subject.processes.wait(id);
    assert.equal(await subject.output(id), "exit code: 0\nnext_offset: 4\n\n1\n2\n");
  });

  it("bash leaves no file of what was handed over", async () => {
    const before = subject.kept();
    await subject.bash("echo hello");
    assert.deepEqual(subject.kept(), before);
  });

  it("bash cuts a long output in the middle and keeps all of it in a file", async () => {
    const result = await subject.bash("seq 100000");
    const [path = "", size] = field(result, "full output").split(/ \((\d+) bytes\)/);
    const all = Array.from({ length: 100_000 }, (_, n) => `${n + 1}\n`).join("");
    assert.equal(readFileSync(path, "utf8"), all);
    assert.equal(Number(size), all.length);
    const text = result.slice(result.indexOf("\n\n") + 2);
    assert.ok(text.length <= BUDGET && text.length > BUDGET - 10, result);
    const [head = "", tail = ""] = text.split("\n[… the middle is left out …]\n");
    assert.ok(all.startsWith(head) && all.endsWith(tail), result);
    assert.ok(head.length > BUDGET / 3 && tail.length > BUDGET / 3, result);
  });

  contract(
    "bash says that an output is binary and how long it is, and keeps it in a file",
    async () => {
      const bytes = Uint8Array.from({ length: 50_000 }, (_, n) => 200 + (n % 56));
      const given = subject.path();
      for (const length of [bytes.length, 20]) {
        writeFileSync(given, bytes.subarray(0, length));
        const result = await subject.bash(`cat '${given}'`);
        const [path = "", size] = field(result, "full output").split(/ \((\d+) bytes\)/);
        assert.ok(result.endsWith(`\n\n(binary output: ${length} bytes)`), result);
        assert.deepEqual([Number(size), readFileSync(path)], [length, readFileSync(given)]);
      }
      const id = await subject.start(`echo text; cat '${given}' >&2`);
      const { stdoutPath, stderrPath } = await subject.processes.wait(id);
      const output = await subject.output(id, { stream: "stderr", offset: 4 });
      const head = `exit code: 0\nnext_offset: 20\nfull output: ${stdoutPath}, ${stderrPath}`;
      assert.equal(output, `${head}\n\n(binary output: 16 bytes)`);
      const text = await subject.output(id, { stream: "stdout" });
      assert.equal(text, "exit code: 0\nnext_offset: 5\n\ntext\n");
    },
  );

  it("bash gives an output that is long because of its colours, whole", async () => {
    // More bytes than are read at first, fewer characters than the budget.
    const script = 'for n in {1..150}; do printf "\\033[31m\\033[1m\\033[4m%s" $((n % 10)); done';
    const text = Array.from({ length: 150 }, (_, n) => (n + 1) % 10).join("");
    assert.equal(await subject.bash(script), `exit code: 0\n\n${text}`);
  });

  it("bash says what it leaves running, and that can be stopped", async () => {
    const mark = marker();
    const result = await subject.bash(`export ${Object.keys(mark)}=1; sleep 600 & echo started`);
    assert.match(result, /^exit code: 0\nstill there: .*\(process_id: (\w+)\)\n\nstarted\n$/);
    const [, id] = /process_id: (\w+)/.exec(result) ?? [];
    await until(() => marked(mark).length === 1);
    await subject.call("bash_background_terminate", { process_id: id });
    assert.deepEqual(marked(mark), []);
  });

  it("bash tells of progress while the command runs", async () => {
    for (const [printed, outputBytes, newest, output] of /** @type {const} */ ([
      ["first\\n", 6, "first\n", "first\nlast\n"],
      ["\\377\\376\\000", 3, "(binary output: 3 bytes)", "(binary output: 8 bytes)"],
    ])) {
      const proceed = subject.path();
      const script = `printf '${printed}'; until [ -e '${proceed}' ]; do sleep 0.05; done; echo last`;
      /** @type {import("sandpipe/tools").ToolProgress[]} */
      const seen = [];
      const onProgress = (/** @type {import("sandpipe/tools").ToolProgress} */ progress) => {
        seen.push(progress);
        writeFileSync(proceed, "");
      };
      const result = await subject.bash(script, { onProgress });
      assert.match(result, /^exit code: 0\n/);
      assert.equal(result.slice(result.indexOf("\n\n") + 2), output);
      assert.deepEqual(seen[0], { outputBytes, newest });
    }
  });
}

/** @param {Subject} subject @param {Tests} tests */
function testStops(subject, { it, contract }) {
  it("bash stops a command with all that it started when its time is over, and says so", async () => {
    const mark = marker();
    const [begun, isOver] = [subject.path(), subject.path()];
    const script = `export ${Object.keys(mark)}=1; echo begun; sleep 600 & : >'${begun}'; sleep 600`;
    const [bash] = tools(timedBy(subject.runtime, isOver), { baseDir: subject.baseDir });
    const running = bash.execute({ script, timeout_secs: LONG_SECS });
    await until(() => existsSync(begun));
    writeFileSync(isOver, "");
    const result = await running;
    const head = "exit code: 124 (timed out: it was stopped with all that it had started)";
    assert.equal(result, `${head}\n\nbegun\n`);
    assert.deepEqual(marked(mark), []);
  });

  contract(
    "bash stops a command with all that it started when it is aborted, and says so",
    async () => {
      const mark = marker();
      const ready = subject.path();
      const stop = new AbortController();
      const script = `export ${Object.keys(mark)}=1; echo begun; (sleep 600; :) & : >'${ready}'; sleep 600`;
      const running = subject.bash(script, { signal: stop.signal });
      await until(() => existsSync(ready) && marked(mark).length >= 2);
      stop.abort();
      const head = "exit code: 143 (killed by SIGTERM)\ninterrupted: ";
      const result = await running;
      assert.ok(result.startsWith(head) && result.endsWith("\n\nbegun\n"), result);
      assert.deepEqual(marked(mark), []);
    },
  );

  contract("bash stops a command that is aborted while it is being started", async () => {
    for (const run_in_background of [false, true]) {
      const mark = marker();
      const stop = new AbortController();
      const script = `export ${Object.keys(mark)}=1; sleep 600 & sleep 600`;
      const options = { signal: stop.signal };
      const running = subject.call("bash", { script, run_in_background }, options);
      stop.abort();
      if (run_in_background) assert.ok(interruptedBy(stop.signal.reason)(await failure(running)));
      else assert.match(await running, /^exit code: 143 .*\ninterrupted: /);
      assert.deepEqual(marked(mark), []);
      const names = (await subject.processes.list()).map(({ name }) => name ?? "");
      const listed = names.filter((name) => name.startsWith(script.slice(0, 30)));
      assert.equal(listed.length, run_in_background ? 1 : 0);
    }
  });

  it("bash runs nothing when it was aborted before", async () => {
    const ran = subject.path();
    const reason = new Error("before");
    const running = subject.bash(`: >'${ran}'`, { signal: AbortSignal.abort(reason) });
    assert.ok(interruptedBy(reason)(await failure(running)));
    assert.equal(existsSync(ran), false);
  });
}

/** @param {Subject} subject @param {Tests} tests */
function testBackground(subject, { it, contract }) {
  contract("bash starts a process in the background and returns its id and files", async () => {
    const proceed = subject.path();
    const script = `echo out; echo err >&2; until [ -e '${proceed}' ]; do sleep 0.05; done`;
    const result = await subject.call("bash", { script, run_in_background: true });
    const id = field(result, "process_id");
    await until(() => readFileSync(field(result, "stderr_path"), "utf8") === "err\n");
    assert.equal(readFileSync(field(result, "stdout_path"), "utf8"), "out\n");
    assert.match(await subject.output(id), /^status: running\n/);
    writeFileSync(proceed, "");
    assert.equal((await subject.processes.wait(id)).status, "exited");
  });

  it("bash_background_list has each process with its name and state, as far as there is room", async () => {
    const first = await subject.start("exit 3");
    await subject.processes.wait(first);
    const input = { script: "sleep 600", run_in_background: true, display_name: "a server" };
    const second = field(await subject.call("bash", input), "process_id");

    const [, list] = tools(subject.runtime, { baseDir: subject.baseDir });
    const entries = (await list.execute({})).split("\n\n");
    const entry = (/** @type {string} */ id) => entries.find((one) => one.includes(`: ${id}\n`));
    assert.match(entry(first) ?? "", /^process_id: \w+\ndisplay_name: exit 3\nexit code: 3\n/);
    assert.match(
      entry(second) ?? "",
      /^process_id: \w+\ndisplay_name: a server\nstatus: running\n/,
    );

    const some = await subject.call("bash_background_list", {});
    assert.ok(some.length <= BUDGET, some);
    const shown = some.split("\n\n");
    assert.deepEqual(shown.slice(0, -1), entries.slice(0, shown.length - 1));
    assert.equal(shown.at(-1), `… and ${entries.length - shown.length + 1} older ones`);
    await subject.call("bash_background_terminate", { process_id: second });
  });

  it("bash_background_output gives what is new since the call before", async () => {
    const [one, two] = [subject.path(), subject.path()];
    const id = await subject.start(
      `echo one; until [ -e '${one}' ]; do sleep 0.05; done; echo two >&2; until [ -e '${two}' ]; do sleep 0.05; done; echo three; exit 4`,
    );
    const first = await subject.output(id, { wait_secs: LONG_SECS });
    assert.equal(first, "status: running\nnext_offset: 4\n\none\n");
    assert.equal(
      await subject.output(id, { offset: 4 }),
      "status: running\nnext_offset: 4\n\n(no new output)",
    );
    writeFileSync(one, "");
    assert.equal(
      await subject.output(id, { offset: 4, wait_secs: LONG_SECS }),
      "status: running\nnext_offset: 8\n\ntwo\n",
    );
    writeFileSync(two, "");
    await subject.processes.wait(id);
    assert.equal(
      await subject.output(id, { offset: 8, wait_secs: LONG_SECS }),
      "exit code: 4\nnext_offset: 14\n\nthree\n",
    );
    assert.match(await subject.output(id, { stream: "stderr" }), /\n\ntwo\n$/);
  });

  it("bash_background_output cuts what is long, and names the files that have it", async () => {
    const id = await subject.start("seq 100000");
    const { stdoutPath, stderrPath } = await subject.processes.wait(id);
    const result = await subject.output(id, { offset: 4 });
    assert.equal(field(result, "full output"), `${stdoutPath}, ${stderrPath}`);
    assert.equal(field(result, "next_offset"), "588895");
    assert.match(result, /\n\n3\n4\n[^]*left out[^]*\n100000\n$/);
  });

  it("bash_background_output finds lines, also far behind", async () => {
    const id = await subject.start("seq 300000");
    await subject.processes.wait(id);
    const found = await subject.output(id, { filter: "^29999[89]$" });
    assert.match(found, /^exit code: 0\nnext_offset: \d+\n\n299998\n299999\n$/);
    const none = await subject.output(id, { filter: "x", offset: 1_000_000 });
    assert.match(none, /\n\n\(no such line\)$/);
    const many = await subject.output(id, { filter: "\\d", exclude: true });
    assert.match(many, /\n\n\(no such line\)$/);
    assert.match(
      await subject.output(id, { filter: "1" }),
      /\nnext_offset: \d+ \(there is more\)\n/,
    );
  });

  it("bash_background_output refuses an offset past the end, rather than wait for what is not there", async () => {
    const id = await subject.start("echo one; echo more >&2; sleep 600");
    await subject.output(id, { wait_secs: LONG_SECS, stream: "stdout" });
    await subject.output(id, { wait_secs: LONG_SECS, stream: "stderr" });
    for (const [stream, end] of /** @type {const} */ ([
      ["both", 9],
      ["stdout", 4],
    ])) {
      const there = await subject.output(id, { stream, offset: end });
      assert.match(there, /^status: running\nnext_offset: \d\n\n\(no new output\)$/);
      for (const filter of [undefined, "x"]) {
        const past = subject.output(id, { stream, filter, offset: end + 1, wait_secs: 3600 });
        const error = await failure(past);
        assert.ok(isSandpipeError(error, "invalid_argument"), String(error));
        assert.match(error.message, new RegExp(`but is ${end + 1}: .* ends at ${end}$`));
      }
    }
    await subject.call("bash_background_terminate", { process_id: id });
  });

  contract("bash_background_terminate stops a process with all that it started", async () => {
    const mark = marker();
    const id = await subject.start(`export ${Object.keys(mark)}=1; sleep 600 & sleep 600`);
    await until(() => marked(mark).length === 2);
    const result = await subject.call("bash_background_terminate", { process_id: id });
    assert.match(result, /^exit code: 143 \(killed by SIGTERM\)\n/);
    assert.deepEqual(marked(mark), []);
  });

  contract("names a process that there is not", async () => {
    for (const name of /** @type {const} */ ([
      "bash_background_output",
      "bash_background_terminate",
    ])) {
      const error = await failure(subject.call(name, { process_id: "nobody" }));
      assert.ok(isSandpipeError(error, "not_found"), String(error));
      assert.match(error.message, /"nobody"/);
    }
  });
}
