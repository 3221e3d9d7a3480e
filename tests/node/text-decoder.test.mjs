// @ts-check
// A platform that knows one encoding, and makes no strings by WebAssembly.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { startTestAgent } from "../support/agent.mjs";

const TEXT = "\ufeffASCII, größer, 正在编译, 😀\n";

/** Prints what a command prints, and of what encodings a decoder was wanted. */
const PROGRAM = `
  WebAssembly.Module = new Proxy(WebAssembly.Module, {
    construct(Module, [bytes, options]) {
      if (options?.builtins) throw new WebAssembly.CompileError("There are no builtins");
      return new Module(bytes);
    },
  });
  const { TextDecoder } = globalThis;
  const asked = new Set();
  globalThis.TextDecoder = class extends TextDecoder {
    constructor(label = "utf-8", options) {
      asked.add(label);
      if (label !== "utf-8") throw new RangeError("There is no encoding " + label);
      super(label, options);
    }
  };
  // What fetch is made of looks at the version when it is first used.
  await fetch("data:,");
  // It is not Node.js then, whose Buffer knows them all.
  Object.defineProperty(process, "versions", { value: {} });
  const { connect } = await import("sandpipe");
  const { execs } = await connect({ url: process.env.URL, token: process.env.TOKEN });
  const { output } = await execs.exec("printf", ["%s", process.env.TEXT]);
  console.log(JSON.stringify({ output, asked: [...asked] }));`;

test("output is whole where a TextDecoder knows UTF-8 alone", async () => {
  const agent = await startTestAgent();
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", PROGRAM],
      { env: { ...process.env, URL: agent.url, TOKEN: agent.token, TEXT } },
    );
    assert.deepEqual(JSON.parse(stdout), { output: TEXT, asked: ["utf-8", "utf-16le"] });
  } finally {
    await agent.stop();
  }
});
