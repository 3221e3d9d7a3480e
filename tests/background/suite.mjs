// @ts-check
// What background processes do over every runtime.
import { after, before, describe } from "node:test";

import { testArguments } from "./suite/arguments.mjs";
import { testReadOutput } from "./suite/read-output.mjs";
import { testRemove } from "./suite/remove.mjs";
import { testRun } from "./suite/run.mjs";
import { testSpawn } from "./suite/spawn.mjs";
import { Subject } from "./suite/subject.mjs";
import { testTerminate } from "./suite/terminate.mjs";
import { testWaitFor } from "./suite/wait-for.mjs";
import { testWait } from "./suite/wait.mjs";

/** @import { Open } from "./suite/subject.mjs" */

/**
 * Defines the tests for a runtime whose target is this machine.
 *
 * @param {string} name
 * @param {Open} open
 * @param {{ alone?: boolean }} [options] `alone`: it runs one script at a time
 */
export function testBackground(name, open, { alone = false } = {}) {
  describe(`background processes over ${name}`, () => {
    const subject = new Subject();
    before(() => subject.open(open));
    after(() => subject.close());

    testSpawn(subject);
    testReadOutput(subject);
    testWait(subject, alone);
    testWaitFor(subject, alone);
    testTerminate(subject);
    testRemove(subject);
    testRun(subject);
    testArguments(subject);
  });
}
