// @ts-check
// A fault that takes its time: what proxies do to streams that last.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { connect } from "sandpipe";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter } from "./stream-faults.mjs";

const skip = process.env["SEED"] !== undefined;

describe("slow faults", { skip }, () => {
  /** @type {Rig} */
  let rig;
  before(async () => {
    rig = await Rig.start("full");
  });
  after(() => rig.stop());

  it("a proxy that ends every stream after 2 s is not noticed", async () => {
    const ended = join(rig.folder, "ended");
    let streams = 0;
    const proxy = new Proxy(rig.agent.url, {
      next(request) {
        if (!request.streams) return undefined;
        // Three have been ended.
        if (++streams === 4) writeFileSync(ended, "");
        return { name: "ends", carry: endAfter(2000, "reset") };
      },
    });
    const script = `i=0; while [ ! -e '${ended}' ]; do i=$((i+1)); echo $i é€😀; sleep 0.1; done; echo $i; exit 9`;
    // With the settings that a user has who sets nothing.
    const sandbox = await connect({ url: await proxy.listen(), token: rig.agent.token });
    const { exitCode, output } = await sandbox.execs.exec("sh", ["-c", script]);
    sandbox.close();
    await proxy.close();
    assert.deepEqual(proxy.errors, []);
    const lines = output.split("\n").length - 2;
    const expected = Array.from({ length: lines }, (_, index) => `${index + 1} é€😀\n`);
    assert.equal(output, `${expected.join("")}${lines}\n`);
    assert.equal(exitCode, 9);
  });
});
