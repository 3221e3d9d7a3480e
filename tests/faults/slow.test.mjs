// @ts-check
// Faults that take their time: what proxies and networks do to streams that last.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter, fallSilent } from "./stream-faults.mjs";

/**
 * @typedef {import("./plan.mjs").Asked} Asked
 * @typedef {import("./plan.mjs").Fault} Fault
 */

/** As long as the core waits for a sign of life. */
const SILENCE_MS = 45_000;

const skip = process.env["SEED"] !== undefined;

/** @type {Record<"full" | "apart", string>} */
const AGENTS = {
  full: "of a create's answer",
  apart: "of a stream by itself",
};

for (const [kind, title] of /** @type {["full" | "apart", string][]} */ (Object.entries(AGENTS))) {
  describe(`slow faults ${title}`, { concurrency: true, skip }, () => {
    /** @type {Rig} */
    let rig;
    before(async () => {
      rig = await Rig.start(kind);
    });
    after(() => rig.stop());

    /**
     * Runs a shell script through a proxy, with the settings that a user has who sets nothing.
     *
     * @param {string} script
     * @param {(asked: Asked, count: number) => Fault | undefined} plan `count`: the requests of this
     * kind, this one included
     */
    async function runThrough(script, plan) {
      /** @type {(Asked & { time: number })[]} */
      const asked = [];
      const proxy = new Proxy(rig.agent.url, {
        next(request) {
          asked.push({ ...request, time: performance.now() });
          return plan(request, asked.filter(({ kind }) => kind === request.kind).length);
        },
      });
      const url = await proxy.listen();
      const sandbox = await connect({ url, token: rig.agent.token });
      const start = performance.now();
      try {
        const result = await sandbox.execs.exec("sh", ["-c", script]);
        const { struck, errors } = proxy;
        assert.deepEqual(errors, []);
        return { ...result, struck: struck.length, asked, time: performance.now() - start };
      } finally {
        sandbox.close();
        await proxy.close();
      }
    }

    for (const ending of /** @type {const} */ (["clean", "abort", "reset"])) {
      it(`a proxy that ends every stream after 2 s (${ending}) is not noticed`, async () => {
        const ended = join(rig.folder, `ended-${ending}`);
        let streams = 0;
        const { exitCode, output } = await runThrough(
          `i=0; while [ ! -e '${ended}' ]; do i=$((i+1)); echo $i é€😀; sleep 0.1; done; echo $i; exit 9`,
          (asked) => {
            if (!asked.streams) return undefined;
            // Three have been ended.
            if (++streams === 4) writeFileSync(ended, "");
            return { name: "ends", carry: endAfter(2000, ending) };
          },
        );
        const lines = output.split("\n").length - 2;
        const expected = Array.from({ length: lines }, (_, index) => `${index + 1} é€😀\n`);
        assert.equal(output, `${expected.join("")}${lines}\n`);
        assert.equal(exitCode, 9);
      });
    }

    for (const bytes of [0, 40, 400]) {
      it(`a stream that is dead after ${bytes} bytes is given up after 45 s of silence`, async () => {
        let dead = false;
        const { exitCode, output, struck, time } = await runThrough(
          "seq 1 100; exit 3",
          ({ streams }) => {
            if (dead || !streams) return undefined;
            dead = true;
            return { name: "dead", carry: fallSilent(bytes) };
          },
        );
        assert.equal(output, Array.from({ length: 100 }, (_, index) => `${index + 1}\n`).join(""));
        assert.equal(exitCode, 3);
        assert.equal(struck, 1);
        assert.ok(time >= SILENCE_MS && time < SILENCE_MS + 5000, `it took ${time} ms`);
      });
    }

    it("a command that is silent for longer than that keeps its stream", async () => {
      const { exitCode, output, asked } = await runThrough("sleep 48; echo awake", () => undefined);
      assert.deepEqual({ exitCode, output }, { exitCode: 0, output: "awake\n" });
      assert.equal(asked.filter(({ streams }) => streams).length, 1);
    });

    it("input that a command does not read for longer than that arrives once", async () => {
      const input = "x".repeat(1_000_000);
      const result = await rig.direct.exec("sh", ["-c", "sleep 48; wc -c"], { input });
      assert.deepEqual(result, { exitCode: 0, output: "1000000\n" });
    });

    it("Retry-After is obeyed, where it is longer than the own pause, too", async () => {
      const kinds = kind === "full" ? ["health", "create"] : ["health", "create", "stream"];
      for (const refused of kinds) {
        const { exitCode, asked } = await runThrough("exit 4", ({ kind }, count) =>
          kind === refused && count === 1
            ? { name: "later", answer: "429, Retry-After", retryAfter: 2 }
            : undefined,
        );
        assert.equal(exitCode, 4);
        const [first, second] = asked
          .filter(({ kind }) => kind === refused)
          .map(({ time }) => time);
        assert.ok(first !== undefined && second !== undefined);
        assert.ok(second - first >= 1990, `${refused}: again after ${second - first} ms`);
      }
    });
  });
}
