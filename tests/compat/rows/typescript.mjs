// @ts-check
/** TypeScript: what it compiles, with every check of the package's declarations, runs. */

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

const files = {
  "main.ts": `
    import { connect, type ExecResult, type ExecStdout, isSandpipeError } from "sandpipe";
    import { startAgent } from "sandpipe/node";
    import { tools, type Tool } from "sandpipe/tools";
    import { runInProgram } from "./in-program.mjs";

    // Compiled only.
    export async function typed(): Promise<string> {
      const agent = await startAgent({ args: [] });
      const sandbox = await connect({ url: agent.url, token: agent.token });
      const onOutput = (event: ExecStdout): string => event.output;
      const result: ExecResult = await sandbox.execs.exec("true", [], { onOutput });
      for await (const { output } of sandbox.execs.streamOutput("id")) if (isSandpipeError(output)) break;
      const [bash] = tools(sandbox);
      const tool: Tool<"bash"> = bash;
      return (await tool.execute({ script: "true" })) + result.output;
    }

    runInProgram(connect);
  `,
  "common.cts": `
    import { connect } from "sandpipe";
    void import("./in-program.mjs").then(({ runInProgram }) => runInProgram(connect));
  `,
  "in-program.d.mts": `
    import type { Connect } from "sandpipe";
    export function runInProgram(connect: Connect): Promise<void>;
  `,
};

/** The libraries and types beside the package's own. */
const LIBRARIES = {
  "with the DOM library": { lib: ["ES2022", "DOM"], types: [] },
  "without it, with Node.js's types": { lib: ["ES2022"], types: ["node"] },
  "without either": { lib: ["ES2022"], types: [] },
};

/** @type {Record<string, string>} a resolution, and the modules that go with it */
const RESOLUTIONS = { node10: "ES2022", node16: "Node16", nodenext: "NodeNext", bundler: "ES2022" };

/** What TypeScript takes for a module that can't be required, as before Node.js 20.19, is imported dynamically. */
const DYNAMIC_IMPORT = {
  text: '`const { connect } = await import("sandpipe")`, or `"module": "nodenext"`',
  error: /TS1479: .*dynamic 'import\("sandpipe"\)'/,
  files: {
    "common.cts": `
      async function main(): Promise<void> {
        const { connect } = await import("sandpipe");
        const { runInProgram } = await import("./in-program.mjs");
        await runInProgram(connect);
      }
      void main();
    `,
  },
};

/** One of each kind. */
const QUICK_PARTS = [
  "node10, with the DOM library",
  "nodenext, without it, with Node.js's types",
  "bundler, without either",
  "CommonJS, nodenext",
];

/**
 * @param {Application} app
 * @param {object} options the compiler's
 * @param {string} file
 */
async function compile(app, options, file) {
  const strict = { target: "ES2022", strict: true, skipLibCheck: false };
  const config = { compilerOptions: { ...options, ...strict }, files: [file] };
  await app.write({ "tsconfig.json": JSON.stringify(config) });
  await app.run(process.execPath, [app.module("typescript/bin/tsc")]);
}

/**
 * @param {string} version
 * @returns {Row}
 */
function typescript(version) {
  /** @type {Row["parts"]} */
  const parts = {};
  for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
    for (const [name, { lib, types }] of Object.entries(LIBRARIES)) {
      // TypeScript 6 still has it, when asked.
      const ignored =
        moduleResolution === "node10" && version === "6" ? { ignoreDeprecations: "6.0" } : {};
      parts[`${moduleResolution}, ${name}`] = async (app) => {
        await compile(app, { module, moduleResolution, lib, types, ...ignored }, "main.ts");
        return app.runJob(process.execPath, ["main.js"]);
      };
    }
  }
  for (const moduleResolution of ["node16", "nodenext"]) {
    parts[`CommonJS, ${moduleResolution}`] = async (app) => {
      const lib = ["ES2022"];
      await compile(app, { module: RESOLUTIONS[moduleResolution], lib, types: [] }, "common.cts");
      return app.runJob(process.execPath, ["common.cjs"]);
    };
  }
  return {
    name: `TypeScript ${version}`,
    family: "TypeScript, with `skipLibCheck: false`",
    ...(version === "6" ? { quick: QUICK_PARTS } : {}),
    install: { typescript: version, "@types/node": "20" },
    files,
    workarounds: { "CommonJS, node16": DYNAMIC_IMPORT },
    version: async (app) => `TypeScript ${await app.version("typescript")}`,
    parts,
  };
}

/** @type {Row[]} */
export const typescriptRows = ["5", "6"].map(typescript);
