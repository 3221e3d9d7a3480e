// @ts-check
// What is wrong with arguments.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";

import { background, InvalidArgumentError, NotFoundError } from "sandpipe";

/** @import { Tests } from "../../support/matrix.mjs" */
/** @import { Subject } from "./subject.mjs" */

/** @param {Subject} subject @param {Tests} tests */
export function testArguments(subject, { it, contract }) {
  describe("arguments", () => {
    it("says what is wrong with an argument", async () => {
      /** @type {[RegExp, () => Promise<unknown>][]} */
      const cases = [
        ...["../x", "", ".", "..", "a/b", "-x", "a b", "x\n"].map(
          (id) =>
            /** @type {[RegExp, () => Promise<unknown>]} */ ([
              /`id`/,
              () => subject.processes.get(id),
            ]),
        ),
        [/`id`/, () => subject.processes.remove("../x")],
        [/`id`/, () => subject.processes.terminate("../x")],
        [/`id`/, () => subject.processes.wait("../x")],
        [/`id`/, () => subject.processes.readOutput("../x")],
        [/`options.namespace`/, () => background(subject.runtime, { namespace: "../x" }).list()],
        [/`options.baseDir`/, () => background(subject.runtime, { baseDir: "" }).list()],
        [/`options.baseDir`/, () => background(subject.runtime, { baseDir: "a\0b" }).list()],
        [/`runtime.run`/, () => background(/** @type {any} */ ({})).list()],
        [/`script`/, () => subject.processes.spawn("a\0b")],
        [/`options.env`/, () => subject.processes.spawn("true", { env: { "A-B": "" } })],
        [/`options.env.A`/, () => subject.processes.spawn("true", { env: { A: "\0" } })],
        [
          /`options.env.A`.*131071/,
          () => subject.processes.spawn("true", { env: { A: "x".repeat(128 * 1024 - 2) } }),
        ],
        [/`options.cwd`/, () => subject.processes.spawn("true", { cwd: "" })],
        [/`options.name`.*NUL/, () => subject.processes.spawn("true", { name: "a\0b" })],
        [/`options.timeoutMs`/, () => subject.processes.spawn("true", { timeoutMs: -1 })],
        [/`options.filter`.*\(/, () => subject.processes.readOutput("x", { filter: "(" })],
        [/`options.exclude`/, () => subject.processes.readOutput("x", { exclude: true })],
        [/`options.maxBytes`/, () => subject.processes.readOutput("x", { maxBytes: 3 })],
        [
          /`options.tailBytes`/,
          () => subject.processes.readOutput("x", { offset: 1, tailBytes: 1 }),
        ],
        [
          /`options.stream`/,
          () => subject.processes.readOutput("x", { stream: /** @type {any} */ ("x") }),
        ],
        [/`command`/, () => subject.processes.run("a\0b")],
        [/`options.env`/, () => subject.processes.run("true", { env: { "A=B": "" } })],
        [/`options.env.A`/, () => subject.processes.run("true", { env: { A: "\0" } })],
        [/`options.cwd`/, () => subject.processes.run("true", { cwd: "" })],
        [/`options.name`/, () => subject.processes.run("true", { name: /** @type {any} */ (1) })],
        [/`options.name`.*NUL/, () => subject.processes.run("true", { name: "a\0b" })],
        [/`options.timeoutMs`/, () => subject.processes.run("true", { timeoutMs: NaN })],
      ];
      for (const [expected, call] of cases) {
        await assert.rejects(
          call,
          (error) => error instanceof InvalidArgumentError && expected.test(error.message),
          String(expected),
        );
      }
    });

    contract("says that there is no process of an id", async () => {
      for (const call of [
        () => subject.processes.get("none"),
        () => subject.processes.wait("none"),
        () => subject.processes.terminate("none"),
        () => subject.processes.remove("none"),
        () => subject.processes.readOutput("none"),
        () =>
          background(subject.runtime, { baseDir: join(subject.directory, "nothing") }).get("none"),
      ]) {
        await assert.rejects(
          call,
          (error) => error instanceof NotFoundError && error.id === "none",
        );
      }
      assert.deepEqual(
        await background(subject.runtime, { baseDir: join(subject.directory, "nothing") }).list(),
        [],
      );
      assert.equal(existsSync(join(subject.directory, "nothing")), false);
    });
  });
}
