// @ts-check
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { agent, root } from "../../scripts/project.mjs";
import { installInProject } from "../support/installed-package.mjs";
import { startServer } from "../support/mcp-server.mjs";

const execute = promisify(execFile);
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

const project = await installInProject(new URL("consumers/", import.meta.url));
after(() => project.remove());

test("runs a command when imported", () => runs("import.mjs"));

test("runs a command when required by CommonJS", () => runs("require.cjs"));

for (const [module, moduleResolution] of [
  ["NodeNext", "NodeNext"],
  ["Node16", "Node16"],
  ["ESNext", "Bundler"],
  ["ESNext", "Node10"],
]) {
  test(`runs a command when compiled by TypeScript with moduleResolution ${moduleResolution}`, async () => {
    for (const lib of [["ES2022"], ["ES2022", "DOM"]]) {
      const compilerOptions = {
        ...{ module, moduleResolution, lib, target: "ES2022", strict: true },
        // Not Node's types: the package needs no others than its own.
        types: [],
        skipLibCheck: false,
        // TypeScript 6 says that it is the last to know Node10.
        ...(moduleResolution === "Node10" ? { ignoreDeprecations: "6.0" } : {}),
      };
      const config = { compilerOptions, files: ["typed.mts"] };
      await writeFile(join(project.path, "tsconfig.json"), JSON.stringify(config));
      await node(compiler);
      await runs("typed.mjs");
    }
  });
}

test("serves its tools over MCP", async () => {
  const command = [join(project.path, "node_modules", ".bin", "sandpipe")];
  const server = await startServer(
    { TMPDIR: project.path },
    { args: ["--local"], command, cwd: project.path },
  );
  const { tools } = await server.client.listTools();
  assert.equal(tools.length, 8);
  const result = await server.call("bash", { script: "echo hello; exit 3" });
  assert.equal(result, "exit code: 3\n\nhello\n");
  const { exitCode, stderr } = await server.close();
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
});

/** @param {string} program */
async function runs(program) {
  const { stdout, stderr } = await node(program);
  assert.deepEqual(JSON.parse(stdout), {
    exitCode: 3,
    output: "hello\noops\n",
    stdout: "hello\n",
    stderr: "oops\n",
  });
  assert.equal(stderr, "");
}

/** @param {string} program */
async function node(program) {
  // An installed package has no workspace to find the agent in.
  const env = { ...process.env, SANDPIPE_AGENT: agent };
  try {
    return await execute(process.execPath, [program], { cwd: project.path, env });
  } catch (error) {
    const { stdout, stderr } = /** @type {{ stdout: string, stderr: string }} */ (error);
    assert.fail(`${program} failed:\n${stdout}${stderr}`);
  }
}
