// @ts-check
// Commands that write nothing, behind proxies that end every stream: the true exit code, however often that
// is.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { text } from "node:stream/consumers";

import { connect } from "sandpipe";
import { dist } from "../../scripts/project.mjs";
import { Relay } from "../support/relay.mjs";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter } from "./stream-faults.mjs";

/** More than are borne where the agent can't be reached. */
const STREAMS = 8;

const skip = process.env["SEED"] !== undefined;

for (const kind of /** @type {const} */ (["full", "apart", "plain"])) {
  describe(`quiet commands at an agent of kind "${kind}"`, { concurrency: true, skip }, () => {
    /** @type {Rig} */
    let rig;
    let files = 0;
    before(async () => {
      rig = await Rig.start(kind);
    });
    after(() => rig.stop());

    /** A script that is silent until its file is there, and ends with 7. */
    function quiet() {
      const file = join(rig.folder, `ended-${(files += 1)}`);
      const script = `while [ ! -e '${file}' ]; do sleep 0.02; done; exit 7`;
      return { script, file, end: () => writeFileSync(file, "") };
    }

    /**
     * A sandbox behind a proxy that ends every stream after 50 ms; `onStrike` is called with how many it has ended.
     *
     * @param {(count: number) => void} onStrike
     */
    async function behindProxy(onStrike) {
      let count = 0;
      const proxy = new Proxy(rig.agent.url, {
        next: ({ streams }) =>
          streams
            ? {
                name: "ends",
                carry: (source, strike) =>
                  endAfter(50, "clean")(source, () => {
                    strike();
                    onStrike((count += 1));
                  }),
              }
            : undefined,
      });
      const url = await proxy.listen();
      const retry = { baseDelayMs: 5, maxDelayMs: 20 };
      // With headers of the caller's a terminal goes over streams.
      const sandbox = await connect({ url, token: rig.agent.token, headers: {}, retry });
      return {
        url,
        sandbox,
        async close() {
          sandbox.close();
          await proxy.close();
          assert.deepEqual(proxy.errors, []);
        },
      };
    }

    it("gives exec and attach the code", async () => {
      await Promise.all(
        ["exec", "attach"].map(async (way) => {
          const { script, end } = quiet();
          const behind = await behindProxy((count) => {
            if (count === STREAMS) end();
          });
          const { execs } = behind.sandbox;
          if (way === "exec") {
            assert.equal((await execs.exec("sh", ["-c", script])).exitCode, 7);
          } else {
            const { id } = await rig.direct.create({ command: "sh", args: ["-c", script] });
            const terminal = await execs.attach(id);
            assert.equal(await terminal.exited, 7);
            terminal.close();
          }
          await behind.close();
        }),
      );
    });

    // A plain agent has none.
    const skip = kind === "plain";
    it("gives a terminal whose WebSockets are cut the code", { skip }, async () => {
      const { script, end } = quiet();
      const relay = new Relay(rig.agent.url);
      let cut = 0;
      const RealWebSocket = globalThis.WebSocket;
      globalThis.WebSocket = class extends RealWebSocket {
        /** @param {string | URL} url */
        constructor(url) {
          super(url);
          // What is asked in between gets through.
          this.addEventListener("open", () => {
            relay.breakAll();
            if ((cut += 1) === STREAMS) end();
          });
        }
      };
      const retry = { baseDelayMs: 5, maxDelayMs: 20 };
      const sandbox = await connect({ url: await relay.listen(), token: rig.agent.token, retry });
      try {
        const { id } = await rig.direct.create({ command: "sh", args: ["-c", script] });
        assert.equal(await (await sandbox.execs.attach(id)).exited, 7);
      } finally {
        globalThis.WebSocket = RealWebSocket;
        sandbox.close();
        await relay.close();
      }
    });

    for (const name of kind === "full" ? /** @type {const} */ (["run", "logs"]) : []) {
      it(`gives \`sandpipe ${name}\` the code, with the settings that it has`, async () => {
        const { script, end } = quiet();
        const behind = await behindProxy((count) => {
          if (count === 5) end();
        });
        const create = () => rig.direct.create({ command: "sh", args: ["-c", script] });
        const command = name === "run" ? ["--", "sh", "-c", script] : ["-f", (await create()).id];
        const args = [join(dist, "cli", "sandpipe.js"), name, "--url", behind.url, ...command];
        const program = spawn(process.execPath, args, {
          env: { ...process.env, SANDPIPE_TOKEN: rig.agent.token },
          stdio: ["ignore", "ignore", "pipe"],
        });
        const [stderr, [exitCode]] = await Promise.all([
          text(program.stderr),
          once(program, "exit"),
        ]);
        assert.deepEqual({ exitCode, stderr }, { exitCode: name === "run" ? 7 : 0, stderr: "" });
        await behind.close();
      });
    }
  });
}
