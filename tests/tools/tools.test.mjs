// @ts-check
// What the tools are, whatever they work over.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import Ajv from "ajv";
import { BackgroundError, InvalidArgumentError } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { temporaryDirectory } from "../support/target.mjs";
import { failure } from "../support/script.mjs";
import { until } from "../support/processes.mjs";
import { background, field, tools } from "./subject.mjs";
import { interruptedBy } from "../support/interrupted.mjs";

const directory = temporaryDirectory();
after(() => rmSync(directory, { recursive: true }));

let directories = 0;
const newBaseDir = () => join(directory, String((directories += 1)));

describe("a tool's input", () => {
  const all = tools(localRuntime(), { baseDir: newBaseDir() });
  const [bash, , output] = all;

  it("has a schema that is one", () => {
    const ajv = new Ajv.default({ strict: true });
    for (const { name, inputSchema } of all) {
      assert.ok(ajv.validateSchema(inputSchema), name);
      ajv.compile(inputSchema);
    }
  });

  // The program has nothing else than the schema to go by: both say the same of what is wrong.
  for (const [tool, input, message] of /** @type {const} */ ([
    [bash, undefined, "it must be an object, but is undefined"],
    [bash, [], "it must be an object, but is []"],
    [bash, {}, "`script` is missing: The script, of any length."],
    [bash, { script: 1 }, "`script` must be a string that is not empty, but is 1"],
    [bash, { script: "" }, '`script` must be a string that is not empty, but is ""'],
    [
      bash,
      { script: "true", timeout_secs: 0 },
      "`timeout_secs` must be a number from 0.001 to 604800, but is 0",
    ],
    [
      bash,
      { script: "true", run_in_background: "yes" },
      '`run_in_background` must be true or false, but is "yes"',
    ],
    [
      bash,
      { script: "true", timeout: 3 },
      "there is no `timeout`, only `script`, `timeout_secs`, `run_in_background`, `display_name`",
    ],
    [
      output,
      { process_id: "x", offset: 1.5 },
      "`offset` must be a whole number from 0 on, but is 1.5",
    ],
    [
      output,
      { process_id: "x", stream: "stdin" },
      '`stream` must be one of "both", "stdout", "stderr", but is "stdin"',
    ],
  ])) {
    it(`is refused where it is ${JSON.stringify(input)}`, async () => {
      const error = await failure(tool.execute(input));
      assert.ok(error instanceof InvalidArgumentError, String(error));
      assert.equal(error.message, `\`${tool.name}\` can't take this input: ${message}`);
      const validate = new Ajv.default().compile(tool.inputSchema);
      assert.equal(validate(input), false);
    });
  }

  it("is refused in words, also where it is nothing that JSON has", async () => {
    /** @type {Record<string, unknown>} */
    const ring = {};
    ring["ring"] = ring;
    for (const [timeout_secs, shown] of [
      [NaN, "NaN"],
      [1n, "1"],
      [{ one: 1n }, "object"],
      [ring, "object"],
    ]) {
      const error = await failure(bash.execute({ script: "true", timeout_secs }));
      assert.ok(error instanceof InvalidArgumentError, String(error));
      assert.match(error.message, new RegExp(`to 604800, but is ${shown}$`));
    }
  });

  it("is refused with all that is wrong with it", async () => {
    const error = await failure(bash.execute({ scrip: "x", timeout_secs: "1" }));
    assert.match(error.message, /`scrip`.*`script` is missing.*`timeout_secs` must/);
  });
});

