// @ts-check
// Trees of files for tests: made from a seed, and compared.
import {
  chmodSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { Random } from "../support/random.mjs";

/** Names that a shell, a URL, a tar header or a pattern could take for something else. */
const ODD = [
  "with space",
  "line\nbreak",
  "tab\tand 'quotes\"",
  "-option",
  "~home",
  "$HOME `x`",
  "%2F..%00",
  "?query#hash",
  "é€😀",
  "back\\slash",
  "*star[1]{a,b}",
  "x".repeat(200),
  ".hidden",
  "..double",
  "ends with dot.",
];

/**
 * When files are changed, in seconds since 1970: with a fraction and before 1970, and when that has more digits than a tar header has
 * room for.
 */
const TIMES = [1.6e9, 1.6e9 + 0.125, -1.5, -1e9, 8 ** 11 - 1, 8 ** 11, 10_413_792_000.25];

/**
 * A time as `fs` takes it: it takes a negative number for the current time.
 *
 * @param {number} seconds
 */
const timeOf = (seconds) => new Date(seconds * 1000);

/**
 * Makes a directory with so many files in directories, with odd names, modes and times, links, empty files and one that is large.
 *
 * @param {string} root
 * @param {number} count
 * @param {string} seed
 */
export function makeTree(root, count, seed) {
  const random = new Random(seed);
  mkdirSync(root);
  const directories = [""];
  for (let n = 0; n < Math.max(count / 20, 3); n += 1) {
    const above = directories[random.between(0, Math.min(directories.length - 1, 20))] ?? "";
    const path = join(above, `${ODD[n % ODD.length]} ${n}`);
    mkdirSync(join(root, path));
    directories.push(path);
  }
  for (let n = 0; n < count; n += 1) {
    const folder = directories[random.between(0, directories.length - 1)] ?? "";
    const path = join(root, folder, `${n} ${ODD[n % ODD.length]}`);
    const size = n === 1 ? 3_000_000 : n % 7 === 0 ? 0 : random.between(1, 3000);
    writeFileSync(path, Buffer.alloc(size, `${n} of ${seed}\n`));
    chmodSync(path, [0o644, 0o600, 0o755, 0o400, 0o666][n % 5] ?? 0o644);
    // Names and times come in all combinations.
    const time = timeOf(TIMES[n % TIMES.length] ?? 0);
    utimesSync(path, time, time);
  }
  const links = [
    ["link to a file", "0 with space"],
    ["link to nowhere", "/no/such/place"],
    ["link to above", ".."],
    ["a long link", `${"y".repeat(150)}/${"é".repeat(60)}`],
    ["link to\nlines", "one\nanother"],
    ["link to lines", "one\nanother"],
    ["a long link to lines", "one\nanother\n".repeat(20)],
  ];
  for (const [index, [name = "", to = ""]] of links.entries()) {
    symlinkSync(to, join(root, name));
    const time = timeOf(TIMES[(index + 1) % TIMES.length] ?? 0);
    lutimesSync(join(root, name), time, time);
  }
  for (const [index, path] of directories.entries()) {
    if (path === "") continue;
    chmodSync(join(root, path), index % 2 === 0 ? 0o755 : 0o700);
  }
  // What is made in a directory changes its time.
  for (const [index, path] of [...directories.entries()].toReversed()) {
    const time = timeOf(TIMES[index % TIMES.length] ?? 0);
    utimesSync(join(root, path), time, time);
  }
}

/**
 * What there is to compare of a directory: every name below it, with its kind, mode, time and content.
 *
 * @param {string} root
 * @returns {Record<string, unknown>}
 */
export function described(root, below = "") {
  /** @type {Record<string, unknown>} */
  const all = {};
  for (const name of readdirSync(join(root, below)).sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    const stats = lstatSync(join(root, path));
    const mtime = Math.round(stats.mtimeMs * 1000);
    if (stats.isSymbolicLink()) all[path] = { link: readlinkSync(join(root, path)), mtime };
    else if (stats.isDirectory()) {
      all[path] = { mode: stats.mode & 0o7777, mtime };
      Object.assign(all, described(root, path));
    } else {
      const content = readFileSync(join(root, path)).toString("base64");
      all[path] = { mode: stats.mode & 0o7777, mtime, content };
    }
  }
  return all;
}
