// @ts-check
// Background processes over this machine, with every shell.
import { rmSync } from "node:fs";

import { localRuntime } from "sandpipe/node";

import { testBackground } from "./suite.mjs";
import { busyboxShell, temporaryDirectory } from "../support/target.mjs";

testBackground("this machine with dash", () => local("dash"));
testBackground("this machine with bash", () => local("bash"));
testBackground("this machine with nothing but busybox", async () => {
  const directory = temporaryDirectory();
  const { runtime } = await local(busyboxShell(directory));
  return { runtime, close: () => rmSync(directory, { recursive: true }) };
});

/** @param {string} shell */
async function local(shell) {
  return { runtime: localRuntime({ shell }), close: () => undefined };
}
