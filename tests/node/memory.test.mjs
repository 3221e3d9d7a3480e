// @ts-check
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connect } from "sandpipe";
import { startTestAgent } from "../agent.mjs";

/** What the core may take of its linear memory, which never shrinks: 8 MB. */
const LIMIT = 8_000_000;

/** 60 MB of text that needs UTF-16, in lines. */
const FLOOD = "yes '\u001b[32m✓\u001b[0m größer als je zuvor' | head -c 60000000";

describe("the core's linear memory", () => {
  /** @type {WebAssembly.Memory} */
  let memory;
  /** @type {Awaited<ReturnType<typeof startTestAgent>>} */
  let agent;
  /** @type {import("sandpipe").Sandbox} */
  let sandbox;

  before(async () => {
    const { Instance } = WebAssembly;
    WebAssembly.Instance = class extends Instance {
      /** @param {ConstructorParameters<typeof Instance>} args */
      constructor(...args) {
        super(...args);
        memory = /** @type {WebAssembly.Memory} */ (this.exports["memory"]);
      }
    };
    agent = await startTestAgent();
    sandbox = await connect(agent);
    WebAssembly.Instance = Instance;
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
});
