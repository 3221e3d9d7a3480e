// @ts-check
/** Node.js: the oldest that the package supports, which is also the one that runs this, and later ones. */

/** @typedef {import("../row.mjs").Row} Row */

const files = {
  "import.mjs": `
    import { connect } from "sandpipe";
    import { runInProgram } from "./in-program.mjs";
    await runInProgram(connect);
  `,
  "require.cjs": `
    const { connect } = require("sandpipe");
    import("./in-program.mjs").then(({ runInProgram }) => runInProgram(connect));
  `,
  "worker-thread.mjs": `
    import { Worker } from "node:worker_threads";
    new Worker(new URL("import.mjs", import.meta.url));
  `,
};

/** The program of a version of Node.js that comes as a package. */
const packaged = `node-linux-${process.arch}`;

/**
 * @param {string | undefined} version as a package; else the one that runs this
 * @param {string} permission the flag of the permission model
 * @returns {Row}
 */
function node(version, permission) {
  /** @param {import("../application.mjs").Application} app */
  const program = (app) =>
    version === undefined ? process.execPath : app.module(`${packaged}/bin/node`);
  const major = version ?? process.versions.node.split(".")[0];
  return {
    name: `Node.js ${major}`,
    family: "Runtimes",
    ...(version === undefined ? { quick: true } : {}),
    install: version === undefined ? {} : { [packaged]: version },
    files,
    version: async (app) =>
      `Node.js ${(await app.run(program(app), ["--version"])).trim().slice(1)}`,
    parts: {
      "`import`": (app) => app.runJob(program(app), ["import.mjs"]),
      "`require`": (app) => app.runJob(program(app), ["require.cjs"]),
      "worker thread": (app) => app.runJob(program(app), ["worker-thread.mjs"]),
      "permission model": (app) =>
        app.runJob(program(app), [permission, `--allow-fs-read=${app.path}/*`, "import.mjs"]),
    },
  };
}

/** @type {Row[]} */
export const nodeRows = [
  node(undefined, "--experimental-permission"),
  node("22", "--permission"),
  node("24", "--permission"),
];
