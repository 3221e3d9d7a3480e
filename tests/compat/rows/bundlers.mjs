// @ts-check
/** Bundlers, with a page and with a program for Node.js, which run where nothing of the application is found. */

import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../support/free-port.mjs";
import { page, pageScript } from "../page.mjs";

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

const files = {
  "main.js": pageScript,
  "index.html": page("./main.js"),
  "program.js": `
    import { connect } from "sandpipe";
    import { runInProgram } from "./in-program.mjs";
    runInProgram(connect);
  `,
};

/**
 * @param {Application} app
 * @param {string} program in node_modules
 * @param {readonly string[]} args
 */
const build = (app, program, args) => app.run(process.execPath, [app.module(program), ...args]);

/**
 * Opens a page with a script that was built.
 *
 * @param {Application} app
 * @param {"module" | "text/javascript"} type of the script
 */
async function openPage(app, type) {
  const folder = await app.elsewhere("out");
  await mkdir(folder, { recursive: true });
  const name = "index.html";
  await app.write({ [`pages/${name}`]: page("./main.js", "", type) });
  await cp(join(app.path, "pages", name), join(folder, name));
  return app.visit(await app.serve(folder));
}

/**
 * Runs a program that was built.
 *
 * @param {Application} app
 * @param {string} program
 */
async function runProgram(app, program) {
  return app.runJob(process.execPath, [join(await app.elsewhere("out"), program)]);
}

/** @type {(name: string, target: string) => string} */
const webpackConfig = (entry, target) => `
  import { fileURLToPath } from "node:url";
  const path = fileURLToPath(new URL("out", import.meta.url));
  export default {
    mode: "production",
    target: "${target}",
    entry: "./${entry}.js",
    output: { path, filename: "${entry}.js" },
  };
`;

/**
 * webpack, or what has the same configuration.
 *
 * @param {string} name
 * @param {string} version
 * @param {Record<string, string>} packages
 * @param {string} program
 * @returns {Row}
 */
function webpack(name, version, packages, program) {
  return {
    name,
    family: "Bundlers",
    install: packages,
    files: {
      ...files,
      "page.config.mjs": webpackConfig("main", "web"),
      "program.config.mjs": webpackConfig("program", "node"),
    },
    version: async (app) => `${name} ${await app.version(version)}`,
    parts: {
      page: async (app) => {
        await build(app, program, ["build", "--config=page.config.mjs"]);
        return openPage(app, "text/javascript");
      },
      "program for Node.js": async (app) => {
        await build(app, program, ["build", "--config=program.config.mjs"]);
        // It is a CommonJS module.
        await app.write({ "out/package.json": "{}" });
        return runProgram(app, "program.js");
      },
    },
  };
}

/**
 * Rollup, or what has the same command line.
 *
 * @param {string} name
 * @param {Record<string, string>} packages
 * @param {string} program
 * @param {{ page: readonly string[], program: readonly string[] }} args
 * @returns {Row}
 */
function rollup(name, packages, program, args) {
  const [main = ""] = Object.keys(packages);
  return {
    name,
    family: "Bundlers",
    ...(name === "Rolldown" ? { quick: true } : {}),
    install: packages,
    files,
    version: async (app) => `${name} ${await app.version(main)}`,
    parts: {
      page: async (app) => {
        await build(app, program, ["main.js", "--dir=out", "--format=es", ...args.page]);
        return openPage(app, "module");
      },
      "program for Node.js": async (app) => {
        await build(app, program, ["program.js", "--dir=out", "--format=es", ...args.program]);
        await app.write({ "out/package.json": JSON.stringify({ type: "module" }) });
        return runProgram(app, "program.js");
      },
    },
  };
}

/**
 * @param {string} entry
 * @param {readonly string[]} args
 * @returns {(app: Application) => Promise<unknown>}
 */
const esbuild = (entry, args) => (app) =>
  build(app, "esbuild/bin/esbuild", [entry, "--bundle", "--minify", ...args]);

/** @type {Row[]} */
export const bundlerRows = [
  webpack("webpack", "webpack", { webpack: "5", "webpack-cli": "6" }, "webpack-cli/bin/cli.js"),
  webpack(
    "Rspack",
    "@rspack/core",
    { "@rspack/core": "1", "@rspack/cli": "1" },
    "@rspack/cli/bin/rspack.js",
  ),
  rollup("Rollup", { rollup: "4", "@rollup/plugin-node-resolve": "16" }, "rollup/dist/bin/rollup", {
    page: ["--plugin=node-resolve={browser:true}"],
    program: ["--plugin=node-resolve={exportConditions:['node']}"],
  }),
  rollup("Rolldown", { rolldown: "1" }, "rolldown/bin/cli.mjs", {
    page: ["--platform=browser"],
    program: ["--platform=node"],
  }),
  {
    name: "esbuild",
    family: "Bundlers",
    install: { esbuild: "0.28" },
    files,
    version: async (app) => `esbuild ${await app.version("esbuild")}`,
    parts: {
      "page, ESM": async (app) => {
        await esbuild("main.js", ["--format=esm", "--outfile=out/main.js"])(app);
        return openPage(app, "module");
      },
      "page, IIFE": async (app) => {
        await esbuild("main.js", ["--format=iife", "--outfile=out/main.js"])(app);
        return openPage(app, "text/javascript");
      },
      "program for Node.js, ESM": async (app) => {
        const args = ["--format=esm", "--platform=node", "--outfile=out/program.mjs"];
        await esbuild("program.js", args)(app);
        return runProgram(app, "program.mjs");
      },
      "program for Node.js, CommonJS": async (app) => {
        const args = ["--format=cjs", "--platform=node", "--outfile=out/program.cjs"];
        await esbuild("program.js", args)(app);
        return runProgram(app, "program.cjs");
      },
    },
  },
  {
    name: "Parcel",
    family: "Bundlers",
    install: { parcel: "2" },
    files,
    version: async (app) => `Parcel ${await app.version("parcel")}`,
    parts: {
      development: async (app) => {
        const port = await freePort();
        const program = app.module("parcel/lib/bin.js");
        const args = [program, "serve", "index.html", `--port=${port}`];
        await app.start(process.execPath, args, /Built in/);
        return app.visit(`http://localhost:${port}/`);
      },
      build: async (app) => {
        await build(app, "parcel/lib/bin.js", ["build", "index.html", "--dist-dir=out"]);
        return app.visit(await app.serve(await app.elsewhere("out")));
      },
    },
  },
];
