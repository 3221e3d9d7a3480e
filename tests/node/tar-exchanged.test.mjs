// @ts-check
// Directories that are exchanged while they are packed or unpacked.
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HeldDirectory } from "../../dist/node/trees/held-directory.js";
import { until } from "../support/processes.mjs";
import { failure } from "../support/script.mjs";
import { newPath, nothing, packTree, piecesOf, tarOf, unpackTree } from "./tree-streams.mjs";
import { described, makeTree } from "./trees.mjs";

describe("a directory that is exchanged for a symbolic link meanwhile", () => {
  /** Moves it away, and has its name lead elsewhere. @param {string} path @param {string} to */
  const exchange = (path, to) => {
    renameSync(path, `${path}, moved`);
    symlinkSync(to, path);
  };

  /** A directory that nothing is to be read or written in. */
  const makeOutside = () => {
    const outside = newPath();
    mkdirSync(outside);
    for (const name of ["b", "c", "large"]) writeFileSync(join(outside, name), `secret ${name}`);
    return outside;
  };

  const large = "y".repeat(500_000);

  it("is packed as it was", async () => {
    const [from, to, outside] = [newPath(), newPath(), makeOutside()];
    mkdirSync(join(from, "d"), { recursive: true });
    for (const name of ["a", "b", "c"]) writeFileSync(join(from, "d", name), `own ${name}`);
    writeFileSync(join(from, "d", "large"), large);
    let packed = 0;
    const stream = packTree(
      from,
      () => false,
      () => {
        packed += 1;
        // The directory, and its first file.
        if (packed === 2) exchange(join(from, "d"), outside);
      },
    );
    await unpackTree(stream, to, nothing);
    assert.deepEqual(readdirSync(join(to, "d")), ["a", "b", "c", "large"]);
    for (const name of ["a", "b", "c"]) {
      assert.equal(readFileSync(join(to, "d", name), "utf8"), `own ${name}`);
    }
    assert.equal(readFileSync(join(to, "d", "large"), "utf8"), large);
  });

  it("is not packed where it was exchanged before it was opened, nor is a file read through a link", async () => {
    const [from, to, outside] = [newPath(), newPath(), makeOutside()];
    mkdirSync(join(from, "d"), { recursive: true });
    writeFileSync(join(from, "a"), "own a");
    writeFileSync(join(from, "large"), large);
    writeFileSync(join(from, "d", "b"), "own b");
    const stream = packTree(
      from,
      () => false,
      () => {
        if (!existsSync(join(from, "d, moved"))) exchange(join(from, "d"), outside);
      },
    );
    const error = await failure(unpackTree(stream, to, nothing));
    assert.match(error.message, /d is a symbolic link: nothing is read or written through it/);
    assert.deepEqual(readdirSync(to), []);
    // Its header is sent before it is read.
    const whole = [];
    for await (const chunk of packTree(
      from,
      (/** @type {string} */ name) => name !== "large",
      nothing,
    )) {
      if (whole.length === 0) exchange(join(from, "large"), join(outside, "large"));
      whole.push(chunk);
    }
    const other = newPath();
    await unpackTree(piecesOf(Buffer.concat(whole)), other, nothing);
    assert.equal(readFileSync(join(other, "large"), "utf8"), large);
  });

  it("is unpacked into where it is by then, and nothing into what the link leads to", async () => {
    const [to, outside] = [newPath(), makeOutside()];
    const before = described(outside);
    const bytes = await tarOf([
      [{ name: "d/", type: "directory", mode: 0o750 }],
      [{ name: "d/a", type: "file" }, "own a"],
      [{ name: "d/b", type: "file" }, "own b"],
      [{ name: "d/large", type: "file" }, large],
      [{ name: "d/link", type: "symlink", linkname: "b" }],
      [{ name: "d/hard", type: "link", linkname: "d/b" }],
      [{ name: "d/sub/", type: "directory" }],
      [{ name: "d/sub/c", type: "file" }, "own c"],
    ]);
    let unpacked = 0;
    await unpackTree(piecesOf(bytes), to, () => {
      unpacked += 1;
      if (unpacked === 2) exchange(join(to, "d"), outside);
    });
    assert.deepEqual(described(outside), before);
    const moved = join(to, "d, moved");
    assert.deepEqual(readdirSync(moved), ["a", "b", "hard", "large", "link", "sub"]);
    assert.equal(readFileSync(join(moved, "hard"), "utf8"), "own b");
    assert.equal(readFileSync(join(moved, "sub", "c"), "utf8"), "own c");
  });

  it("sets modes and times of no directory that a link leads to", async () => {
    const [to, outside] = [newPath(), makeOutside()];
    mkdirSync(join(outside, "other"), { mode: 0o700 });
    const before = described(outside);
    const bytes = await tarOf([
      [{ name: "d/", type: "directory", mode: 0o777 }],
      [{ name: "d/other/", type: "directory", mode: 0o777 }],
      [{ name: "z", type: "file" }, "z"],
    ]);
    let unpacked = 0;
    const unpacking = unpackTree(piecesOf(bytes), to, () => {
      unpacked += 1;
      if (unpacked === 3) exchange(join(to, "d"), outside);
    });
    const error = await failure(unpacking);
    assert.match(error.message, /d is a symbolic link/);
    assert.deepEqual(described(outside), before);
  });

  it("is told by its device and inode where a system has no paths of descriptors", async () => {
    const [path, outside] = [newPath(), makeOutside()];
    mkdirSync(join(path, "d"), { recursive: true });
    const root = HeldDirectory.hold(path, false);
    const directory = root.open("d");
    assert.equal(directory.path("a"), join(path, "d", "a"));
    exchange(join(path, "d"), outside);
    assert.throws(() => directory.path("a"), /d is a symbolic link/);
    assert.throws(() => root.open("d"), /d is a symbolic link/);
    rmSync(join(path, "d"));
    mkdirSync(join(path, "d"));
    assert.throws(() => directory.path("a"), /was exchanged for another directory meanwhile/);
    renameSync(path, `${path}, moved`);
    mkdirSync(path);
    assert.throws(() => root.path("a"), /was exchanged for another directory meanwhile/);
  });

  it("has errors that name it, and not its descriptor", async () => {
    const to = newPath();
    mkdirSync(join(to, "d", "taken"), { recursive: true });
    const bytes = await tarOf([[{ name: "d/taken", type: "file" }, "x"]]);
    const error = await failure(unpackTree(piecesOf(bytes), to, nothing));
    assert.match(error.message, /d\/taken'$/);
    assert.ok(error.message.includes(to) && !error.message.includes("/proc/"), error.message);
  });

  it("is let go of, whatever becomes of the tree", async () => {
    const open = () => readdirSync("/proc/self/fd").length;
    const from = newPath();
    makeTree(from, 50, "held");
    const before = open();
    const chunks = [];
    for await (const chunk of packTree(from, () => false, nothing)) chunks.push(chunk);
    const cut = packTree(from, () => false, nothing);
    await once(cut, "readable");
    cut.destroy();
    const bytes = Buffer.concat(chunks);
    await unpackTree(piecesOf(bytes), newPath(), nothing);
    await failure(unpackTree(piecesOf(bytes.subarray(0, 20_000)), newPath(), nothing));
    await until(() => open() <= before);
  });
});
