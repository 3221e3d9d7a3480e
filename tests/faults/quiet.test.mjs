// @ts-check
// Commands that write nothing, followed by the program behind a proxy that ends every stream: the true exit code,
// however often that is.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { text } from "node:stream/consumers";

import { dist } from "../../scripts/project.mjs";
import { Proxy } from "./proxy.mjs";
import { Rig } from "./rig.mjs";
import { endAfter } from "./stream-faults.mjs";

/** More than are borne where the agent can't be reached. */
const STREAMS = 5;

const skip = process.env["SEED"] !== undefined;

describe(
  "quiet commands behind a proxy that ends every stream",
  { concurrency: true, skip },
  () => {
    /** @type {Rig} */
    let rig;
    before(async () => {
      rig = await Rig.start("full");
    });
    after(() => rig.stop());

    for (const name of /** @type {const} */ (["run", "logs"])) {
      it(`give \`sandpipe ${name}\` the code, with the settings that it has`, async () => {
        const file = join(rig.folder, `ended-${name}`);
        const script = `while [ ! -e '${file}' ]; do sleep 0.02; done; exit 7`;
        let count = 0;
        const proxy = new Proxy(rig.agent.url, {
          next: ({ streams }) =>
            streams
              ? {
                  name: "ends",
                  carry: (source, strike) =>
                    endAfter(50, "clean")(source, () => {
                      strike();
                      if ((count += 1) === STREAMS) writeFileSync(file, "");
                    }),
                }
              : undefined,
        });
        const url = await proxy.listen();
        const create = () => rig.direct.create({ command: "sh", args: ["-c", script] });
        const command = name === "run" ? ["--", "sh", "-c", script] : ["-f", (await create()).id];
        const args = [join(dist, "cli", "sandpipe.js"), name, "--url", url, ...command];
        const program = spawn(process.execPath, args, {
          env: { ...process.env, SANDPIPE_TOKEN: rig.agent.token },
          stdio: ["ignore", "ignore", "pipe"],
        });
        const [stderr, [exitCode]] = await Promise.all([
          text(program.stderr),
          once(program, "exit"),
        ]);
        assert.deepEqual({ exitCode, stderr }, { exitCode: name === "run" ? 7 : 0, stderr: "" });
        await proxy.close();
        assert.deepEqual(proxy.errors, []);
      });
    }
  },
);
