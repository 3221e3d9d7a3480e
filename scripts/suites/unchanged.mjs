// @ts-check
/** Which jobs have passed here, and with which inputs: those need not run again. */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../project.mjs";
import { results } from "./program.mjs";

/** Where that is kept. */
export const memoryFile = join(results, "passed.json");

/** What git does not have, but what is built; and what the tests write. */
const LEFT_OUT = new Set([".git", ".wireit", "node_modules", "target"]);

/** The programs on which a result may depend, as they say their versions. */
const PROGRAMS = {
  rustc: ["rustc", "--version"],
  bubblewrap: ["bwrap", "--version"],
  podman: ["podman", "--version"],
  chromium: ["/usr/bin/chromium", "--version"],
  firefox: ["/usr/bin/firefox-esr", "--version"],
  ssh: ["ssh", "-V"],
  sshd: ["/usr/sbin/sshd", "-V"],
  npm: ["npm", "--version"],
  qemu: ["qemu-aarch64", "--version"],
};

/**
 * What a result depends on beside the checkout: the versions of programs, the user, and the platform.
 *
 * @returns {string}
 */
export function machine() {
  known ??= describeMachine();
  return known;
}

/** @type {string | undefined} */
let known;

function describeMachine() {
  const versions = Object.entries(PROGRAMS).map(([name, [command = "", ...args]]) => {
    // OpenSSH's say theirs on stderr.
    const { stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
    return `${name}: ${stdout ?? "is not there"}${stderr ?? ""}`.trim();
  });
  const user = `user ${process.getuid?.()}`;
  const platform = `${process.platform} ${process.arch} ${release()}`;
  const locale = ["LANG", "LC_ALL", "TZ"].map((name) => `${name}=${process.env[name] ?? ""}`);
  return [`node ${process.version}`, ...versions, user, platform, ...locale].join("\n");
}

/** Tells the inputs of jobs apart. Each file is read once. */
export class Fingerprints {
  #machine;
  /** @type {Map<string, string>} */
  #digests = new Map();

  /** @param {string} machine */
  constructor(machine) {
    this.#machine = machine;
  }

  /** @param {readonly string[]} inputs paths below the root; one with a `!` is left out, unless it is there, too */
  of(inputs) {
    const taken = inputs.filter((path) => !path.startsWith("!"));
    const leftOut = inputs.filter((path) => path.startsWith("!")).map((path) => path.slice(1));
    const isLeftOut = new Set(leftOut.filter((path) => !taken.includes(path)));
    const hash = createHash("sha256").update(this.#machine);
    for (const path of taken) this.#add(hash, path, isLeftOut);
    return hash.digest("hex");
  }

  /**
   * @param {import("node:crypto").Hash} hash
   * @param {string} path
   * @param {ReadonlySet<string>} isLeftOut
   */
  #add(hash, path, isLeftOut) {
    if (isLeftOut.has(path)) return;
    const entries = directory(path);
    if (entries === undefined) {
      hash.update(`\0${path}\0${this.#digest(path)}`);
      return;
    }
    for (const name of entries) {
      if (!LEFT_OUT.has(name)) this.#add(hash, join(path, name), isLeftOut);
    }
  }

  /** @param {string} path */
  #digest(path) {
    const known = this.#digests.get(path);
    if (known !== undefined) return known;
    const digest = createHash("sha256").update(contents(path)).digest("hex");
    this.#digests.set(path, digest);
    return digest;
  }
}

/** The names in a directory; undefined if it is none. @param {string} path */
function directory(path) {
  try {
    return readdirSync(join(root, path)).sort();
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === "ENOTDIR" || code === "ENOENT") return undefined;
    throw error;
  }
}

/** @param {string} path */
function contents(path) {
  try {
    return readFileSync(join(root, path));
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== "ENOENT") throw error;
    try {
      return `a link to ${readlinkSync(join(root, path))}`;
    } catch {
      return "is not there";
    }
  }
}

/** @returns {Record<string, string>} the fingerprint with which each job has passed, by its name */
export function passedBefore(memory = memoryFile) {
  try {
    return JSON.parse(readFileSync(memory, "utf8"));
  } catch {
    // There has been no run, or it was ended while it wrote.
    return {};
  }
}

/** @param {Record<string, string>} passed */
export function rememberPassed(passed, memory = memoryFile) {
  mkdirSync(dirname(memory), { recursive: true });
  writeFileSync(memory, `${JSON.stringify(passed, undefined, 2)}\n`);
}

/**
 * Why tests are skipped as they should be: the user, the platform and its kernel decide it, which are a part of the
 * fingerprint; or the test is for one kind of run alone. A program that is missing may be there the next time.
 */
const EXPECTED_SKIPS = [
  /^(it )?needs root\b/,
  /^(it )?needs (user namespaces|cgroups|IPv6|an address of this machine|the right to mount)\b/,
  /^(it )?needs another file system\b/,
  /^only\b/,
  /^ignored$/,
];

/** Whether a test is skipped as it should be. @param {string | undefined} reason */
export function isExpectedSkip(reason = "") {
  return EXPECTED_SKIPS.some((expected) => expected.test(reason));
}
