// @ts-check
// Trees of this machine as tar streams, and back; the other side is the system's tar.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { after, describe, it } from "node:test";

import { extract, pack } from "tar-stream";

import { excludedBy } from "../../dist/node/trees/exclude.js";
import { END, headerOf } from "../../dist/node/trees/header.js";
import { HeldDirectory } from "../../dist/node/trees/held-directory.js";
import * as packing from "../../dist/node/trees/pack.js";
import { safeName } from "../../dist/node/trees/safe-name.js";
import * as unpacking from "../../dist/node/trees/unpack.js";
import { until } from "../support/processes.mjs";
import { failure } from "../support/script.mjs";
import { temporaryDirectory } from "../support/target.mjs";
import { described, makeTree } from "./trees.mjs";

const directory = temporaryDirectory();
after(() => {
  // An ordinary user removes nothing from a directory that is read-only.
  execFileSync("chmod", ["-R", "u+rwx", directory]);
  rmSync(directory, { recursive: true });
});

let paths = 0;
const newPath = () => join(directory, `tree ${(paths += 1)}`);

const nothing = () => undefined;

/**
 * Packs a directory that is held meanwhile.
 *
 * @param {string} path
 * @param {import("../../dist/node/trees/exclude.js").IsExcluded} isExcluded
 * @param {(file: packing.PackedFile) => void} packed
 */
function packTree(path, isExcluded, packed) {
  const root = HeldDirectory.hold(path);
  return packing.packTree(root, isExcluded, packed).once("close", () => root.close());
}

/**
 * Unpacks into a directory that is made, and held meanwhile.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @param {string} path
 * @param {(file: unpacking.UnpackedFile) => void} unpacked
 * @param {number} [maxDirectories]
 */
async function unpackTree(chunks, path, unpacked, maxDirectories) {
  mkdirSync(path, { recursive: true });
  const root = HeldDirectory.hold(path);
  try {
    await unpacking.unpackTree(chunks, root, unpacked, maxDirectories);
  } finally {
    root.close();
  }
}

/** The bytes of some entries as a tar stream. @param {[import("tar-stream").Header | object, string?][]} entries */
async function tarOf(entries) {
  const stream = pack();
  for (const [header, content = ""] of entries)
    stream.entry(/** @type {never} */ (header), content);
  stream.finalize();
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(/** @type {Uint8Array[]} */ (chunks));
}

/** A stream of directories that are there at once, all alike. @param {readonly string[]} names */
async function* directories(names) {
  const like = { type: /** @type {const} */ ("directory"), mode: 0o500, size: 0, linkTarget: "" };
  const header = (/** @type {string} */ name) =>
    headerOf({ ...like, name: `${name}/`, mtimeNs: 1_500_000_000n * 1_000_000_000n });
  for (let at = 0; at < names.length; at += 1000) {
    yield Buffer.concat(names.slice(at, at + 1000).map(header));
  }
  yield END;
}

/** A stream of bytes in pieces of so many. @param {Buffer} bytes @param {number} [length] */
async function* piecesOf(bytes, length = 1000) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

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
