// @ts-check
/** Package managers: each installs the packages into an application, and runs a program and the command line. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agent } from "../../../scripts/project.mjs";

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

/** The application's folder: beside it is the package manager itself. */
const cwd = "project";

const files = {
  "project/main.mjs": `
    import { connect } from "sandpipe";
    import { runInProgram } from "../in-program.mjs";
    await runInProgram(connect);
  `,
};

/**
 * The command line's exit code is the command's, and `--env-file` is the command's own.
 *
 * @param {Application} app
 * @param {readonly string[]} sandpipe what starts it, without a Node.js before it that would read the file itself
 */
async function runCommandLine(app, sandpipe) {
  // Without a package of the agent, the one that was built.
  const env = Object.keys(app.context.tarballs).length > 1 ? {} : { SANDPIPE_AGENT: agent };
  const script = "echo ran $*; exit 7";
  const run = [
    ...sandpipe,
    "run",
    "--policy=open",
    "sh",
    "-c",
    script,
    "sh",
    "--env-file",
    "x.env",
  ];
  // Node.js would take NODE_OPTIONS from the file, and run that.
  await app.write({
    "project/x.env": "NODE_OPTIONS=--require=./preload.cjs\n",
    "project/preload.cjs": 'require("node:fs").writeFileSync("preloaded", "");\n',
  });
  const shown = `"$@"; echo "ended with $?"; ls`;
  const output = await app.run("sh", ["-c", shown, "sh", ...run], { cwd, env });
  const [said = "", listed = ""] = output.split(/^ended with 7\n/m);
  if (!/^ran --env-file x\.env$/m.test(said) || listed === "" || /^preloaded$/m.test(listed)) {
    throw new Error(`sandpipe run: ${output}`);
  }
}

/** @param {Application} app */
function dependencies({ context: { tarballs } }) {
  const overrides = Object.fromEntries(
    Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]),
  );
  return { sandpipe: overrides["sandpipe"] ?? "", overrides };
}

/**
 * @param {Application} app
 * @param {object} [more]
 */
async function writeManifest(app, more = {}) {
  const { sandpipe } = dependencies(app);
  const manifest = { name: "project", private: true, dependencies: { sandpipe }, ...more };
  await writeFile(join(app.path, cwd, "package.json"), JSON.stringify(manifest));
}

const pnpm = "pnpm/bin/pnpm.mjs";
const yarn = "@yarnpkg/cli-dist/bin/yarn.js";

/**
 * @param {string} linker
 * @returns {(app: Application) => Promise<unknown>}
 */
const yarnPart = (linker) => async (app) => {
  const { sandpipe: _, ...resolutions } = dependencies(app).overrides;
  await writeManifest(app, { resolutions });
  await app.write({
    "project/yarn.lock": "",
    "project/.yarnrc.yml": `nodeLinker: ${linker}\nenableImmutableInstalls: false\n`,
  });
  await app.run(process.execPath, [app.module(yarn), "install"], { cwd });
  await runCommandLine(app, [process.execPath, "--", app.module(yarn), "sandpipe"]);
  return app.runJob(process.execPath, [app.module(yarn), "node", "main.mjs"], { cwd });
};

/** @type {Row[]} */
export const packageManagerRows = [
  {
    name: "npm",
    family: "Package managers",
    bare: true,
    files,
    version: async (app) => `npm ${(await app.run("npm", ["--version"])).trim()}`,
    parts: {
      "`npm install`": async (app) => {
        const { sandpipe: _, ...overrides } = dependencies(app).overrides;
        await writeManifest(app, { overrides });
        await app.run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund"], { cwd });
        await app.run("npx", ["sandpipe", "--version"], { cwd });
        await runCommandLine(app, ["node_modules/.bin/sandpipe"]);
        return app.runJob(process.execPath, ["main.mjs"], { cwd });
      },
    },
  },
  {
    name: "pnpm",
    family: "Package managers",
    bare: true,
    install: { pnpm: "12" },
    files,
    version: async (app) => `pnpm ${await app.version("pnpm")}`,
    parts: {
      "`pnpm install`": async (app) => {
        const { sandpipe: _, ...overrides } = dependencies(app).overrides;
        await writeManifest(app);
        await app.write({
          "project/pnpm-workspace.yaml": `overrides: ${JSON.stringify(overrides)}\n`,
        });
        const args = [app.module(pnpm), "install", "--no-frozen-lockfile"];
        await app.run(process.execPath, args, { cwd });
        await app.run(process.execPath, [app.module(pnpm), "exec", "sandpipe", "--version"], {
          cwd,
        });
        await runCommandLine(app, ["node_modules/.bin/sandpipe"]);
        return app.runJob(process.execPath, ["main.mjs"], { cwd });
      },
    },
  },
  {
    name: "Yarn",
    family: "Package managers",
    bare: true,
    install: { "@yarnpkg/cli-dist": "4" },
    files,
    version: async (app) => `Yarn ${await app.version("@yarnpkg/cli-dist")}`,
    parts: {
      "node-modules": yarnPart("node-modules"),
      "Plug'n'Play": yarnPart("pnp"),
    },
  },
];
