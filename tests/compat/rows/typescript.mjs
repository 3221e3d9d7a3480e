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
  "in-program.d.mts": `
    import type { Connect } from "sandpipe";
    export function runInProgram(connect: Connect): Promise<void>;
  `,
};

/** The libraries and types beside the package's own. */
const SURROUNDINGS = {
  "with the DOM library": { lib: ["ES2022", "DOM"], types: [] },
  "without it, with Node.js's types": { lib: ["ES2022"], types: ["node"] },
  "without either": { lib: ["ES2022"], types: [] },
};

/** @type {Record<string, string>} a resolution, and the modules that go with it */
const RESOLUTIONS = { node10: "ES2022", node16: "Node16", nodenext: "NodeNext", bundler: "ES2022" };

/** One of each kind. */
const QUICK_PARTS = [
  "node10, with the DOM library",
  "nodenext, without it, with Node.js's types",
  "bundler, without either",
];

/**
 * @param {string} version
 * @returns {Row}
 */
function typescript(version) {
  /** @type {Row["parts"]} */
  const parts = {};
  for (const [moduleResolution, module] of Object.entries(RESOLUTIONS)) {
    for (const [name, { lib, types }] of Object.entries(SURROUNDINGS)) {
      // TypeScript 6 still has it, when asked.
      const ignored =
        moduleResolution === "node10" && version === "6" ? { ignoreDeprecations: "6.0" } : {};
      const strict = { target: "ES2022", strict: true, skipLibCheck: false };
      const compilerOptions = { module, moduleResolution, lib, types, ...strict, ...ignored };
      const config = JSON.stringify({ compilerOptions, files: ["main.ts"] });
      parts[`${moduleResolution}, ${name}`] = async (app) => {
        await app.write({ "tsconfig.json": config });
        await app.run(process.execPath, [app.module("typescript/bin/tsc")]);
        return app.runJob(process.execPath, ["main.js"]);
      };
    }
  }
  return {
    name: `TypeScript ${version}`,
    family: "TypeScript, with `skipLibCheck: false`",
    ...(version === "6" ? { quick: QUICK_PARTS } : {}),
    install: { typescript: version, "@types/node": "20" },
    files,
    version: async (app) => `TypeScript ${await app.version("typescript")}`,
    parts,
  };
}

/** @type {Row[]} */
export const typescriptRows = ["5", "6"].map(typescript);
