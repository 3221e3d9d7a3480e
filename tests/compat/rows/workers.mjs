// @ts-check
/** Edge workers. */

import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { bundleWorker, startWorkerd } from "../../edge/workerd.mjs";

/** @typedef {import("../row.mjs").Row} Row */

const require = createRequire(import.meta.url);

const files = {
  "worker.mjs": `
    import { connect } from "sandpipe";
    import { job } from "./job.mjs";
    export default {
      async fetch(request) {
        return Response.json(await job(connect, await request.json()));
      },
    };
  `,
};

/** @type {Row[]} */
export const workerRows = [
  {
    name: "workerd",
    family: "Edge workers",
    quick: true,
    files,
    // The workspace's own, as is the Vite that builds for it.
    version: () => `workerd ${require("workerd/package.json").version}`,
    parts: {
      "a worker that Vite built": async (app) => {
        const folder = await bundleWorker(app.path, "worker.mjs");
        const config = join(folder, "workerd.capnp");
        await cp(new URL("../../edge/workerd.capnp", import.meta.url), config);
        const worker = await startWorkerd(config);
        try {
          return await app.ask(worker.url);
        } finally {
          await worker.stop();
        }
      },
    },
  },
  {
    name: "wrangler",
    family: "Edge workers",
    // It needs a newer Node.js than this project.
    install: { wrangler: "4.164.0", [`node-linux-${process.arch}`]: "24" },
    files: {
      ...files,
      "wrangler.json": JSON.stringify({
        name: "worker",
        main: "worker.mjs",
        compatibility_date: "2026-07-01",
      }),
    },
    version: async (app) => `wrangler ${await app.version("wrangler")}`,
    parts: {
      "`wrangler dev`": async (app) => {
        const program = app.module(`node-linux-${process.arch}/bin/node`);
        const args = [app.module("wrangler/bin/wrangler.js"), "dev", "--ip=127.0.0.1", "--port=0"];
        const { address } = await app.start(program, args, /Ready on (http:\S+)/);
        return app.ask(address);
      },
    },
  },
];
