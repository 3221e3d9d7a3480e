// @ts-check
// Scripts of a runtime, and how they fail.
import assert from "node:assert/strict";

import { marker } from "./processes.mjs";

/** What a script rejects with, which must not end otherwise. @param {Promise<unknown>} running */
export const failure = (running) =>
  running.then(
    (result) => assert.fail(`it ended with ${JSON.stringify(result)}`),
    (error) => error,
  );

/** What marks the processes of a script: a line that sets a variable for all it starts. */
export const mark = () => {
  const env = marker();
  return { line: `export ${Object.keys(env)}=1\n`, env };
};
