// @ts-check
// Which program is run as the agent, and what is said of one that can't be.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  chooseAgent,
  explainEarlyEnd,
  explainStartFailure,
  explainWrongLine,
} from "../../dist/node/agent-program.js";

const packaged = new Map([
  ["linux-x64", "/m/@sandpipe/agent-linux-x64/sandpipe-agent"],
  ["linux-arm64", "/m/@sandpipe/agent-linux-arm64/sandpipe-agent"],
]);
const all = { platform: "linux-arm64", named: "/named", packaged };

describe("the program of the agent", () => {
  it("is SANDPIPE_AGENT's, the package's or the one in PATH, in this order", () => {
    const onlyOther = new Map([["linux-x64", "/x64"]]);
    const origins = [
      all,
      { ...all, named: undefined },
      { ...all, named: "" },
      { ...all, named: undefined, packaged: onlyOther },
    ].map((candidates) => chooseAgent(candidates));
    assert.deepEqual(origins, [
      { file: "/named", origin: "SANDPIPE_AGENT" },
      { file: "/m/@sandpipe/agent-linux-arm64/sandpipe-agent", origin: "package" },
      { file: "/m/@sandpipe/agent-linux-arm64/sandpipe-agent", origin: "package" },
      { file: "sandpipe-agent", origin: "PATH" },
    ]);
  });

  it("is not blamed for what the system has no room for", () => {
    const error = { code: "EAGAIN", message: "spawn /named EAGAIN" };
    assert.deepEqual(explainStartFailure(chooseAgent(all), all, error), {
      reason: "/named could not be run: spawn /named EAGAIN",
    });
  });

  it("can't be run: what to do depends on where it comes from", () => {
    const error = { code: "EACCES", message: "EACCES" };
    const hints = [
      all,
      { ...all, named: undefined },
      { ...all, named: undefined, packaged: new Map() },
    ].map((candidates) => explainStartFailure(chooseAgent(candidates), candidates, error).hint);
    [/SANDPIPE_AGENT names it/, /chmod \+x/, /first sandpipe-agent in PATH/].forEach((says, i) =>
      assert.match(hints[i] ?? "", says),
    );
  });

  it("is not there: what works on the platform is named, on Windows with what it needs", () => {
    const error = { code: "ENOENT", message: "ENOENT" };
    const none = { named: undefined, packaged: new Map() };
    const hint = (/** @type {string} */ platform) => {
      const candidates = { ...none, platform };
      return explainStartFailure(chooseAgent(candidates), candidates, error).hint ?? "";
    };
    assert.match(hint("darwin-arm64"), /\(`localRuntime\(\)` of sandpipe\/node\)\.$/);
    assert.match(
      hint("win32-x64"),
      /`localRuntime\(\)` .*POSIX shell: Git Bash's `sh` in PATH\)\.$/,
    );
  });

  it("ended early, or is another program: what to do depends on where it comes from", () => {
    const end = { exitCode: 2, signal: null, stderr: "agent: 1: Syntax error\n" };
    const candidates = [
      all,
      { ...all, named: undefined },
      { ...all, named: undefined, packaged: new Map() },
    ];
    const says = [
      /SANDPIPE_AGENT names it/,
      /comes from the package @sandpipe\/agent-linux-arm64: install that again/,
      /first sandpipe-agent in PATH/,
    ];
    for (const [index, pattern] of says.entries()) {
      const program = chooseAgent(candidates[index] ?? all);
      assert.match(explainEarlyEnd(program, all.platform, end).hint ?? "", pattern);
      const { hint } = explainWrongLine(program, all.platform, "hello");
      // The project's own agent prints something else where their flags say so.
      if (program.origin === "package") assert.equal(hint, undefined);
      else assert.match(hint ?? "", pattern);
    }
  });

  it("ended early: how, and what it said", () => {
    const reason = (/** @type {Parameters<typeof explainEarlyEnd>[2]} */ end) =>
      explainEarlyEnd(chooseAgent(all), all.platform, end).reason;
    assert.equal(
      reason({ exitCode: 2, signal: null, stderr: "no\n" }),
      "/named ended before it listened, with exit code 2: no",
    );
    assert.equal(
      reason({ exitCode: null, signal: "SIGSEGV", stderr: "" }),
      "/named ended before it listened, by SIGSEGV: it said nothing",
    );
  });

  it("has said itself what is wrong: it is not to be replaced", () => {
    const end = {
      exitCode: 1,
      signal: null,
      stderr: "sandpipe-agent: the workspace /no is gone\n",
    };
    const { hint } = explainEarlyEnd(chooseAgent(all), all.platform, end);
    assert.equal(hint, undefined);
  });
});
