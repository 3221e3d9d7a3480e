// @ts-check
// What the arguments of `npm test` mean.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { nodeJobs } from "../../scripts/suites/node.mjs";
import { selectionOf, WrongArguments } from "../../scripts/suites/selection.mjs";

/** @import { Suite } from "../../scripts/suites/suites.mjs" */

/** @type {Suite[]} */
const SUITES = ["node", "cli", "rare"].map((name) => ({
  ...{ name, builds: [], needs: [], jobs: () => [], isOnlyNamed: name === "rare" },
}));

/** @param {string[]} args */
function select(...args) {
  const { chosen, ...rest } = selectionOf(args, SUITES, { isCI: false });
  return { ...rest, chosen: chosen.map(({ suite, texts }) => [suite.name, ...texts]) };
}

describe("npm test", () => {
  it("runs all suites but those that are to be named, and leaves out what has not changed", () => {
    assert.deepEqual(select(), {
      ...{ isAll: false, isWhole: true, repeat: 1, isUnderLoad: false },
      chosen: [["node"], ["cli"]],
    });
  });

  it("runs what is named, or a part of it, whether it has changed or not", () => {
    const { chosen, isAll, isWhole } = select("rare", "node:exec:1");
    assert.deepEqual(chosen, [["rare"], ["node", "exec:1"]]);
    assert.deepEqual([isAll, isWhole], [true, false]);
  });

  it("runs a suite once that is named several times, with all its texts", () => {
    const texts = ["node:exec", "cli", "node:attach", "cli:attach"];
    assert.deepEqual(select(...texts).chosen, [["node", "exec", "attach"], ["cli"]]);
  });

  it("runs each file once whose name contains one of the texts", () => {
    const options = /** @type {const} */ ({ lane: "waiting", inputs: [] });
    const names = nodeJobs("runner", options, ["sel", "selection", "until"]).map(
      ({ name }) => name,
    );
    assert.deepEqual(names, ["tests/runner/selection.test.mjs", "tests/runner/until.test.mjs"]);
  });

  it("runs everything when it is told to, and for continuous integration", () => {
    assert.equal(select("--all").isAll, true);
    assert.equal(selectionOf([], SUITES, { isCI: true }).isAll, true);
  });

  it("repeats under load", () => {
    const { repeat, isUnderLoad, isAll } = select("--repeat", "20", "--under-load", "node");
    assert.deepEqual([repeat, isUnderLoad, isAll], [20, true, true]);
  });

  it("says what is wrong with an argument", () => {
    for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
      [["nodes"], /^There is no suite "nodes", only: node, cli, rare\.$/],
      [["--repeat", "0"], /^--repeat 0: it must be a whole number from 1 on\.$/],
      [["--repeat", "many"], /^--repeat many: /],
      [["--al"], /--al/],
    ])) {
      assert.throws(
        () => select(...args),
        (error) => error instanceof WrongArguments && message.test(error.message),
      );
    }
  });
});
