// @ts-check
// `sandpipe files`: what is in the sandbox.
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "../support/processes.mjs";
import { temporaryDirectory } from "../support/target.mjs";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, env, run, remove } = await installWithAgent();
const directory = temporaryDirectory();
after(async () => {
  await remove();
  rmSync(directory, { recursive: true });
});

let paths = 0;
function newDirectory() {
  const path = join(directory, `d${(paths += 1)}`);
  mkdirSync(path);
  return path;
}

describe("sandpipe files ls", () => {
  it("lists a directory, as a table or as JSON", async () => {
    const path = newDirectory();
    writeFileSync(join(path, "a file"), "12345");
    chmodSync(join(path, "a file"), 0o640);
    mkdirSync(join(path, "deep"));
    writeFileSync(join(path, "deep", "line\nbreak"), "");
    symlinkSync("a file", join(path, "link"));
    const table = await run("files", "ls", "--depth", "2", path);
    assert.equal(table.exitCode, 0, table.stderr);
    const rows = table.stdout.trimEnd().split("\n");
    assert.match(rows[0] ?? "", /^TYPE +MODE +SIZE +CHANGED +NAME$/);
    assert.equal(rows.length, 5);
    assert.match(rows[1] ?? "", /^file +640 +5 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +a file$/);
    assert.match(rows[2] ?? "", /^directory +\d+ +\S+ +deep$/);
    assert.match(rows[3] ?? "", /^file .* deep\/line\\nbreak$/);
    assert.match(rows[4] ?? "", /^symlink .* link -> a file$/);
    const json = await run("files", "ls", "--json", path);
    const names = JSON.parse(json.stdout).map((/** @type {{ name: string }} */ { name }) => name);
    assert.deepEqual(names, ["a file", "deep", "link"]);
  });

  it("says what it can't list", async () => {
    const none = await run("files", "ls", join(directory, "none"));
    assert.equal(none.exitCode, 125);
    assert.match(none.stderr, /404.*none/);
    assert.equal((await run("files", "ls", "--depth", "x")).exitCode, 2);
    assert.equal((await run("files", "list")).exitCode, 2);
  });
});

describe("sandpipe files cat", () => {
  it("writes files to stdout, one after the other", async () => {
    const path = newDirectory();
    writeFileSync(join(path, "a"), "one\n");
    writeFileSync(join(path, "b"), "two é\n");
    const both = await run("files", "cat", join(path, "a"), join(path, "b"));
    assert.deepEqual(both, { exitCode: 0, signal: null, stdout: "one\ntwo é\n", stderr: "" });
    const missing = await run("files", "cat", join(path, "a"), join(path, "c"));
    assert.deepEqual([missing.exitCode, missing.stdout], [125, "one\n"]);
    assert.match(missing.stderr, /404/);
  });
});

describe("sandpipe files rm", () => {
  it("removes files, and directories only with -r", async () => {
    const path = newDirectory();
    for (const name of ["a", "b"]) writeFileSync(join(path, name), "");
    mkdirSync(join(path, "full", "deep"), { recursive: true });
    const some = await run("files", "rm", join(path, "a"), join(path, "full"), join(path, "none"));
    assert.equal(some.exitCode, 1);
    const lines = some.stderr.trimEnd().split("\n").sort();
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", /^sandpipe: .*\/full: .*409/);
    assert.match(lines[1] ?? "", /^sandpipe: .*\/none: .*404/);
    assert.deepEqual(readdirSync(path), ["b", "full"]);
    const rest = await run("files", "rm", "-r", join(path, "b"), join(path, "full"));
    assert.deepEqual(rest, { exitCode: 0, signal: null, stdout: "", stderr: "" });
    assert.deepEqual(readdirSync(path), []);
    assert.equal((await run("files", "rm", "")).exitCode, 2);
    assert.ok(existsSync(path));
  });
});

describe("sandpipe files watch", () => {
  it("shows each change on a line, up to Ctrl+C", async () => {
    const path = newDirectory();
    for (const [options, lines] of /** @type {const} */ ([
      [
        [],
        [
          `add ${path}/new`,
          `rename ${path}/new -> ${path}/line\\nbreak`,
          `remove ${path}/line\\nbreak`,
        ],
      ],
      [
        ["--json"],
        [
          JSON.stringify({ type: "add", path: `${path}/new` }),
          JSON.stringify({ type: "rename", path: `${path}/new`, to: `${path}/line\nbreak` }),
          JSON.stringify({ type: "remove", path: `${path}/line\nbreak` }),
        ],
      ],
    ])) {
      const args = ["files", "watch", "--ignore", "*.log", ...options, path];
      const invocation = await sandpipe.start(args, { env });
      // What changes before it watches is not told.
      await until(() => {
        writeFileSync(join(path, "first"), "");
        rmSync(join(path, "first"));
        return invocation.stdout !== "";
      });
      writeFileSync(join(path, "x.log"), "");
      writeFileSync(join(path, "new"), "");
      renameSync(join(path, "new"), join(path, "line\nbreak"));
      rmSync(join(path, "line\nbreak"));
      for (const line of lines) await until(() => invocation.stdout.includes(`${line}\n`));
      assert.ok(!invocation.stdout.includes("x.log"));
      invocation.child.kill("SIGINT");
      assert.equal((await invocation.end).signal, "SIGINT");
      await invocation.leavesNothing();
      rmSync(join(path, "x.log"));
    }
  });

  it("shows what changes below its directories only with -r", async () => {
    const path = newDirectory();
    mkdirSync(join(path, "deep"));
    for (const [options, last] of /** @type {const} */ ([
      [[], "beside"],
      // Directories are watched one after the other.
      [["-r"], "deep/below"],
    ])) {
      const invocation = await sandpipe.start(["files", "watch", ...options, path], { env });
      await until(() => {
        for (const name of ["deep/below", "beside"]) {
          writeFileSync(join(path, name), "");
          rmSync(join(path, name));
        }
        return invocation.stdout.includes(`remove ${path}/${last}\n`);
      });
      const isTold = invocation.stdout.includes(`remove ${path}/deep/below\n`);
      assert.equal(isTold, options.length > 0, invocation.stdout);
      invocation.child.kill("SIGINT");
      await invocation.end;
    }
  });
});
