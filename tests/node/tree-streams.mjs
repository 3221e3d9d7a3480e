// @ts-check
// Trees in a temporary directory, and streams of them.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";

import { pack } from "tar-stream";

import { END, headerOf } from "../../dist/node/trees/header.js";
import { HeldDirectory } from "../../dist/node/trees/held-directory.js";
import * as packing from "../../dist/node/trees/pack.js";
import * as unpacking from "../../dist/node/trees/unpack.js";
import { temporaryDirectory } from "../support/target.mjs";

export const directory = temporaryDirectory();
after(() => {
  // An ordinary user removes nothing from a directory that is read-only.
  execFileSync("chmod", ["-R", "u+rwx", directory]);
  rmSync(directory, { recursive: true });
});

let paths = 0;
export const newPath = () => join(directory, `tree ${(paths += 1)}`);

export const nothing = () => undefined;

/**
 * Packs a directory that is held meanwhile.
 *
 * @param {string} path
 * @param {import("../../dist/node/trees/exclude.js").IsExcluded} isExcluded
 * @param {(file: packing.PackedFile) => void} packed
 */
export function packTree(path, isExcluded, packed) {
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
export async function unpackTree(chunks, path, unpacked, maxDirectories) {
  mkdirSync(path, { recursive: true });
  const root = HeldDirectory.hold(path);
  try {
    await unpacking.unpackTree(chunks, root, unpacked, maxDirectories);
  } finally {
    root.close();
  }
}

/** The bytes of some entries as a tar stream. @param {[import("tar-stream").Header | object, string?][]} entries */
export async function tarOf(entries) {
  const stream = pack();
  for (const [header, content = ""] of entries)
    stream.entry(/** @type {never} */ (header), content);
  stream.finalize();
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(/** @type {Uint8Array[]} */ (chunks));
}

/** A stream of directories that are there at once, all alike. @param {readonly string[]} names */
export async function* directories(names) {
  const like = { type: /** @type {const} */ ("directory"), mode: 0o500, size: 0, linkTarget: "" };
  const header = (/** @type {string} */ name) =>
    headerOf({ ...like, name: `${name}/`, mtimeNs: 1_500_000_000n * 1_000_000_000n });
  for (let at = 0; at < names.length; at += 1000) {
    yield Buffer.concat(names.slice(at, at + 1000).map(header));
  }
  yield END;
}

/** A stream of bytes in pieces of so many. @param {Buffer} bytes @param {number} [length] */
export async function* piecesOf(bytes, length = 1000) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}
