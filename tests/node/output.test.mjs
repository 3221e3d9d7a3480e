// Output of every size and kind: nothing lost, repeated or reordered.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { idsOfAgent, until } from "../support/processes.mjs";

const HUNDRED_MEGABYTES = "seq 1 12400000";

/** @param {string | Buffer} text */
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

describe("output", () => {
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  /** @type {import("sandpipe").Execs} */
  let execs;
  /** @type {string} */
  let agentPid;

  /** @param {string} script */
  const sh = (script) => execs.exec("sh", ["-c", script]);

  /**
   * The agent's memory in KiB.
   * @param {"VmRSS" | "VmHWM"} figure what it has now, or the most that it has had
   */
  const memory = async (figure) => {
    const status = await readFile(`/proc/${agentPid}/status`, "utf8");
    return Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]);
  };

  before(async () => {
    agent = await startAgent();
    ({ execs } = await connect(agent));
    ({ agent: agentPid } = await idsOfAgent(sh));
  });
  after(() => agent.stop());

  it("carries 100 MB whole, while the agent's memory grows by less than 32 MB", async () => {
    const expected = execFileSync("sh", ["-c", `${HUNDRED_MEGABYTES} | sha256sum`], {
      encoding: "utf8",
    });
    const before = await memory("VmRSS");
    const { exitCode, output } = await sh(HUNDRED_MEGABYTES);
    const growth = (await memory("VmHWM")) - before;
    assert.equal(exitCode, 0);
    assert.ok(output.length > 100_000_000);
    assert.equal(sha256(output), expected.split(" ")[0]);
    assert.ok(growth < 32 * 1024, `it grew by ${growth} KiB`);
  });

  it("does not let a reader that stalls hold up the process or another reader", async () => {
    const args = ["-c", `read go; ${HUNDRED_MEGABYTES}`];
    const { id } = await execs.create({ command: "sh", args });
    const url = `${agent.url}/api/v1/stream/execs/${id}/io`;
    const request = get(url, { headers: { authorization: `Bearer ${agent.token}` } });
    const [stalled] = await once(request, "response");
    stalled.pause();
    await execs.sendStdin(id, { input: "go\n" });
    // A reader that holds it up would do so until it goes on, which it does after this.
    await until(async () => (await execs.get(id)).status === "EXITED");
    const { bytesRead } = stalled.socket;
    assert.ok(bytesRead < 1_000_000, `the reader has stalled: it has read ${bytesRead} bytes`);

    const { exitCode, output } = await execs.wait(id);
    assert.equal(exitCode, 0);
    assert.equal(stalled.socket.bytesRead, bytesRead, "and it still does");

    let text = "";
    for await (const chunk of stalled.setEncoding("utf8")) text += chunk;
    const events = text.split("\n").filter((line) => line.startsWith("data: "));
    const late = events.map((line) => JSON.parse(line.slice(6)).output).join("");
    assert.ok(late.length > 100_000_000);
    assert.equal(sha256(late), sha256(output), "and it gets all of it when it goes on");
  });

  it("replaces bytes that are no UTF-8 as TextDecoder does", async () => {
    const bytes = Buffer.from(
      "61ff62c328e28228f09f9880c0afeda080f8808080807a efbbbf e282".replaceAll(" ", ""),
      "hex",
    );
    const octal = Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
    const { output } = await sh(`printf '${octal}'`);
    assert.equal(output, new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  });

  it("keeps a byte order mark", async () => {
    assert.equal((await sh("printf '\\357\\273\\277a'")).output, "\u{feff}a");
  });

  it("puts a character together that was written in two pieces", async () => {
    const script = "printf '\\342\\202'; echo half >&2; read go; printf '\\254'";
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    const outputs = [];
    for await (const event of execs.streamOutput(id)) {
      outputs.push(event.output);
      // By now the first half has been written, and read before this.
      if (event.output === "half\n") await execs.sendStdin(id, { input: "\n" });
    }
    assert.equal(outputs.join(""), "half\n€");
  });

  it("carries NUL bytes and other control characters", async () => {
    assert.equal((await sh("printf 'a\\000b\\001\\033[0m\\177'")).output, "a\0b\x01\x1b[0m\x7f");
  });

  it("carries one line of 10 MB", async () => {
    const { output } = await sh("head -c 10000000 /dev/zero | tr '\\0' x; echo");
    assert.equal(output.length, 10_000_001);
    assert.equal(output, "x".repeat(10_000_000) + "\n");
  });

  it("carries characters of four bytes across every boundary", async () => {
    const { output } = await sh(
      "i=0; while [ $i -lt 12 ]; do printf %s 😀é; i=$((i+1)); done | awk '{for(n=0;n<5000;n++) printf \"%s%d\", $0, n}'",
    );
    let expected = "";
    for (let n = 0; n < 5000; n++) expected += "😀é".repeat(12) + n;
    assert.equal(sha256(output), sha256(expected));
  });

  it("reports events of at most 32 KiB", async () => {
    const { id } = await execs.create({
      command: "sh",
      args: ["-c", "head -c 300000 /dev/zero | tr '\\0' x"],
    });
    let length = 0;
    for await (const { output } of execs.streamOutput(id)) {
      assert.ok(Buffer.byteLength(output) <= 32 * 1024);
      length += output.length;
    }
    assert.equal(length, 300_000);
  });
});
