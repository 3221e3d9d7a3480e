// @ts-check
// Background processes over every runtime, and over every shell.
import { rmSync } from "node:fs";

import { connect } from "sandpipe";
import { localRuntime, startAgent } from "sandpipe/node";

import { testBackground } from "./suite.mjs";
import { busyboxShell, temporaryDirectory } from "./target.mjs";

testBackground("a sandbox", () => sandbox([]));
testBackground("a sandbox without extensions", () => sandbox(["--without", "all"]));
testBackground("this machine with dash", () => local("dash"));
testBackground("this machine with bash", () => local("bash"));
testBackground("this machine with nothing but busybox", async () => {
  const directory = temporaryDirectory();
  const { runtime } = await local(busyboxShell(directory));
  return { runtime, close: () => rmSync(directory, { recursive: true }) };
});

/** @param {string[]} args */
async function sandbox(args) {
  const agent = await startAgent({ args });
  const runtime = await connect(agent);
  return { runtime, close: () => agent.stop() };
}

/** @param {string} shell */
async function local(shell) {
  return { runtime: localRuntime({ shell }), close: () => undefined };
}
