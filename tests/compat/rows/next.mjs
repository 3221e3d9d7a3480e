// @ts-check
/** Next.js, with either of its bundlers. */

import { cp } from "node:fs/promises";
import { join } from "node:path";

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

const route = `
  import { connect } from "sandpipe";
  import { job } from "../../job.mjs";
  export const dynamic = "force-dynamic";
  export async function POST(request) {
    return Response.json(await job(connect, await request.json()));
  }
`;

const files = {
  "next.config.mjs": `export default { output: "standalone" };`,
  "app/layout.js": `
    export default function Layout({ children }) {
      return <html lang="en"><body>{children}</body></html>;
    }
  `,
  "app/page.js": `
    "use client";
    import { connect } from "sandpipe";
    import { useEffect } from "react";
    import { runInPage } from "../in-page.mjs";
    export default function Page() {
      useEffect(() => void runInPage(connect), []);
      return <p>An application that uses Sandpipe</p>;
    }
  `,
  "app/route/route.js": route,
  "app/edge/route.js": `${route}\nexport const runtime = "edge";`,
};

/**
 * @param {string} bundler
 * @param {string} flag
 * @returns {Row}
 */
function next(bundler, flag) {
  const program = "next/dist/bin/next";
  /** @param {Application} app */
  const start = async (app) => {
    const args = [app.module(program), "start", "--hostname=127.0.0.1", "--port=0"];
    // `standalone` is not what it expects, and works all the same.
    const { address } = await app.start(process.execPath, args, /Local:\s+(http:\S+)[^]*Ready/);
    return address;
  };
  return {
    name: `Next.js, ${bundler}`,
    family: "Frameworks",
    install: { next: "16", react: "19", "react-dom": "19" },
    files,
    version: async (app) => `Next.js ${await app.version("next")}, ${bundler}`,
    prepare: (app) => app.run(process.execPath, [app.module(program), "build", flag]),
    parts: {
      "client component": async (app) => app.visit(`${await start(app)}/`),
      route: async (app) => ask(`${await start(app)}/route`, app),
      "edge route": async (app) => ask(`${await start(app)}/edge`, app),
      "standalone: client component": async (app) => app.visit(`${await standalone(app)}/`),
      "standalone: route": async (app) => ask(`${await standalone(app)}/route`, app),
    },
  };
}

/** @param {Application} app */
async function standalone(app) {
  await cp(join(app.path, ".next/static"), join(app.path, ".next/standalone/.next/static"), {
    recursive: true,
  });
  const folder = await app.elsewhere(".next/standalone");
  const env = { PORT: "0", HOSTNAME: "127.0.0.1" };
  const args = [join(folder, "server.js")];
  const { address } = await app.start(process.execPath, args, /Local:\s+(http:\S+)[^]*Ready/, { env });
  return address;
}

/**
 * @param {string} address
 * @param {Application} app
 */
async function ask(address, app) {
  const answer = await fetch(address, { method: "POST", body: JSON.stringify(app.agent) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the route answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

/** @type {Row[]} */
export const nextRows = [next("Turbopack", "--turbopack"), next("webpack", "--webpack")];
