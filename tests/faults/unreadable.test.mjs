// @ts-check
// Answers that can't be read, and none at all: a command that may run is not lost sight of.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connect, isSandpipeError } from "sandpipe";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";

/** What the core may take for no answer at all, and a little more. */
const PATIENCE_MS = 60_000;

describe(
  "unreadable answers",
  { concurrency: true, skip: process.env["SEED"] !== undefined },
  () => {
    for (const kind of /** @type {import("./rig.mjs").AgentKind[]} */ (["full", "plain"])) {
      describe(
        kind === "full" ? "with all extensions" : "without extensions",
        {
          concurrency: true,
        },
        () => {
          /** @type {Rig} */
          let rig;
          before(async () => {
            rig = await Rig.start(kind);
          });
          after(() => rig.stop());

          for (const answer of /** @type {const} */ ([
            "answer cut: clean",
            "200 page",
            "no answer",
          ])) {
            for (const befallen of /** @type {const} */ (["health", "create", "get", "stream"])) {
              it(`survives it or says what is not known: ${befallen}, ${answer}`, async () => {
                await survives(rig, befallen, answer);
              });
            }
          }
        },
      );
    }
  },
);

/**
 * @param {Rig} rig
 * @param {import("./plan.mjs").Kind} befallen the first request of this kind
 * @param {import("./plan.mjs").AnswerFault} answer
 */
async function survives(rig, befallen, answer) {
  const seed = `${befallen} ${answer}`;
  /** @type {Set<import("./plan.mjs").Kind>} */
  const seen = new Set();
  const proxy = new Proxy(rig.agent.url, {
    next({ kind }) {
      if (seen.has(kind)) return undefined;
      seen.add(kind);
      if (kind === befallen) return { name: answer, answer };
      // The agent is asked what became of the exec when a stream breaks.
      return befallen === "get" && kind === "stream"
        ? { name: "refused", answer: "refused" }
        : undefined;
    },
  });
  const url = await proxy.listen();
  const sandbox = await connect({ url, token: rig.agent.token });
  const late = setTimeout(() => sandbox.close(), PATIENCE_MS);
  try {
    const result = await sandbox.execs
      .exec("sh", ["-c", `echo ran >> "$0"; echo out; exit 3`, rig.countFile(seed)])
      .catch((/** @type {unknown} */ error) => ({ error }));
    if ("error" in result) {
      const { error } = result;
      if (!isSandpipeError(error)) throw error;
      assert.notEqual(error.code, "closed", `nothing came of it in ${PATIENCE_MS} ms`);
      const wanted = befallen === "create" ? "create_unknown" : "exit_code_missing";
      // A command that has not been created can't have been lost sight of.
      if (befallen !== "health") assert.equal(error.code, wanted, error.message);
      assert.ok((await rig.timesRun(seed)) <= (befallen === "health" ? 0 : 1));
    } else {
      assert.deepEqual(result, { exitCode: 3, output: "out\n" });
      assert.equal(await rig.timesRun(seed), 1);
    }
  } finally {
    clearTimeout(late);
    sandbox.close();
    await proxy.close();
  }
}
