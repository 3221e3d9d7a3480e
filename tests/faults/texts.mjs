// @ts-check
/**
 * What the commands write: bytes of any kind, or text. Of a text every line has a number, so that no part looks like another. Characters
 * below U+2000 go to stdout, the others to stderr: in the joined output, too, they can be told apart.
 */

import { createCipheriv, createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** @typedef {"small" | "1mb" | "20mb"} Size */

/** In bytes, of stdout and stderr together. @type {Record<Size, number>} */
const BYTES = { small: 3000, "1mb": 1e6, "20mb": 20e6 };

/** Up to here characters are stdout's. */
const STDERR_CHARACTERS = /[\u2000-\uffff]+/g;
const STDOUT_CHARACTERS = /[\0-\u1fff]+/g;

/**
 * @typedef {object} Text
 * @property {number} bytes
 * @property {string[]} files two for stdout, then two for stderr
 * @property {{ stdout: string, stderr: string }} hashes
 */

/**
 * Puts the text of a size into files.
 *
 * @param {string} folder
 * @param {Size} size
 * @returns {Promise<Text>}
 */
export async function writeText(folder, size) {
  const bytes = BYTES[size];
  const part = bytes / 4;
  const stdout = [lines(part, 0, stdoutLine), lines(part, 1e6, stdoutLine)];
  const stderr = [lines(part, 0, stderrLine), lines(part, 1e6, stderrLine)];
  return write(
    join(folder, size),
    bytes,
    stdout.map((text) => Buffer.from(text)),
    stderr.map((text) => Buffer.from(text)),
  );
}

/**
 * The same in bytes of any kind, without a part that looks like another.
 *
 * @param {string} folder
 * @param {Size} size
 * @returns {Promise<Text>}
 */
export async function writeBytes(folder, size) {
  const bytes = BYTES[size];
  const part = bytes / 4;
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16));
  const parts = [0, 1, 2, 3].map(() => cipher.update(Buffer.alloc(part)));
  return write(join(folder, `${size} in bytes`), bytes, parts.slice(0, 2), parts.slice(2));
}

/**
 * @param {string} folder
 * @param {number} bytes
 * @param {Buffer[]} stdout
 * @param {Buffer[]} stderr
 * @returns {Promise<Text>}
 */
async function write(folder, bytes, stdout, stderr) {
  await mkdir(folder);
  const files = await Promise.all(
    [...stdout, ...stderr].map(async (part, index) => {
      const path = join(folder, String(index));
      await writeFile(path, part);
      return path;
    }),
  );
  const hashes = { stdout: sha256(Buffer.concat(stdout)), stderr: sha256(Buffer.concat(stderr)) };
  return { bytes, files, hashes };
}

/**
 * The hashes of what came from stdout and from stderr.
 *
 * @param {string} joined
 */
export function hashesOf(joined) {
  return {
    stdout: sha256(joined.replaceAll(STDERR_CHARACTERS, "")),
    stderr: sha256(joined.replaceAll(STDOUT_CHARACTERS, "")),
  };
}

/** @param {string | Buffer} text */
export function sha256(text) {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * @param {number} bytes at least
 * @param {number} first
 * @param {(number: number) => string} line
 */
function lines(bytes, first, line) {
  const written = [];
  let length = 0;
  for (let number = first; length < bytes; number++) {
    const text = line(number);
    written.push(text);
    length += Buffer.byteLength(text);
  }
  return written.join("");
}

/** @param {number} number */
function stdoutLine(number) {
  return `${number} "é" \\ß\tΩ Ж ${"·".repeat(number % 50)}\n`;
}

/** In full-width digits, and characters of three and four bytes. @param {number} number */
function stderrLine(number) {
  const digits = Array.from(String(number), (digit) =>
    String.fromCodePoint(0xff10 + Number(digit)),
  );
  return `${digits.join("")}€漢😀${"👩‍💻".repeat(number % 7)}\u2028`;
}