describe("the options of tools", () => {
  for (const [options, message] of /** @type {[any, RegExp][]} */ ([
    [{ maxOutputChars: 99 }, /`options.maxOutputChars` must be .* from 100 to 16000000, but is 99/],
    [{ maxOutputChars: Number.MAX_SAFE_INTEGER }, /`options.maxOutputChars` must be /],
    [{ timeoutSecs: 604_801 }, /`options.timeoutSecs` must be .* to 604800, but is 604801/],
    [{ timeoutSecs: "1" }, /`options.timeoutSecs` must be .*, but is string/],
    [{ budget: 1 }, /no other fields than .*, but is one with "budget"/],
  ])) {
    it(`are refused where they are ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => tools(localRuntime(), options),
        (error) => error instanceof InvalidArgumentError && message.test(error.message),
      );
    });
  }

  it("can set the timeout of a command that names none", async () => {
    const [bash] = tools(localRuntime(), { baseDir: newBaseDir(), timeoutSecs: 1 });
    assert.match(await bash.execute({ script: "sleep 600" }), /^exit code: 124 \(timed out/);
  });
});

it("a command whose target is lost is named, and goes on", async () => {
  const here = localRuntime();
  const baseDir = newBaseDir();
  let scripts = 0;
  /** @type {import("sandpipe").Runtime} */
  const breaking = {
    run: async (script, opts) => {
      scripts += 1;
      // The first one starts the command.
      if (scripts > 1) throw new Error("the line is dead");
      return here.run(script, opts);
    },
  };
  const [bash] = tools(breaking, { baseDir });
  const error = await failure(bash.execute({ script: "sleep 600" }));
  assert.ok(error instanceof BackgroundError, String(error));
  assert.match(
    error.message,
    /^the line is dead\. The command may still run: its process_id is \w+/,
  );

  const [, list, , terminate] = tools(here, { baseDir });
  const listed = await list.execute({});
  assert.equal(field(listed, "process_id"), error.id);
  assert.match(listed, /^status: running$/m);
  await terminate.execute({ process_id: error.id });
});

it("what is started in the background is stopped when the call is aborted before its answer", async () => {
  const here = localRuntime();
  const baseDir = newBaseDir();
  const stop = new AbortController();
  let scripts = 0;
  /** @type {import("sandpipe").Runtime} */
  const aborting = {
    run: async (script, opts) => {
      scripts += 1;
      // It has been started by then.
      if (scripts === 2) stop.abort();
      return here.run(script, opts);
    },
  };
  const [bash] = tools(aborting, { baseDir });
  const input = { script: "sleep 600", run_in_background: true };
  const error = await failure(bash.execute(input, { signal: stop.signal }));
  assert.ok(interruptedBy(stop.signal.reason)(error));
  const [, list] = tools(here, { baseDir });
  assert.match(await list.execute({}), /^exit code: 143 /m);
});

it("a name is one short line of the list, whatever it is", async () => {
  const baseDir = newBaseDir();
  const [bash, list] = tools(localRuntime(), { baseDir });
  const display_name = `a\r\nstatus: running\u001b[2J ${"x".repeat(50_000)}`;
  const input = { script: "exit 3", run_in_background: true, display_name };
  const id = field(await bash.execute(input), "process_id");
  await background(localRuntime(), { baseDir, namespace: "tools" }).wait(id);
  const [first, second, third] = (await list.execute({})).split("\n");
  assert.equal(first, `process_id: ${id}`);
  assert.equal(second, `display_name: a status: running ${"x".repeat(61)}…`);
  assert.equal(third, "exit code: 3");
});

it("of the processes that have ended, the newest 50 are kept", async () => {
  const baseDir = newBaseDir();
  const [bash, , , terminate] = tools(localRuntime(), { baseDir });
  const processes = background(localRuntime(), { baseDir, namespace: "tools" });
  const running = await bash.execute({ script: "sleep 600", run_in_background: true });
  const oldest = await processes.spawn("true");
  const { exitedAt = "" } = await processes.wait(oldest.id);
  // Times are kept in whole seconds.
  await until(() => Date.now() >= Date.parse(exitedAt) + 1000);
  for (let n = 0; n < 49; n += 1) await processes.wait((await processes.spawn("true")).id);
  const before = (await processes.list()).map(({ id }) => id);
  assert.equal(before.length, 51);

  assert.match(await bash.execute({ script: "seq 100000" }), /^full output: /m);
  const kept = (await processes.list()).map(({ id }) => id);
  assert.deepEqual(
    before.filter((id) => !kept.includes(id)),
    [oldest.id],
  );
  const id = field(running, "process_id");
  await terminate.execute({ process_id: id });
});
