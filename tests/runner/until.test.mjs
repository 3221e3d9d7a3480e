// @ts-check
// What a test says that waits in vain.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";

import { processReport } from "../support/process-report.mjs";
import { marked, marker, until } from "../support/processes.mjs";

describe("until()", () => {
  const env = marker();
  // The first one loses its parent, and is in a session of its own.
  const script = "(setsid sleep 4712 &); exec sleep 4713";
  const child = spawn("sh", ["-c", script], { env: { ...process.env, ...env }, stdio: "ignore" });
  after(async () => {
    for (const pid of marked(env)) process.kill(Number(pid), "SIGKILL");
    await once(child, "close");
  });

  it("waits until a condition is true", async () => {
    let looks = 0;
    await until(() => (looks += 1) === 3);
    assert.equal(looks, 3);
    await until(async () => marked(env).length === 2);
  });

  it("throws at its deadline: what it waited for, and what the processes of the test do", async () => {
    await until(() => marked(env).length === 2);
    const waiting = until(() => marked(env).length === 100, { timeoutMs: 20 });
    await assert.rejects(waiting, (error) => {
      assert.ok(error instanceof Error);
      const [first, header = "", ...lines] = error.message.split("\n");
      assert.equal(first, "Waited 20 ms in vain: () => marked(env).length === 100");
      assert.match(header, /^ +PID +PARENT +STATE +WAITS IN +COMMAND$/);
      for (const command of ["sleep 4712", "sleep 4713"]) {
        const line = lines.find((line) => line.endsWith(command)) ?? assert.fail(error.message);
        assert.match(line, /^ +\d+ +\d+ +S +\S+ +sleep/);
      }
      return true;
    });
  });

  it("evaluates a condition that takes its time once more after the deadline", async () => {
    let looks = 0;
    await until(
      async () => {
        looks += 1;
        await new Promise((resolve) => setTimeout(resolve, 30));
        return looks === 2;
      },
      { timeoutMs: 10 },
    );
  });

  it("says what is waited for in the words of the test", async () => {
    const describe = () => "the server listens; it says: no port";
    const waiting = until(() => false, { timeoutMs: 0, describe });
    await assert.rejects(
      waiting,
      /^Error: Waited 0 ms in vain: the server listens; it says: no port\n/,
    );
  });

  it("tells of a process and its descendants alone where it is asked to", async () => {
    await until(() => marked(env).length === 2);
    const report = processReport({ root: child.pid ?? 0 });
    assert.equal(report, `no processes of ${child.pid}`);
    assert.match(processReport(), /sleep 4713/);
    assert.doesNotMatch(processReport(), /sleep 4712/);
  });
});
