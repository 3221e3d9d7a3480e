// @ts-check
/** Commands that say nothing, through a proxy that ends every stream after a second. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { connect } from "sandpipe";
import { dist } from "../../../scripts/project.mjs";
import { Proxy } from "../proxy.mjs";
import { Rig } from "../rig.mjs";
import { endAfter } from "../stream-faults.mjs";
import { Row } from "./row.mjs";

const STREAM_MS = 1000;

/** How long a command is silent, in seconds: long enough for every attempt of the defaults to be used up. */
const SILENCE_SECONDS = 60;

/** What a client may ask in a second of silence, and what it asks besides. */
const REQUESTS_PER_SECOND = 3;
const MORE_REQUESTS = 20;

const ENDINGS = /** @type {const} */ (["clean", "abort", "reset"]);

const SCRIPT = `sleep ${SILENCE_SECONDS}; echo awake; exit 7`;

/**
 * Each gives the exit code, and all of the output.
 *
 * @type {Record<string, (sandbox: import("sandpipe").Sandbox, way: Way) => Promise<Told>>}
 *
 * @typedef {{ exitCode?: number | undefined, output: string }} Told
 * @typedef {{ url: string, token: string }} Way to the agent
 */
const WAYS = {
  exec: ({ execs }) => execs.exec("sh", ["-c", SCRIPT]),

  async wait({ execs }) {
    const { id } = await execs.create({ command: "sh", args: ["-c", SCRIPT] });
    return execs.wait(id);
  },

  async streamOutput({ execs }) {
    const { id } = await execs.create({ command: "sh", args: ["-c", SCRIPT] });
    let output = "";
    for await (const event of execs.streamOutput(id)) {
      output += event.output;
      if (event.exitCode !== undefined) return { exitCode: event.exitCode, output };
    }
    return { output };
  },

  async streamList({ execs }) {
    const { id } = await execs.create({ command: "sh", args: ["-c", SCRIPT] });
    for await (const { execs: items } of execs.streamList()) {
      const item = items.find((exec) => exec.id === id);
      if (item?.status === "EXITED") {
        return { exitCode: item.exitCode, output: (await execs.getOutput(id)).output };
      }
    }
    return { output: "" };
  },

  async attach({ execs }) {
    const { id } = await execs.create({ command: "sh", args: ["-c", SCRIPT] });
    const terminal = await execs.attach(id);
    let output = "";
    for await (const event of terminal) output += event.output;
    return { exitCode: await terminal.exited, output };
  },

  async "sessions.run"({ sessions }) {
    const session = await sessions.create();
    const told = await session.run(`(${SCRIPT})`);
    await session.close();
    return told;
  },

  "background.run": ({ background }) => background.run(SCRIPT),

  "sandpipe run": (_, { url, token }) =>
    new Promise((resolve) => {
      const program = join(dist, "cli", "sandpipe.js");
      const env = { ...process.env, SANDPIPE_URL: url, SANDPIPE_TOKEN: token };
      const args = [program, "run", "--", "sh", "-c", SCRIPT];
      const child = execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
        resolve({ exitCode: Number(error?.code ?? 0), output: `${stdout}${stderr}` });
      });
      child.stdin?.end();
    }),
};

/** @type {import("./row.mjs").Scenario} */
export const silent = {
  name: "silent",
  async run(deadline) {
    const rig = await Rig.start("full");
    try {
      return await Promise.all(
        Object.keys(WAYS).map((way) =>
          new Row(`silent for ${SILENCE_SECONDS} s: ${way}`).repeat(deadline, (promises, run) =>
            once(promises, rig, way, ENDINGS[run % ENDINGS.length] ?? "clean"),
          ),
        ),
      );
    } finally {
      await rig.stop();
    }
  },
};

/**
 * @param {import("./row.mjs").Promises} promises
 * @param {Rig} rig
 * @param {string} way
 * @param {(typeof ENDINGS)[number]} ending
 */
async function once(promises, rig, way, ending) {
  let requests = 0;
  const proxy = new Proxy(rig.agent.url, {
    next({ streams }) {
      requests += 1;
      return streams ? { name: "ends", carry: endAfter(STREAM_MS, ending) } : undefined;
    },
  });
  const url = await proxy.listen();
  const { token } = rig.agent;
  const sandbox = await connect({ url, token });
  const start = performance.now();
  try {
    await promises.keeps(`the exit code is true (${ending})`, 240_000, async () => {
      const told = await WAYS[way]?.(sandbox, { url, token });
      const { exitCode, output } = told ?? { output: "" };
      assert.deepEqual({ exitCode, output }, { exitCode: 7, output: "awake\n" });
    });
    const seconds = (performance.now() - start) / 1000;
    await promises.keeps("the agent is not hammered", 1000, async () => {
      const most = seconds * REQUESTS_PER_SECOND + MORE_REQUESTS;
      assert.ok(requests <= most, `${requests} requests in ${seconds.toFixed(0)} s`);
    });
  } finally {
    promises.struck += proxy.struck.length;
    sandbox.close();
    await proxy.close();
  }
}
