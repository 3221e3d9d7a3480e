// @ts-check
// The rows of `npm run compat` that install nothing but what the workspace has.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { packRoot } from "../compat/packages.mjs";
import { runRow } from "../compat/row.mjs";
import { rows } from "../compat/rows.mjs";
import { withSurroundings } from "../compat/surroundings.mjs";
import { document } from "../compat/table.mjs";
import { differences } from "../compat/truth.mjs";

const quick = rows.flatMap((row) => {
  if (row.quick === undefined) return [];
  const { quick, parts } = row;
  const names = quick === true ? Object.keys(parts) : quick;
  const chosen = Object.entries(parts).filter(([name]) => names.includes(name));
  return [{ ...row, parts: Object.fromEntries(chosen) }];
});

test("does the main job in every row that needs no download", async (t) => {
  await withSurroundings("workspace", packRoot, async (surroundings) => {
    for (const row of quick) {
      await t.test(row.name, async () => {
        /** @type {string[]} */
        const failures = [];
        await runRow(row, surroundings, ({ part, failure, line }) => {
          if (failure !== undefined) failures.push(`${part}: ${failure}`);
          if (line !== undefined) failures.push(`${part} works only with ${line}`);
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
    const text = document([{ ...works, line: "`connect({ wasm })`" }], "");
    assert.match(text, /\| build \| works with: `connect\(\{ wasm \}\)` \|/);
  });

  test("says why a part fails, in one cell", () => {
    const text = document([{ ...works, failure: "a `b`\n  c | d" }], "");
    assert.match(text, /\| build \| fails: `a 'b' c \\\| d` \|/);
  });
});

test("an answer that differs from the truth is told by its place", () => {
  const truth = { exec: { exitCode: 3, output: "hello\n" }, large: { length: 2 } };
  assert.deepEqual(
    differences({ exec: { exitCode: 3, output: "hello\n" }, large: { length: 2 } }, truth),
    [],
  );
  assert.deepEqual(differences({ exec: { exitCode: 0, output: "" } }, truth), [
    "exec.exitCode is 0, not 3",
    'exec.output is "", not "hello\\n"',
    "large is missing",
  ]);
  assert.deepEqual(differences(undefined, truth), ["it is missing"]);
});
