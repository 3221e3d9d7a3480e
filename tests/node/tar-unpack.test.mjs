// @ts-check
// Tar streams as trees of this machine; the other side is the system's tar.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { failure } from "../support/script.mjs";
import {
  directories,
  directory,
  newPath,
  nothing,
  packTree,
  piecesOf,
  tarOf,
  unpackTree,
} from "./tree-streams.mjs";
import { described, makeTree } from "./trees.mjs";

describe("a tree that is unpacked", () => {
  it("is the same as the one that the system's tar has packed", async () => {
    const [from, to] = [newPath(), newPath()];
    makeTree(from, 300, "unpack");
    const args = ["-cf", "-", "--format=pax", "-C", from, "."];
    const tar = spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] });
    await unpackTree(tar.stdout, to, nothing);
    assert.deepEqual(described(to), described(from));
    // Once more, over what is there.
    const again = spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] });
    await unpackTree(again.stdout, to, nothing);
    assert.deepEqual(described(to), described(from));
  });

  it("is nowhere but in its directory, whatever names and links say", async () => {
    const outside = newPath();
    mkdirSync(outside);
    const file = { type: "file", mode: 0o644 };
    for (const entries of /** @type {[object, string?][][]} */ ([
      [[{ ...file, name: `${outside}/absolute` }, "x"]],
      [[{ ...file, name: "a/../../out" }, "x"]],
      [
        [{ name: "link", type: "symlink", linkname: outside }],
        [{ ...file, name: "link/through" }, "x"],
      ],
      [
        [{ name: "d/", type: "directory" }],
        [{ ...file, name: "d/first" }, "x"],
        [{ name: "d", type: "symlink", linkname: outside }],
        [{ ...file, name: "d/second" }, "x"],
      ],
      [[{ name: "hard", type: "link", linkname: "../../etc/passwd" }]],
      [
        [{ name: "link", type: "symlink", linkname: outside }],
        [{ name: "link/", type: "directory", mode: 0o777 }],
      ],
    ])) {
      const to = join(newPath(), "in");
      const error = await failure(unpackTree(piecesOf(await tarOf(entries)), to, nothing));
      assert.ok(error instanceof Error, JSON.stringify(entries));
      assert.deepEqual(readdirSync(outside), []);
      assert.deepEqual(readdirSync(join(to, "..")), ["in"]);
    }
  });

  it("does not go through a link that was there before", async () => {
    const [to, outside] = [newPath(), newPath()];
    mkdirSync(to);
    mkdirSync(outside);
    symlinkSync(outside, join(to, "link"));
    const bytes = await tarOf([[{ name: "link/file", type: "file" }, "x"]]);
    const error = await failure(unpackTree(piecesOf(bytes), to, nothing));
    assert.match(error.message, /is a symbolic link: nothing is read or written through it/);
    assert.deepEqual(readdirSync(outside), []);
    // One that the file's name itself has is replaced.
    await unpackTree(piecesOf(await tarOf([[{ name: "link", type: "file" }, "x"]])), to, nothing);
    assert.equal(readFileSync(join(to, "link"), "utf8"), "x");
    assert.deepEqual(readdirSync(outside), []);
  });

  it("has each file whole or as it was, and nothing beside, wherever the stream is cut", async () => {
    const to = newPath();
    /** @type {[object, string][]} */
    const entries = Array.from({ length: 12 }, (_, n) => {
      const content = `${n}`.repeat(n === 5 ? 200_000 : 3000);
      return [{ name: `f${n}`, type: "file", mode: 0o644 }, content];
    });
    const bytes = await tarOf(entries);
    mkdirSync(to);
    for (let n = 0; n < 12; n += 1) writeFileSync(join(to, `f${n}`), "old");
    for (let cut = 100; cut < bytes.length - 1024; cut += 9973) {
      const cutOff = new Error("cut");
      const broken = async function* () {
        yield* piecesOf(bytes.subarray(0, cut), 4096);
        throw cutOff;
      };
      assert.equal(await failure(unpackTree(broken(), to, nothing)), cutOff);
      assert.deepEqual(readdirSync(to).sort(), entries.map((_, n) => `f${n}`).sort());
      for (const [n, [, content]] of entries.entries()) {
        const found = readFileSync(join(to, `f${n}`), "utf8");
        assert.ok(found === "old" || found === content, `f${n} at ${cut}`);
      }
      // An end that comes too early is no end.
      const early = await failure(unpackTree(piecesOf(bytes.subarray(0, cut), 4096), to, nothing));
      assert.ok(early instanceof Error);
    }
  });

  it("is whole only with the end of its archive, which none has that is cut off between two blocks", async () => {
    const bytes = await tarOf([
      [{ name: "d/", type: "directory" }],
      [{ name: "d/empty", type: "file" }],
      [{ name: `d/${"long ".repeat(50)}`, type: "file" }],
      [{ name: "d/zeros", type: "file" }, "\0".repeat(2000)],
      [{ name: "d/link", type: "symlink", linkname: "empty" }],
      [{ name: "d/last", type: "file" }],
    ]);
    const whole = bytes.length - 1024;
    for (let cut = 0; cut <= whole; cut += 512) {
      for (const length of [100, 4096]) {
        const stream = piecesOf(bytes.subarray(0, cut), length);
        const error = await failure(unpackTree(stream, newPath(), nothing));
        assert.ok(error instanceof Error, `${cut} of ${whole}`);
      }
    }
    for (const length of [100, 4096]) {
      // One block of zeros is enough, and more of them are no fault.
      for (const end of [512, 1024, 10_240]) {
        const stream = Buffer.concat([bytes.subarray(0, whole), Buffer.alloc(end)]);
        await unpackTree(piecesOf(stream, length), newPath(), nothing);
      }
    }
    await unpackTree(piecesOf(Buffer.alloc(1024)), newPath(), nothing);
  });

  it("has modes and times of its directories also where it fails", async () => {
    const to = newPath();
    mkdirSync(join(to, "there"), { recursive: true });
    chmodSync(join(to, "there"), 0o500);
    const mtime = new Date(1.5e12);
    const bytes = await tarOf([
      [{ name: "private/", type: "directory", mode: 0o700, mtime }],
      [{ name: "private/file", type: "file" }, "x"],
      [{ name: "there/", type: "directory", mode: 0o510, mtime }],
      [{ name: "there/file", type: "file" }, "x"],
      [{ name: "gone/", type: "directory", mode: 0o700, mtime }],
      [{ name: "next", type: "file" }, "x"],
    ]);
    const broken = async function* () {
      yield bytes.subarray(0, -1024);
      await unpacked;
      throw new Error("cut");
    };
    /** @type {(value?: undefined) => void} */
    let end = nothing;
    const unpacked = new Promise((resolve) => (end = resolve));
    let left = 6;
    const onUnpacked = () => {
      left -= 1;
      if (left > 0) return;
      // Its mode can't be set any more.
      rmSync(join(to, "gone"), { recursive: true });
      end();
    };
    const error = await failure(unpackTree(broken(), to, onUnpacked));
    assert.equal(error.message, "cut");
    for (const [name, mode] of /** @type {const} */ ([
      ["private", 0o700],
      ["there", 0o510],
    ])) {
      const stats = statSync(join(to, name));
      assert.deepEqual([stats.mode & 0o777, stats.mtimeMs], [mode, 1.5e12], name);
    }
  });

  it("has times to a few microseconds before 1970, too, and the nearest one of what no system keeps", async () => {
    const [from, to] = [newPath(), newPath()];
    for (const path of [from, to]) mkdirSync(path);
    for (const time of ["-1.0005", "-0.000123", "-1000000.999999"]) {
      const { status } = spawnSync("touch", ["-d", `@${time}`, join(from, time)]);
      assert.equal(status, 0);
    }
    const { stdout } = spawnSync("tar", ["-cf", "-", "--format=pax", "-C", from, "."]);
    await unpackTree(piecesOf(stdout), to, nothing);
    for (const name of readdirSync(from)) {
      const distance = statSync(join(to, name)).mtimeMs - statSync(join(from, name)).mtimeMs;
      assert.ok(Math.abs(distance) < 0.005, `${name}: ${distance}`);
    }
    const far = await tarOf(
      ["1e20", "-1e20"].map((mtime) => [{ name: mtime, type: "file", pax: { mtime } }]),
    );
    await unpackTree(piecesOf(far), to, nothing);
    assert.ok(statSync(join(to, "1e20")).mtimeMs > Date.now());
    assert.ok(statSync(join(to, "-1e20")).mtimeMs < 0);
  });

  it("leaves nothing beside a hard link that is there already", async () => {
    const to = newPath();
    const bytes = await tarOf([
      [{ name: "file", type: "file" }, "x"],
      [{ name: "link", type: "link", linkname: "file" }],
      [{ name: "link", type: "link", linkname: "file" }],
    ]);
    await unpackTree(piecesOf(bytes), to, nothing);
    assert.deepEqual(readdirSync(to), ["file", "link"]);
    assert.equal(statSync(join(to, "link")).nlink, 2);
  });

  it("lets others have their turn, however fast its chunks come", async () => {
    const stream = directories(Array.from({ length: 5_000 }, (_, n) => `${n}`));
    let turns = 0;
    let counted = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    await unpackTree(stream, newPath(), () => (counted = turns));
    clearImmediate(next);
    assert.ok(counted > 5, `${counted}`);
  });

  it("keeps modes and times of so many directories, each once, and sets those that are complete when there are more", async () => {
    const to = newPath();
    const maxDirectories = 1_000;
    const names = Array.from({ length: maxDirectories - 3 }, (_, n) => `${n}`);
    const again = Array.from({ length: 10 }, () => "again");
    const all = [...again, ...names, "within", "above", "above/beyond"];
    let taken = 0;
    /** @type {(name: string) => unknown} */
    const attributes = (name) => {
      const { mode, mtimeMs } = statSync(join(to, name));
      return { mode: mode & 0o777, mtimeMs };
    };
    const packed = { mode: 0o500, mtimeMs: 1.5e12 };
    /** Is called with each that is written. */
    const look = () => {
      taken += 1;
      if (taken < all.length) return;
      assert.deepEqual(attributes("within"), packed);
      assert.notDeepEqual(attributes("above"), packed);
    };
    await unpackTree(directories(all), to, look, maxDirectories);
    for (const name of ["again", "0", "within", "above", "above/beyond"]) {
      assert.deepEqual(attributes(name), packed, name);
    }
  });

  it("fails where a file can't be written, and says why", async () => {
    const to = newPath();
    mkdirSync(join(to, "taken"), { recursive: true });
    const bytes = await tarOf([
      [{ name: "taken", type: "file" }, "x"],
      [{ name: "b", type: "file" }, "y".repeat(500_000)],
    ]);
    const error = await failure(unpackTree(piecesOf(bytes), to, nothing));
    assert.match(error.message, /EISDIR|EEXIST|ENOTEMPTY/);
    assert.ok(!readdirSync(to).some((name) => name.startsWith(".sandpipe-")));
    assert.ok(existsSync(join(to, "taken")));
  });

  it("takes no name and no target of a link that is not UTF-8, however it is packed", async () => {
    for (const format of ["gnu", "pax"]) {
      for (const length of [1, 120, 200]) {
        const [from, to] = [newPath(), newPath()];
        mkdirSync(from);
        const name = Buffer.concat([Buffer.alloc(length, "n"), Buffer.from([0xff])]);
        symlinkSync(name, join(from, "link"));
        const file = Buffer.concat([Buffer.from(`${from}/`), name]);
        for (const of of ["link", "file"]) {
          if (of === "file") {
            rmSync(join(from, "link"));
            writeFileSync(file, "");
          }
          const args = ["-cf", "-", `--format=${format}`, "-C", from, "."];
          const { stdout } = spawnSync("tar", args);
          const error = await failure(unpackTree(piecesOf(stdout), to, nothing));
          assert.match(
            error.message,
            /^"(\.\/)?n+\uFFFD" is not UTF-8/,
            `${format}, ${length}, ${of}`,
          );
          assert.deepEqual(readdirSync(to), []);
        }
      }
    }
  });

  it("has no file in the place of its directory, and no temporary one beside it", async () => {
    for (const header of [
      { name: ".", type: "file" },
      { name: "./", type: "symlink", linkname: "x" },
      { name: ".", type: "link", linkname: "x" },
    ]) {
      const to = newPath();
      const error = await failure(unpackTree(piecesOf(await tarOf([[header]])), to, nothing));
      assert.match(error.message, /is a directory, but the archive has something else/);
    }
  });

  it("fails at once where a file can't be written, with what comes next still awaited", async () => {
    const to = newPath();
    mkdirSync(join(to, "taken"), { recursive: true });
    const bytes = await tarOf([[{ name: "taken", type: "file" }, "x"]]);
    /** @type {(error: Error) => void} */
    let end = nothing;
    const chunks = async function* () {
      yield bytes.subarray(0, 1024);
      await new Promise((_, reject) => (end = reject));
    };
    const error = await failure(unpackTree(chunks(), to, nothing));
    assert.match(error.message, /EISDIR|EEXIST|ENOTEMPTY/);
    end(new Error("the connection was lost"));
  });

  it(
    "is unpacked again over directories that are read-only",
    { skip: process.geteuid?.() !== 0 && "only for root" },
    async () => {
      const [from, to] = [newPath(), newPath()];
      mkdirSync(join(from, "closed"), { recursive: true });
      writeFileSync(join(from, "closed", "file"), "x");
      chmodSync(join(from, "closed"), 0o555);
      for (const path of ["closed/file", "closed"]) utimesSync(join(from, path), 1.5e9, 1.5e9);
      chmodSync(directory, 0o755);
      mkdirSync(to);
      chownSync(to, 65_534, 65_534);
      const chunks = [];
      for await (const chunk of packTree(from, () => false, nothing)) chunks.push(chunk);
      process.seteuid?.(65_534);
      try {
        for (let time = 0; time < 2; time += 1) {
          await unpackTree(piecesOf(Buffer.concat(chunks)), to, nothing);
        }
      } finally {
        process.seteuid?.(0);
      }
      assert.equal(statSync(join(to, "closed")).mode & 0o777, 0o555);
      assert.deepEqual(described(to), described(from));
    },
  );
});
