// @ts-check
// Which programs are found in PATH, and which are left out.
import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";

// No part of the package's interface.
import {
  environmentOfPrograms,
  findProgram,
  leaveOutWorkspace,
} from "../../dist/node/find-program.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sandpipe test-")));
const [usualPath, usualDirectory] = [process.env["PATH"], process.cwd()];
after(() => {
  process.env["PATH"] = usualPath;
  process.chdir(usualDirectory);
  rmSync(folder, { recursive: true });
});

/** Makes a program. @param {string} path in the folder */
function make(path, mode = 0o755) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, mode);
  return file;
}

/** Looks for `x` in these directories of the folder; one that begins with = is taken as it is. @param {string[]} entries */
function find(...entries) {
  const at = entries.map((entry) => (entry.startsWith("=") ? entry.slice(1) : join(folder, entry)));
  process.env["PATH"] = at.join(":");
  try {
    return findProgram("x");
  } catch (error) {
    assert.equal(/** @type {NodeJS.ErrnoException} */ (error).code, "ENOENT");
    return String(error);
  }
}

describe("a program in PATH", () => {
  make("workspace/node_modules/.bin/x");
  make("workspace/bin/x");
  make("tools/node_modules/.bin/x");
  make("open/x");
  make("file/x", 0o757);
  make("plain/x", 0o644);
  make("elsewhere/bin/x");
  make("venv/pyvenv.cfg");
  make("venv/bin/x");
  const found = make("bin/x");
  make("later/x");
  chmodSync(join(folder, "open"), 0o777);
  symlinkSync(join(folder, "workspace/bin"), join(folder, "link"));
  process.chdir(join(folder, "workspace"));
  leaveOutWorkspace(join(folder, "elsewhere"));

  it("is the first one that only root and the user can have put there", () => {
    const leftOut = [
      "workspace/node_modules/.bin",
      "workspace/bin",
      "tools/node_modules/.bin",
      "link",
    ];
    assert.equal(
      find(...leftOut, "open", "file", "plain", "none", "=", "=bin", "bin", "later"),
      found,
    );
  });

  for (const [directory, reason] of /** @type {const} */ ([
    ["workspace/node_modules/.bin", /it is in a directory node_modules/],
    ["workspace/bin", /it is in .*workspace, the working directory/],
    ["link", /it is in .*workspace, the working directory/],
    ["=bin", /the entry of PATH is not an absolute path/],
    ["elsewhere/bin", /it is in .*elsewhere, a workspace of commands/],
    ["venv/bin", /it is in .*venv, a Python virtual environment/],
    ["open", /others could replace it: they may change .*open,/],
    ["file", /others could replace it: they may change .*file\/x,/],
  ])) {
    it(`is left out, and named with the reason: ${directory}`, () => {
      assert.match(find(directory, "plain"), reason);
      assert.match(find(directory), /^Error: every x in PATH is left out: "/);
    });
  }

  it("is missing", () => assert.equal(find("none", "plain"), "Error: there is no x in PATH"));

  const skip = process.getuid?.() === 0 ? false : "only root can give a directory to a group";
  it("may be in a directory of a group in which nobody is, as staff's on Debian", { skip }, () => {
    const file = make("staff/x");
    const [staff, users] = [50, 4321];
    chownSync(dirname(file), 0, staff);
    chmodSync(dirname(file), 0o2775);
    assert.equal(find("staff", "bin"), file);
    chownSync(dirname(file), 0, users);
    chmodSync(dirname(file), 0o2775);
    assert.equal(find("staff", "bin"), found);
  });

  it("finds others only where it would be found itself", () => {
    find(
      "workspace/node_modules/.bin",
      "elsewhere/bin",
      "venv/bin",
      "open",
      "=",
      "=bin",
      "none",
      "bin",
      "later",
    );
    const env = environmentOfPrograms();
    assert.equal(env["PATH"], ["bin", "later"].map((name) => join(folder, name)).join(":"));
  });
});
