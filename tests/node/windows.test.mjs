// What is decided for Windows with Git Bash, as pure functions: none of it is run on Windows.
import assert from "node:assert/strict";
import { it } from "node:test";

import { InvalidArgumentError } from "sandpipe";
import { toGitBashPath, toWindowsPath } from "sandpipe/node";

// No part of the package's interface.
import { taskkill } from "../../dist/node/windows.js";

const invalid = (/** @type {unknown} */ error) => error instanceof InvalidArgumentError;

it("gives Git Bash a path of Windows", () => {
  for (const [windows, bash] of /** @type {[string, string][]} */ ([
    ["C:\\a", "/c/a"],
    ["c:\\Program Files\\Git", "/c/Program Files/Git"],
    ["D:/mixed\\slashes/x", "/d/mixed/slashes/x"],
    ["C:\\", "/c/"],
    ["\\\\server\\share\\a b", "//server/share/a b"],
    ["//server/share", "//server/share"],
    ["\\\\?\\C:\\long", "/c/long"],
    ["\\\\?\\UNC\\server\\share", "//server/share"],
    ["a\\b", "a/b"],
    ["..\\a", "../a"],
    ["/c/a", "/c/a"],
    ["", ""],
  ])) {
    assert.equal(toGitBashPath(windows), bash, windows);
  }
});

it("gives Windows a path of Git Bash", () => {
  for (const [bash, windows] of /** @type {[string, string][]} */ ([
    ["/c/a", "C:\\a"],
    ["/c/Program Files/Git", "C:\\Program Files\\Git"],
    ["/c", "C:\\"],
    ["/c/", "C:\\"],
    ["//server/share/a b", "\\\\server\\share\\a b"],
    ["a/b", "a\\b"],
    ["C:\\a", "C:\\a"],
    ["C:/a", "C:\\a"],
  ])) {
    assert.equal(toWindowsPath(bash), windows, bash);
  }
});

it("there and back again is the same path", () => {
  for (const path of ["C:\\", "C:\\a b\\c.txt", "\\\\server\\share\\x", "a\\b"]) {
    assert.equal(toWindowsPath(toGitBashPath(path)), path);
  }
});

it("refuses a path that means something else at the other end", () => {
  for (const path of ["C:", "C:a", "c:..\\a", "\\a", "\\\\?\\C:"]) {
    assert.throws(() => toGitBashPath(path), invalid, path);
  }
  for (const path of ["/usr/bin", "/", "/cc/a"]) {
    assert.throws(() => toWindowsPath(path), invalid, path);
  }
});

it("ends a process with its descendants by taskkill", () => {
  assert.deepEqual(taskkill(42), ["taskkill", ["/PID", "42", "/T", "/F"]]);
  for (const pid of [0, -1, 1.5, NaN]) assert.throws(() => taskkill(pid), invalid, String(pid));
});
