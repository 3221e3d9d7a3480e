// @ts-check
/**
 * Tests of background processes that hold over every runtime.
 *
 * The whole suite runs over this machine with dash: no agent and no network is in between, so it is
 * the fastest, and dash is the strictest shell: it has nothing that POSIX does not have. A new test
 * belongs to
 *
 * - `it` if it proves a decision of the client, in Rust or JavaScript;
 * - `shellContract` if another shell, or tools other than GNU's, could change its outcome. On every
 *   shell, each script of `crates/client/src/background/sh/` succeeds once and fails once in each
 *   way;
 * - `runtimeContract` if it depends on the runtime, which carries scripts of any length, returns
 *   exit codes and output, aborts, waits, and runs several scripts at a time; or on what a process
 *   inherits from the runtime: environment, directory, ignored signals, a life beyond the end of
 *   the script;
 * - `contract` if both could change its outcome.
 */

import { after, before, describe } from "node:test";

import { testsOf } from "../support/matrix.mjs";
import { testArguments } from "./suite/arguments.mjs";
import { testErrors } from "./suite/errors.mjs";
import { testNamespaces } from "./suite/namespaces.mjs";
import { testReadOutput } from "./suite/read-output.mjs";
import { testRemove } from "./suite/remove.mjs";
import { testRun } from "./suite/run.mjs";
import { testSpawn } from "./suite/spawn.mjs";
import { Subject } from "./suite/subject.mjs";
import { testTerminate } from "./suite/terminate.mjs";
import { testWaitFor } from "./suite/wait-for.mjs";
import { testWait } from "./suite/wait.mjs";

/** @import { Part } from "../support/matrix.mjs" */
/** @import { Open } from "./suite/subject.mjs" */

/** Parts of the suite: how processes start and end, and how a client follows them. */
const GROUPS = {
  processes: [testSpawn, testTerminate, testRemove, testErrors, testArguments, testNamespaces],
  output: [testReadOutput, testWait, testWaitFor, testRun],
};

/** @typedef {keyof typeof GROUPS} Group */

/** @type {readonly Group[]} */
const ALL = ["processes", "output"];

/**
 * Defines the tests for a runtime whose target is this machine.
 *
 * @param {string} name
 * @param {Open} open
 * @param {object} options
 * @param {Part} options.part
 * @param {boolean} [options.alone] it runs one script at a time
 * @param {readonly Group[]} [options.groups] all by default; a slow runtime has a file for each
 */
export function testBackground(name, open, { part, alone = false, groups = ALL }) {
  describe(`background processes over ${name}`, () => {
    const subject = new Subject();
    before(() => subject.open(open));
    after(() => subject.close());

    const tests = testsOf(part);
    for (const test of groups.flatMap((group) => GROUPS[group])) test(subject, tests, alone);
  });
}
