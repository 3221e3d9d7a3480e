// @ts-check
// What a model reads where a tool fails: nothing that only a caller of the package could do.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import {
  BackgroundError,
  connect,
  HttpError,
  InvalidArgumentError,
  isSandpipeError,
  NotFoundError,
  OutputLimitError,
  SshError,
} from "sandpipe";
import { localRuntime, startAgent } from "sandpipe/node";

import { temporaryDirectory } from "../support/target.mjs";
import { failure } from "../support/script.mjs";
import { background, tools } from "./subject.mjs";

/** @import { Runtime } from "sandpipe" */

// The tests read messages of shells and programs.
process.env["LC_ALL"] = "C";

const directory = temporaryDirectory();
after(() => rmSync(directory, { recursive: true }));

let directories = 0;
const newBaseDir = () => join(directory, String((directories += 1)));

/** Names that a model has no use for: functions, methods, options and fields of the package. */
const FOREIGN = [
  /\w\(\)/,
  /\w\("/,
  /\b(?:execs|sessions|background|options|opts|sandbox|runtime|agent)\.\w/,
  /\b[a-z]+[A-Z]\w*\b/,
  /--\w/,
  /terminate it first/i,
];

/** What looks like such a name and is none. */
const OWN = /JavaScript|\bstdout_path\b/g;

/** Asserts that a text names tools and their parameters alone. @param {string} text */
function isForModels(text) {
  const words = text.replaceAll(directory, "").replaceAll(OWN, "");
  for (const pattern of FOREIGN) assert.doesNotMatch(words, pattern);
  for (const [name] of text.matchAll(/\b(?:bash|file)_\w+/g)) {
    assert.ok(NAMES.includes(name), `there is a tool ${name}: ${text}`);
  }
}

const NAMES = tools(localRuntime()).map(({ name }) => String(name));

/**
 * The error that a call fails with, its message checked.
 *
 * @param {Promise<unknown>} call
 */
async function refusal(call) {
  const error = await failure(call);
  isForModels(error.message);
  if (isSandpipeError(error) && error.hint !== undefined) isForModels(error.hint);
  return error;
}

describe("what a tool says of itself", () => {
  it("names tools and parameters that there are", () => {
    for (const { description, inputSchema } of tools(localRuntime())) {
      isForModels(description);
      for (const property of Object.values(inputSchema.properties)) {
        isForModels(property.description);
      }
    }
  });
});

describe("the message of a tool that fails", () => {
  const [bash, list, output, terminate] = tools(localRuntime(), { baseDir: newBaseDir() });

  for (const process_id of ["nobody", "../x", "", "-x", "a/b", "x".repeat(300)]) {
    it(`says that there is no process ${JSON.stringify(process_id.slice(0, 20))}`, async () => {
      for (const tool of [output, terminate]) {
        const error = await refusal(tool.execute({ process_id }));
        if (process_id === "") assert.ok(error instanceof InvalidArgumentError, String(error));
        else {
          assert.ok(error instanceof NotFoundError, String(error));
          assert.match(error.message, /^there is no process ".*"\. bash_background_list shows/);
        }
      }
    });
  }

  it("says which parameter is wrong, and what it was", async () => {
    const id = /process_id: (\w+)/.exec(
      await bash.execute({ script: "true", run_in_background: true }),
    )?.[1];
    for (const [tool, input, message] of /** @type {const} */ ([
      [bash, { script: "true", timeout_secs: -1 }, /`timeout_secs` must be .* but is -1/],
      [bash, { script: "true", timeout_secs: NaN }, /`timeout_secs` must be .* but is NaN/],
      [bash, { script: "true", timeout_secs: "5" }, /`timeout_secs` must be .* but is "5"/],
      [output, { process_id: id, wait_secs: -1 }, /`wait_secs` must be .* but is -1/],
      [output, { process_id: id, wait_secs: Infinity }, /`wait_secs` must be .* but is Infinity/],
      [output, { process_id: id, offset: -1 }, /`offset` must be .* but is -1/],
      [output, { process_id: id, offset: 2 ** 60 }, /`offset` must be .* but is 115/],
      [output, { process_id: id, offset: 7 }, /`offset` must be .* but is 7: the output ends at 0/],
      [output, { process_id: id, filter: "(" }, /`filter` must be .* but is "\(": .*Unterminated/],
      [output, { process_id: id, exclude: true }, /`exclude` must be left out/],
      [bash, { script: "true", display_name: "a\ud800" }, /`display_name` must be text without/],
    ])) {
      const error = await refusal(tool.execute(input));
      assert.ok(error instanceof InvalidArgumentError, String(error));
      assert.match(error.message, message);
    }
  });

  it("says of a file what is wrong with it, and which tool helps", async () => {
    const [, , , , read, write, edit, list] = tools(localRuntime(), { baseDir: newBaseDir() });
    const path = join(directory, "a file");
    writeFileSync(path, "one\ntwo\n");
    for (const [tool, input, message] of /** @type {const} */ ([
      [read, { path: join(directory, "none") }, /there is no ".*none"\. file_list shows/],
      [read, { path: directory }, /is a directory: file_list shows/],
      [read, { path, start_line: 0 }, /`start_line` must be a whole number from 1 on, but is 0/],
      [
        read,
        { path, start_line: 9 },
        /`start_line` must be a line of the file, but is 9: it has 2/,
      ],
      [write, { path: directory, content: "" }, /is a directory: name a file in it/],
      [
        edit,
        { path, old_text: "", new_text: "x" },
        /`old_text` must be a string that is not empty/,
      ],
      [edit, { path, old_text: "three", new_text: "x" }, /not in it.*file_read shows/],
      [list, { path }, /is no directory: file_read shows/],
      [list, { depth: 65 }, /`depth` must be a whole number from 1 to 64/],
    ])) {
      const error = await refusal(tool.execute(input));
      assert.ok(error instanceof InvalidArgumentError, String(error));
      assert.match(error.message, message);
    }
    const below = await refusal(write.execute({ path: join(path, "below"), content: "" }));
    assert.ok(below instanceof BackgroundError, String(below));
    assert.match(below.message, /below: .*(exists|[Nn]ot a directory)/);
  });

  it("counts in the script as it was given", async () => {
    const error = await refusal(bash.execute({ script: "echo one\necho é😀\0 two" }));
    assert.match(error.message, /`script` must be text without NUL.* in line 2, character 8$/);
    const syntax = await bash.execute({ script: "echo one\nif true\necho (" });
    assert.match(syntax, /: line 3: syntax error/);
    const background = { script: "echo one\n\nnosuchprogram", run_in_background: true };
    const id = /process_id: (\w+)/.exec(await bash.execute(background))?.[1];
    const read = { process_id: id, wait_secs: 600, stream: "stderr" };
    assert.match(await output.execute(read), /: line 3: nosuchprogram: /);
  });

  it("says of what still runs how it is stopped", async () => {
    const result = await bash.execute({ script: "sleep 600 & echo started" });
    isForModels(result);
    assert.match(result, /\nstill there: .*bash_background_terminate stops it \(process_id: \w+\)/);
    const id = /process_id: (\w+)/.exec(result)?.[1];
    const first = await terminate.execute({ process_id: id });
    assert.equal(await terminate.execute({ process_id: id }), first);
    isForModels(first);
  });

  it("is one that a model understands where a process was removed meanwhile", async () => {
    const baseDir = newBaseDir();
    const [bash, , output, terminate] = tools(localRuntime(), { baseDir });
    const started = await bash.execute({ script: "exit 3", run_in_background: true });
    const process_id = /process_id: (\w+)/.exec(started)?.[1] ?? "";
    const processes = background(localRuntime(), { baseDir, namespace: "tools" });
    await processes.wait(process_id);
    await processes.remove(process_id);
    for (const tool of [output, terminate]) {
      const error = await refusal(tool.execute({ process_id }));
      assert.ok(error instanceof NotFoundError && error.id === process_id, String(error));
    }
  });

  it("says of a directory that can't be trusted that a person has to see to it", async () => {
    const link = newBaseDir();
    const file = newBaseDir();
    mkdirSync(`${link}.target`);
    symlinkSync(`${link}.target`, link);
    writeFileSync(file, "");
    for (const baseDir of [link, file]) {
      for (const tool of tools(localRuntime(), { baseDir }).slice(0, 2)) {
        const error = await refusal(tool.execute(tool.name === "bash" ? { script: "true" } : {}));
        assert.ok(error instanceof BackgroundError, String(error));
        assert.match(error.message, /is (a symbolic link|not a directory)\. .*tell the user$/);
        assert.ok(isSandpipeError(error.cause, "background") && error.cause.reason === "untrusted");
      }
    }
  });

  it("says that the agent can't be reached, or refuses", async (t) => {
    const agent = await startAgent();
    t.after(() => agent.stop());
    const refused = await connect({ url: agent.url, token: "wrong" });
    for (const call of [
      () => tools(refused)[1].execute({}),
      () => tools(refused)[0].execute({ script: "true" }),
      () => tools(refused)[0].execute({ script: "true", run_in_background: true }),
    ]) {
      const wrong = await refusal(call());
      assert.match(wrong.message, /^create exec: the agent answered 401.* tell the user$/);
      assert.doesNotMatch(wrong.message, /still run|shows whether/);
    }
    await agent.stop();
    const gone = await connect({ ...agent, retry: { maxAttempts: 1 } });
    const none = await refusal(tools(gone)[1].execute({}));
    assert.match(none.message, /no answer from http.* tell the user$/);
    const never = await refusal(tools(gone)[0].execute({ script: "true" }));
    assert.match(never.message, /no answer from http.* tell the user$/);
    assert.doesNotMatch(never.message, /still run|shows whether/);
  });

  it("says that a script may run whose start was not answered, and of one that was never started nothing", async () => {
    /** @type {(run: Runtime["run"]) => Promise<string>} */
    const message = async (run) => {
      const [bash] = tools({ run }, { baseDir: newBaseDir() });
      return (await refusal(bash.execute({ script: "true" }))).message;
    };
    const details = { status: 401, operation: "stream output" };
    const shows = /may still run .*bash_background_list shows whether it runs \(process_id: \w+\)/;
    assert.match(await message(() => Promise.reject(new Error("the line is dead"))), shows);
    // What is refused then was not the start.
    const later = await message(() => Promise.reject(new HttpError("answered 401", details)));
    assert.match(later, /may still run .*answered 401.* tell the user$/);
    const never = await message(() => Promise.reject(new InvalidArgumentError("a wrong argument")));
    assert.match(never, /^a wrong argument/);
    assert.doesNotMatch(never, /still run|shows whether/);
    const noShell = localRuntime({ shell: "/nonexistent/shell" });
    const absent = failure(tools(noShell)[0].execute({ script: "true" }));
    assert.match((await absent).message, /^spawn \/nonexistent\/shell ENOENT$/);
  });

  it("is one that a model understands whatever a runtime fails with", async () => {
    const details = { execId: "x", output: "", hint: "Read it with execs.streamOutput()." };
    const failures = [
      new OutputLimitError(`the output is too long. ${details.hint}`, details),
      new SshError("the connection was lost. Check `identityFile`.", {
        ...{ host: "h", mayHaveRun: true, output: "", hint: "Check `identityFile`." },
      }),
    ];
    for (const thrown of failures) {
      const here = localRuntime();
      for (const fails of [0, 1, 2]) {
        let scripts = 0;
        /** @type {Runtime} */
        const breaking = {
          run: async (script, opts) => {
            if (scripts++ === fails) throw thrown;
            return here.run(script, opts);
          },
        };
        const [bash] = tools(breaking, { baseDir: newBaseDir() });
        const outcome = bash.execute({ script: "true" });
        // After its end its files may stay, which the result says.
        const text = await outcome.then(
          (result) => result,
          (error) => {
            assert.ok(error instanceof BackgroundError, String(error));
            return error.message;
          },
        );
        isForModels(text);
      }
    }
    isForModels(await list.execute({}));
  });
});

describe("a filter", () => {
  it("is tried on the lines that a model is shown", async () => {
    const baseDir = newBaseDir();
    const [bash, , output] = tools(localRuntime(), { baseDir });
    const script = String.raw`printf '\033[31merror\033[0m: red\r\n10%%\r20%%\rdone\nother\342\200\250line\nerror'`;
    const started = await bash.execute({ script, run_in_background: true });
    const process_id = /process_id: (\w+)/.exec(started)?.[1] ?? "";
    const found = async (/** @type {object} */ input) =>
      (await output.execute({ process_id, ...input })).split("\n\n")[1];
    // Until its end the last line, which is unfinished, is held back.
    await background(localRuntime(), { baseDir, namespace: "tools" }).wait(process_id);
    assert.equal(await found({ filter: "^error: red$" }), "error: red\n");
    assert.equal(await found({ filter: "^20%$" }), "20%\n");
    assert.equal(await found({ filter: "^error" }), "error: red\nerror");
    assert.equal(await found({ filter: "^(error|\\d)", exclude: true }), "done\nother\u2028line\n");
  });
});
