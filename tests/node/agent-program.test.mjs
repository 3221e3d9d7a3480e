// @ts-check
// Which program is run as the agent, and what is said of one that can't be.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chooseAgent, explainStartFailure } from "../../dist/node/agent-program.js";

const packaged = new Map([
  ["linux-x64", "/m/@sandpipe/agent-linux-x64/sandpipe-agent"],
  ["linux-arm64", "/m/@sandpipe/agent-linux-arm64/sandpipe-agent"],
]);
const all = { platform: "linux-arm64", named: "/named", packaged, built: "/built" };

describe("the program of the agent", () => {
  it("is SANDPIPE_AGENT's, the package's, the checkout's or the one in PATH, in this order", () => {
    const onlyOther = new Map([["linux-x64", "/x64"]]);
    const origins = [
      all,
      { ...all, named: undefined },
      { ...all, named: "" },
      { ...all, named: undefined, packaged: onlyOther },
      { ...all, named: undefined, packaged: onlyOther, built: undefined },
    ].map((candidates) => chooseAgent(candidates));
    assert.deepEqual(origins, [
      { file: "/named", origin: "SANDPIPE_AGENT" },
      { file: "/m/@sandpipe/agent-linux-arm64/sandpipe-agent", origin: "package" },
      { file: "/m/@sandpipe/agent-linux-arm64/sandpipe-agent", origin: "package" },
      { file: "/built", origin: "checkout" },
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
      { ...all, named: undefined, packaged: new Map(), built: undefined },
    ].map((candidates) => explainStartFailure(chooseAgent(candidates), candidates, error).hint);
    [
      /SANDPIPE_AGENT names it/,
      /chmod \+x/,
      /npm run build/,
      /first sandpipe-agent in PATH/,
    ].forEach((says, i) => assert.match(hints[i] ?? "", says));
  });
});
