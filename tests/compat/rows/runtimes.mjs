// @ts-check
/** Other runtimes of programs, and a program that is compiled into one file. */

import { rm } from "node:fs/promises";
import { join } from "node:path";

/** @typedef {import("../row.mjs").Row} Row */

const main = `
  import { connect } from "sandpipe";
  import { runInProgram } from "./in-program.mjs";
  await runInProgram(connect);
`;

const deno = `@deno/linux-${process.arch}-glibc`;
const bun = `@oven/bun-linux-${process.arch === "arm64" ? "aarch64" : process.arch}`;

/** @type {Row[]} */
export const runtimeRows = [
  {
    name: "Deno",
    family: "Runtimes",
    install: { deno: "2" },
    files: { "main.mjs": main },
    version: async (app) => `Deno ${await app.version("deno")}`,
    parts: {
      "`deno run`": (app) =>
        app.runJob(app.module(`${deno}/deno`), ["run", "--allow-all", "main.mjs"]),
    },
  },
  {
    name: "Bun",
    family: "Runtimes",
    install: { bun: "1" },
    files: { "main.mjs": main },
    version: async (app) => `Bun ${await app.version("bun")}`,
    parts: {
      "`bun run`": (app) => app.runJob(app.module(`${bun}/bin/bun`), ["run", "main.mjs"]),
      "`bun build --compile`": async (app) => {
        const args = ["build", "--compile", "main.mjs", "--outfile", "out/main"];
        await app.run(app.module(`${bun}/bin/bun`), args);
        const folder = await app.elsewhere("out");
        // What it was compiled from is not there any more.
        await rm(app.module("sandpipe"), { recursive: true });
        return app.runJob(join(folder, "main"), []);
      },
    },
  },
];
