// Loading the WebAssembly module: a process of its own for each, since it is loaded once.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";

/** @param {string} script */
const run = async (script) => {
  const args = ["--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: import.meta.dirname,
  });
  return stdout;
};

describe("loading", () => {
  it("takes the module as a Module, as bytes, as an answer, and by its address", async () => {
    const sources = {
      module: "new WebAssembly.Module(await readFile(file))",
      bytes: "await readFile(file)",
      answer:
        'new Response(await readFile(file), { headers: { "content-type": "application/wasm" } })',
      url: "file",
      path: "fileURLToPath(file)",
    };
    for (const [name, source] of Object.entries(sources)) {
      const script = `
        import { readFile } from "node:fs/promises";
        import { fileURLToPath } from "node:url";
        import { connect } from "sandpipe";
        const file = new URL(import.meta.resolve("sandpipe/sandpipe.wasm"));
        const { execs } = await connect({ url: "http://127.0.0.1:1", wasm: ${source} });
        console.log(typeof execs.exec);`;
      assert.equal(await run(script), "function\n", name);
    }
  });

  it("says why a module can't be loaded, and loads another one afterwards", async () => {
    const script = `
      import { connect, isSandpipeError } from "sandpipe";
      const url = "http://127.0.0.1:1";
      const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
      for (const wasm of [new Uint8Array(8), empty, "/no/such/file.wasm"]) {
        const error = await connect({ url, wasm }).catch((error) => error);
        console.log(isSandpipeError(error, "load"), error.message.includes("could not be loaded: "));
      }
      console.log(typeof (await connect({ url })).execs.exec);`;
    assert.equal(await run(script), `${"true true\n".repeat(3)}function\n`);
  });
});
