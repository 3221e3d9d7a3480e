// @ts-check
// The rows of `npm run compat` that install nothing but what the workspace has.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Visits } from "../compat/browsers/visits.mjs";
import { packRoot } from "../compat/packages.mjs";
import { runRow } from "../compat/row.mjs";
import { rows } from "../compat/rows.mjs";
import { withRowContext } from "../compat/row-context.mjs";
import { document, isComplete } from "../compat/table.mjs";
import { differences, findExpected } from "../compat/expected.mjs";

const quick = rows.flatMap((row) => {
  if (row.quick === undefined) return [];
  const { quick, parts } = row;
  const names = quick === true ? Object.keys(parts) : quick;
  const chosen = Object.entries(parts).filter(([name]) => names.includes(name));
  return [{ ...row, parts: Object.fromEntries(chosen) }];
});

test("does the main job in every row that needs no download", async (t) => {
  await withRowContext("workspace", packRoot, async (context) => {
    for (const row of quick) {
      await t.test(row.name, async () => {
        /** @type {string[]} */
        const failures = [];
        await runRow(row, context, ({ part, failure, workaround }) => {
          if (failure !== undefined) failures.push(`${part}: ${failure}`);
          if (workaround !== undefined) failures.push(`${part} works only with ${workaround}`);
        });
        assert.deepEqual(failures, []);
      });
    }
  });
});

describe("the table", () => {
  /** @type {import("../compat/row.mjs").Result} */
  const works = { family: "Bundlers", row: "Vite", part: "build", version: "Vite 8.1.0", ms: 1 };

  test("has a heading for each family, and a line for each part", () => {
    const lines = document(
      [works, { ...works, family: "Runtimes", version: "Node.js 20.1.0" }],
      "",
    );
    assert.match(lines, /## Bundlers\n\n[^]*\| Vite 8\.1\.0 \| build \| works \|\n\n## Runtimes\n/);
    assert.match(lines, /\| Node\.js 20\.1\.0 \| build \| works \|\n$/);
  });

  test("says the line that a part needs", () => {
    const text = document([{ ...works, workaround: "`connect({ wasm })`" }], "");
    assert.match(text, /\| build \| works with: `connect\(\{ wasm \}\)` \|/);
  });

  test("is written only of all parts of all rows, and where all worked", () => {
    const parts = { development: async () => ({}), build: async () => ({}) };
    const row = { name: "Vite", family: "Bundlers", version: () => "Vite 8.1.0", parts };
    const rows = [row];
    const both = [works, { ...works, part: "development" }];
    assert.ok(isComplete(both, rows));
    assert.ok(isComplete([works, { ...works, part: "development", workaround: "a line" }], rows));
    assert.ok(!isComplete([works], rows));
    assert.ok(!isComplete([works, { ...works, part: "development", failure: "no" }], rows));
    assert.ok(!isComplete(both, [row, { ...row, name: "Rollup" }]));
  });
});

describe("a part of a row", () => {
  const context = {
    ...{ agent: { url: "", token: "" }, tarballs: {}, visits: new Visits() },
    ...{ tools: /** @type {const} */ ("workspace"), expected: findExpected() },
  };
  const row = { name: "A row", family: "Tests", bare: true, version: () => "A row 1" };
  const workaround = {
    ...{ text: "the line", error: /has no line/ },
    files: { "file.txt": "the line" },
  };

  /**
   * @param {(app: import("../compat/application.mjs").Application) => Promise<unknown>} part
   * @param {Partial<import("../compat/row.mjs").Row>} [more]
   */
  async function resultOf(part, more = {}) {
    /** @type {import("../compat/row.mjs").Result[]} */
    const results = [];
    await runRow({ ...row, parts: { part }, ...more }, context, (result) => results.push(result));
    return results.map(({ failure, workaround }) => ({ failure, workaround }));
  }

  test("that fails says why, with no path of the folder that it was in", async () => {
    const failed = async (/** @type {import("../compat/application.mjs").Application} */ app) => {
      throw new Error(`${app.path}/main.js and ${app.folder}/home/log`);
    };
    assert.deepEqual(await resultOf(failed), [
      { failure: "main.js and home/log", workaround: undefined },
    ]);
  });

  test("works with a line, if the error without it is the one that leads to it", async () => {
    const needsLine = (/** @type {string} */ error) => {
      return async (/** @type {import("../compat/application.mjs").Application} */ app) => {
        await readFile(join(app.path, "file.txt")).catch(() => assert.fail(error));
        return context.expected;
      };
    };
    const more = { workarounds: { part: workaround } };
    assert.deepEqual(await resultOf(needsLine("it has no line"), more), [
      { failure: undefined, workaround: "the line" },
    ]);
    assert.deepEqual(await resultOf(needsLine("it is broken"), more), [
      {
        failure: "the error without the line is another: it is broken",
        workaround: "the line",
      },
    ]);
  });
});

test("an answer that differs from what is expected is told by its place", () => {
  const expected = { exec: { exitCode: 3, output: "hello\n" }, large: { length: 2 } };
  assert.deepEqual(
    differences({ exec: { exitCode: 3, output: "hello\n" }, large: { length: 2 } }, expected),
    [],
  );
  assert.deepEqual(differences({ exec: { exitCode: 0, output: "" } }, expected), [
    "exec.exitCode is 0, not 3",
    'exec.output is "", not "hello\\n"',
    "large is missing",
  ]);
  assert.deepEqual(differences(undefined, expected), ["it is missing"]);
});
