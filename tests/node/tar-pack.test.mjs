// @ts-check
// Trees of this machine as tar streams; the other side is the system's tar.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, it } from "node:test";

import { extract } from "tar-stream";

import { excludedBy } from "../../dist/node/trees/exclude.js";
import { headerOf } from "../../dist/node/trees/header.js";
import { safeName } from "../../dist/node/trees/safe-name.js";
import { failure } from "../support/script.mjs";
import { newPath, nothing, packTree, piecesOf, unpackTree } from "./tree-streams.mjs";
import { described, makeTree } from "./trees.mjs";

describe("a tree that is packed", () => {
  it("is the same when the system's tar has unpacked it", async () => {
    const [from, to] = [newPath(), newPath()];
    makeTree(from, 300, "pack");
    mkdirSync(to);
    const tar = spawn("tar", ["-xpf", "-", "-C", to], { stdio: ["pipe", "inherit", "inherit"] });
    const closed = once(tar, "close");
    let files = 0;
    const stream = packTree(
      from,
      () => false,
      ({ isFile }) => (files += isFile ? 1 : 0),
    );
    await pipeline(stream, tar.stdin);
    assert.deepEqual(await closed, [0, null]);
    assert.deepEqual(described(to), described(from));
    assert.equal(files, 300);
  });

  it("has times from before 1970, with their fractions", async () => {
    const [from, to] = [newPath(), newPath()];
    for (const path of [from, to]) mkdirSync(path);
    for (const time of [-1, -0.25, -1.5, -1e9, 0]) {
      writeFileSync(join(from, `at ${time}`), "");
      // A negative number would be the current time.
      const date = new Date(time * 1000);
      utimesSync(join(from, `at ${time}`), date, date);
    }
    const chunks = [];
    for await (const chunk of packTree(from, () => false, nothing)) chunks.push(chunk);
    const { status } = spawnSync("tar", ["-xf", "-", "-C", to], { input: Buffer.concat(chunks) });
    assert.equal(status, 0);
    assert.deepEqual(described(to), described(from));
    const here = newPath();
    await unpackTree(piecesOf(Buffer.concat(chunks)), here, nothing);
    assert.deepEqual(described(here), described(from));
  });

  it("has sizes for which a header has no digits", async () => {
    for (const size of [8 ** 11 - 1, 8 ** 11, 2 ** 50]) {
      const file = { type: /** @type {const} */ ("file"), mode: 0o644, linkTarget: "" };
      const archive = extract();
      archive.write(headerOf({ ...file, name: "large", mtimeNs: 0n, size }));
      const [header] = await once(archive, "entry");
      assert.equal(header.size, size);
      archive.destroy();
    }
  });

  it("has not what is excluded", async () => {
    const [from, to] = [newPath(), newPath()];
    for (const path of [
      "a/node_modules/x",
      "a/b/c.log",
      "a/b/keep",
      "node_modules/y",
      "c.log",
      "d/e/f",
    ]) {
      mkdirSync(join(from, path, ".."), { recursive: true });
      writeFileSync(join(from, path), path);
    }
    const patterns = ["node_modules", "a/**/*.log", "d/e"];
    await unpackTree(packTree(from, excludedBy(patterns), nothing), to, nothing);
    assert.deepEqual(Object.keys(described(to)), ["a", "a/b", "a/b/keep", "c.log", "d"]);
  });

  it("fails with the file that can't be read", async () => {
    const from = newPath();
    mkdirSync(from);
    const name = Buffer.from([0x61, 0xff]);
    writeFileSync(Buffer.concat([Buffer.from(`${from}/`), name]), "");
    const error = await failure(
      unpackTree(
        packTree(from, () => false, nothing),
        newPath(),
        nothing,
      ),
    );
    assert.match(error.message, /its name is not UTF-8/);
    const other = newPath();
    mkdirSync(other);
    symlinkSync(name, join(other, "link"));
    const stream = packTree(other, () => false, nothing);
    const wrong = await failure(unpackTree(stream, newPath(), nothing));
    assert.match(wrong.message, /link: the target of the link is not UTF-8/);
  });
});

describe("patterns", () => {
  for (const [pattern, fits, fitsNot] of /** @type {const} */ ([
    ["*.log", ["a.log", "x/y/.log"], ["a.logs", "a.log/b"]],
    ["a/*", ["a/b"], ["a/b/c", "x/a/b", "a"]],
    ["**/b", ["b", "a/b", "a/c/b"], ["ab", "a/b/c"]],
    ["a/**", ["a/b", "a/b/c"], ["a", "ab/c"]],
    ["a/**/b", ["a/b", "a/x/y/b"], ["ab", "a/xb"]],
    ["/a/", ["a"], ["b/a"]],
    ["a?c", ["abc", "x/a€c"], ["a/c", "ac"]],
    ["[x](y)+.", ["[x](y)+."], ["x"]],
  ])) {
    it(`${pattern} fits ${fits.join(", ")}`, () => {
      const isExcluded = excludedBy([pattern]);
      for (const path of fits) assert.equal(isExcluded(path), true, path);
      for (const path of fitsNot) assert.equal(isExcluded(path), false, path);
    });
  }
});

describe("a name that is unpacked", () => {
  it("is one that a file can have, and inside of the directory", () => {
    for (const name of [
      "a",
      "a/b",
      "./a//b/",
      "..double",
      "a..",
      "ends with dot.",
      "back\\slash",
    ]) {
      assert.equal(safeName(name, "linux"), name.replace("./a//b/", "a/b"));
    }
    for (const name of ["a", "a/b.txt", "con-fig", "nullable", "com10", "auxiliary.c", ".hidden"]) {
      assert.equal(safeName(name, "win32"), name);
    }
    for (const platform of ["linux", "win32"]) {
      for (const name of ["..", "a/../..", "/a", "/", "a\0b"]) {
        assert.throws(() => safeName(name, platform), /is outside of the directory/, name);
      }
    }
  });

  it("is not one that means something else on Windows", () => {
    for (const name of [
      "..\\..\\evil.bat",
      "a\\b",
      "C:\\evil",
      "c:evil",
      "file:stream",
      "a/nul",
      "CON",
      "con.txt",
      "Com1 .x",
      "LPT9",
      "com\u00b9",
      "conin$",
      "ends with dot.",
      "ends with space ",
      "a./b",
      "tab\t",
      "what?",
      "*",
    ]) {
      assert.throws(() => safeName(name, "win32"), /not one that a file can have on Windows/, name);
    }
  });
});
