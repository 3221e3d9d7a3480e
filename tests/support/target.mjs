// @ts-check
// What the tests see of a target, which is this machine, past the runtime.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { BackgroundError } from "sandpipe";

import { environmentOf, processesThat, statOf } from "./processes.mjs";

/** A new directory. */
export function temporaryDirectory() {
  return mkdtempSync(join(tmpdir(), "sandpipe-background-test-"));
}

/** Where the system has files in memory (tmpfs). */
const MEMORY = "/dev/shm";

/**
 * A new directory for very many files. It is in memory where the system has room there: a disk that is
 * busy takes minutes to remove them.
 */
export function directoryInMemory() {
  const hasRoom = existsSync(MEMORY) && statfsSync(MEMORY).ffree > 500_000;
  return mkdtempSync(join(hasRoom ? MEMORY : tmpdir(), "sandpipe-test-"));
}

/** A directory for the tests of one `describe`, which is removed after them, and what makes others in it. */
export function directoryOfTests() {
  const directory = temporaryDirectory();
  after(() => rmSync(directory, { recursive: true }));
  const subdirectory = (/** @type {string} */ name) => {
    const path = join(directory, name);
    mkdirSync(path);
    return path;
  };
  return { directory, subdirectory };
}

/**
 * The ids of the living processes of a process group.
 *
 * @param {number} group
 */
export function groupMembers(group) {
  return processesThat((pid) => {
    const [state, , itsGroup] = statOf(pid);
    return itsGroup === String(group) && state !== "Z";
  });
}

/**
 * The ids of all that came of the start of a background process, in its group or not.
 *
 * @param {string} id
 */
export function offspring(id) {
  return processesThat((pid) => environmentOf(pid).includes(`SANDPIPE_PROCESS=${id}`));
}

/**
 * A shell that finds just these programs.
 *
 * @param {string} directory where to put it
 * @param {Record<string, string>} programs the programs by name
 * @param {string} shell one of their names
 */
export function shellWith(directory, programs, shell) {
  for (const [name, program] of Object.entries(programs)) {
    symlinkSync(program, join(directory, name));
  }
  const path = join(directory, "the shell");
  writeFileSync(path, `#!/bin/sh\nPATH='${directory}' exec '${join(directory, shell)}' "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

/**
 * A shell of a system that has nothing but busybox.
 *
 * @param {string} directory where to put it
 */
export function busyboxShell(directory) {
  const applets = execFileSync("busybox", ["--list"], { encoding: "utf8" }).trim().split("\n");
  const busybox = execFileSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).trim();
  return shellWith(directory, Object.fromEntries(applets.map((name) => [name, busybox])), "ash");
}

/**
 * All programs of this machine but some, by name.
 *
 * @param {readonly string[]} left which to leave out
 */
export function programsWithout(left) {
  /** @type {Record<string, string>} */
  const programs = {};
  for (const directory of ["/bin", "/usr/bin"]) {
    for (const name of readdirSync(directory)) {
      if (!left.includes(name)) programs[name] = join(directory, name);
    }
  }
  return programs;
}

/** @param {() => Promise<unknown>} call @param {RegExp} message of a BackgroundError */
export function fails(call, message) {
  return assert.rejects(call, (error) => {
    assert.ok(error instanceof BackgroundError, String(error));
    assert.match(error.message, message);
    return true;
  });
}
