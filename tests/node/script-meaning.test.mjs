// @ts-check
// A script means the same on this machine, in a sandbox and in a session: what `sh -c` makes of it.
import { join } from "node:path";

import { connect } from "sandpipe";
import { localRuntime } from "sandpipe/node";

import { startTestAgent } from "../support/agent.mjs";
import { directoryWith, testMeaning } from "./script-meaning.mjs";

for (const shell of ["sh", "bash"]) {
  testMeaning(
    `this machine with ${shell}`,
    () => Promise.resolve({ runtime: localRuntime({ shell }), shell }),
    { whole: shell === "sh" },
  );
}

testMeaning("this machine with busybox", () => {
  const shell = join(directoryWith("busybox"), "sh");
  return Promise.resolve({ runtime: localRuntime({ shell }), shell });
});

/** @returns {Promise<{ sandbox: import("sandpipe").Sandbox, close: () => Promise<void> }>} */
async function openSandbox() {
  const agent = await startTestAgent();
  const sandbox = await connect(agent);
  const close = async () => {
    sandbox.close();
    await agent.stop();
  };
  return { sandbox, close };
}

testMeaning(
  "a sandbox",
  async () => {
    const { sandbox, close } = await openSandbox();
    return { runtime: sandbox, shell: "sh", close };
  },
  { apart: true },
);

testMeaning(
  "a session",
  async () => {
    const { sandbox, close } = await openSandbox();
    const runtime = {
      /** @param {string} script */
      run: async (script) => {
        const session = await sandbox.sessions.create();
        try {
          return await session.run(script);
        } finally {
          await session.close();
        }
      },
    };
    return { runtime, shell: "bash", close };
  },
  { whole: true, without: ({ notInSession }) => notInSession !== undefined, apart: true },
);
