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

const edgeRoute = `
  import { connect } from "sandpipe";
  import { job } from "../../job.mjs";
  export const config = { runtime: "edge" };
  export default async function handler(request) {
    return Response.json(await job(connect, await request.json()));
  }
`;

const client = {
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
};

const program = "next/dist/bin/next";
const install = { next: "16", react: "19", "react-dom": "19" };

/** @param {Application} app */
async function start(app) {
  const args = [app.module(program), "start", "--hostname=127.0.0.1", "--port=0"];
  const { address } = await app.start(process.execPath, args, /Local:\s+(http:\S+)[^]*Ready/);
  return address;
}

/**
 * @param {string} bundler
 * @param {string} flag
 * @returns {Row}
 */
function next(bundler, flag) {
  return {
    name: `Next.js, ${bundler}`,
    family: "Frameworks",
    install,
    files: {
      ...client,
      "next.config.mjs": `export default { output: "standalone" };`,
      "app/route/route.js": route,
    },
    version: async (app) => `Next.js ${await app.version("next")}, ${bundler}`,
    prepare: (app) => app.run(process.execPath, [app.module(program), "build", flag]),
    parts: {
      // Beside `standalone`, `next start` warns and works.
      "client component": async (app) => app.visit(`${await start(app)}/`),
      route: async (app) => app.ask(`${await start(app)}/route`),
      "standalone: client component": async (app) => app.visit(`${await standalone(app)}/`),
      "standalone: route": async (app) => app.ask(`${await standalone(app)}/route`),
    },
  };
}

/**
 * Next.js builds edge routes apart: what can't be built there does not keep the others from it.
 *
 * @param {string} bundler
 * @param {string} flag
 * @returns {Row}
 */
function nextEdge(bundler, flag) {
  return {
    name: `Next.js edge, ${bundler}`,
    family: "Frameworks",
    install,
    files: {
      // Not in app/: there Next.js 16.4 builds no edge route at all with webpack.
      "pages/api/edge.js": edgeRoute,
    },
    version: async (app) => `Next.js ${await app.version("next")}, ${bundler}`,
    prepare: (app) => app.run(process.execPath, [app.module(program), "build", flag]),
    parts: {
      "edge API route": async (app) => app.ask(`${await start(app)}/api/edge`),
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
  const { address } = await app.start(process.execPath, args, /Local:\s+(http:\S+)[^]*Ready/, {
    env,
  });
  return address;
}

/** @type {Row[]} */
export const nextRows = [
  next("Turbopack", "--turbopack"),
  nextEdge("Turbopack", "--turbopack"),
  next("webpack", "--webpack"),
  nextEdge("webpack", "--webpack"),
];
