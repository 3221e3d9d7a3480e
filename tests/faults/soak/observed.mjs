// @ts-check
/** Commands that were there before the trouble began, and are to be told of truly all the same. */

import assert from "node:assert/strict";

/** Longer than it takes where little is granted. */
const ANSWER_TIMEOUT_MS = 60_000;

/**
 * A thread that the agent has for a moment's work ends when it had none for 10 s: after this, it has those
 * alone that it keeps.
 */
export const UNTIL_IDLE_MS = 12_000;

const SCRIPT = "echo one; read go; echo two; echo three >&2; exit 7";

/**
 * Starts some, and waits until each runs.
 *
 * @param {import("sandpipe").Execs} execs
 * @param {number} count
 */
export async function startObserved(execs, count) {
  const started = await Promise.all(
    Array.from({ length: count }, async () => {
      const { id } = await execs.create({ command: "sh", args: ["-c", SCRIPT] });
      for await (const event of execs.streamOutput(id)) if (event.output.includes("one")) break;
      // It is followed from now on.
      const end = execs.wait(id);
      end.catch(() => undefined);
      return { id, end };
    }),
  );
  return started;
}

/**
 * Has them go on and end.
 *
 * @param {import("./row.mjs").Promises} promises
 * @param {import("sandpipe").Execs} execs
 * @param {Awaited<ReturnType<typeof startObserved>>} observed
 */
export async function checkObserved(promises, execs, observed) {
  await Promise.all(
    observed.map(async ({ id, end }) => {
      await promises.keeps("input arrives", ANSWER_TIMEOUT_MS, () =>
        execs.sendStdin(id, { input: "go\n" }),
      );
      await promises.keeps("an exec ends with its output and code", ANSWER_TIMEOUT_MS, async () => {
        const { exitCode, output } = await end;
        const lines = output.split("\n").sort();
        assert.deepEqual({ exitCode, lines }, { exitCode: 7, lines: ["", "one", "three", "two"] });
      });
      await promises.keeps("the agent shows it as ended", ANSWER_TIMEOUT_MS, async () => {
        const { status, exitCode } = await execs.get(id);
        assert.deepEqual({ status, exitCode }, { status: "EXITED", exitCode: 7 });
      });
    }),
  );
}

/**
 * What holds once the trouble is over.
 *
 * @param {import("./row.mjs").Promises} promises
 * @param {import("sandpipe").Execs} execs
 */
export async function checkAfterwards(promises, execs) {
  await promises.keeps("no exec is RUNNING afterwards", ANSWER_TIMEOUT_MS, async () => {
    const running = (await execs.list()).filter(({ status }) => !/^(EXITED|STOPPED)$/.test(status));
    assert.deepEqual(
      running.map(({ command, args, status }) => [status, command, ...args].join(" ")),
      [],
    );
  });
  await promises.keeps("a new exec runs afterwards", ANSWER_TIMEOUT_MS, async () => {
    const { exitCode, output } = await execs.exec("echo", ["hello"]);
    assert.deepEqual({ exitCode, output }, { exitCode: 0, output: "hello\n" });
  });
}
