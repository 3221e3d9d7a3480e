// @ts-check
/** Test runners, each with a test that does the main job. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

/** Runners keep what a test prints to themselves or dress it up: it goes to a file. */
const body = `
  import { writeFile } from "node:fs/promises";
  import { connect } from "sandpipe";
  import { job } from "./job.mjs";
  test("does the main job", async () => {
    const { COMPAT_URL: url, COMPAT_TOKEN: token } = process.env;
    const found = await job(connect, { url, token });
    expect(found.exec.exitCode).toBe(3);
    await writeFile("found.json", JSON.stringify(found));
  }, 60_000);
`;

/** @param {Application} app */
async function found(app) {
  return JSON.parse(await readFile(join(app.path, "found.json"), "utf8"));
}

/** @type {Row[]} */
export const testRunnerRows = [
  {
    name: "Vitest",
    family: "Test runners",
    install: { vitest: "4" },
    files: { "main.test.js": `import { expect, test } from "vitest";\n${body}` },
    version: async (app) => `Vitest ${await app.version("vitest")}`,
    parts: {
      "a test": async (app) => {
        await app.run(process.execPath, [app.module("vitest/vitest.mjs"), "run"]);
        return found(app);
      },
    },
  },
  {
    name: "Jest",
    family: "Test runners",
    install: { jest: "30" },
    files: { "main.test.js": body, "jest.config.json": JSON.stringify({ transform: {} }) },
    version: async (app) => `Jest ${await app.version("jest")}`,
    parts: {
      // As Jest's documentation has it for ECMAScript modules of any kind.
      "a test, with `NODE_OPTIONS=--experimental-vm-modules`": async (app) => {
        const args = ["--experimental-vm-modules", app.module("jest/bin/jest.js")];
        await app.run(process.execPath, args);
        return found(app);
      },
    },
  },
];
