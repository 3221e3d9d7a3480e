// @ts-check
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect } from "sandpipe";
import { startTestAgent } from "../support/agent.mjs";

/** What the core may take of its linear memory, which never shrinks: 8 MB. */
const LIMIT = 8_000_000;

/** 60 MB of text that needs UTF-16, in lines. */
const FLOOD = "yes '\u001b[32m✓\u001b[0m größer als je zuvor' | head -c 60000000";

describe("the core's linear memory", () => {
  /** @type {WebAssembly.Memory} */
  let memory;
  /** The handles of JS objects that the core has. @type {WebAssembly.Table} */
  let handles;
  /** Gives the place of one more. @type {() => number} */
  let newHandle;
  /** @type {Awaited<ReturnType<typeof startTestAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;

  before(async () => {
    const { instantiate } = WebAssembly;
    const observed = async (/** @type {Parameters<typeof instantiate>} */ ...args) => {
      const instance = /** @type {unknown} */ (await instantiate(...args));
      const { exports } = /** @type {WebAssembly.Instance} */ (instance);
      memory = /** @type {WebAssembly.Memory} */ (exports["memory"]);
      handles = /** @type {WebAssembly.Table} */ (exports["__wbindgen_externrefs"]);
      newHandle = /** @type {() => number} */ (exports["__externref_table_alloc"]);
      return instance;
    };
    WebAssembly.instantiate = /** @type {typeof instantiate} */ (observed);
    agent = await startTestAgent();
    sandbox = await connect(agent);
    WebAssembly.instantiate = instantiate;
  });
  after(async () => {
    sandbox.close();
    await agent.stop();
  });

  it("stays small whatever passes through exec", async () => {
    const { output } = await sandbox.execs.exec("sh", ["-c", FLOOD]);
    assert.equal(Buffer.byteLength(output), 60_000_000);
    assert.ok(memory.buffer.byteLength < LIMIT, `${memory.buffer.byteLength}`);
  });

  it("stays small when each event is told", async () => {
    let bytes = 0;
    /** @param {{ output: string }} event */
    const onOutput = ({ output }) => void (bytes += Buffer.byteLength(output));
    await sandbox.execs.exec("sh", ["-c", FLOOD], { onOutput });
    assert.equal(bytes, 60_000_000);
    assert.ok(memory.buffer.byteLength < LIMIT, `${memory.buffer.byteLength}`);
  });

  it("stays small when an output is streamed", async () => {
    const { id } = await sandbox.execs.create({ command: "sh", args: ["-c", FLOOD] });
    let bytes = 0;
    for await (const { output } of sandbox.execs.streamOutput(id))
      bytes += Buffer.byteLength(output);
    assert.equal(bytes, 60_000_000);
    assert.ok(memory.buffer.byteLength < LIMIT, `${memory.buffer.byteLength}`);
  });

  it("may grow while a string is made of it", async (t) => {
    const { from } = Buffer;
    t.after(() => void (Buffer.from = from));
    // So many handles that room for twice as many is more than there is of memory.
    while (handles.length < 1_000_000) newHandle();
    let grown = 0;
    Buffer.from = /** @type {typeof Buffer.from} */ (
      (/** @type {any} */ source, /** @type {any[]} */ ...args) => {
        const view = /** @type {any} */ (from)(source, ...args);
        if (source === memory.buffer && grown === 0) {
          // The view's own handle is the one too many.
          while (newHandle() < handles.length - 1);
          grown = memory.buffer.byteLength;
        }
        return view;
      }
    );
    const { output } = await sandbox.execs.exec("echo", ["hello"]);
    assert.equal(output, "hello\n");
    assert.ok(grown > 0 && memory.buffer.byteLength > grown);
  });
});
