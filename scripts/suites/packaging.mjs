// @ts-check
/** The tests of the packages as they are published: those are built and packed before. */

import { mkdirSync } from "node:fs";
import { testedTarballs } from "../project.mjs";
import { endOf } from "./lines.mjs";
import { nodeJobs } from "./node.mjs";
import { resultFile, runProgram } from "./program.mjs";

/** @import { Job } from "./job.mjs" */

/** It prints nothing while it builds the agent for every platform. */
const PACK_SILENCE_MS = 1_800_000;

/**
 * @param {readonly string[]} inputs
 * @param {readonly string[]} texts
 * @returns {Job[]}
 */
export function packagingJobs(inputs, texts) {
  const suite = "packaging";
  // Some rebuild what others read.
  const apart = suite;
  // Applications are built and installed, which takes minutes.
  const files = { lane: /** @type {const} */ ("processor"), inputs, apart, silenceMs: 600_000 };
  const name = "npm run pack";
  return [
    {
      ...{ suite, name, lane: "processor", apart, inputs, isStep: true },
      async run() {
        mkdirSync(testedTarballs, { recursive: true });
        const log = resultFile(name, "log");
        const args = ["run", "--silent", "pack", "--", testedTarballs];
        const { exitCode } = await runProgram("npm", args, { log, silenceMs: PACK_SILENCE_MS });
        if (exitCode !== 0) return { tests: [], failure: endOf(log) };
        return { tests: [], next: nodeJobs(suite, files, texts) };
      },
    },
  ];
}
