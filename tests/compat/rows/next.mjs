// @ts-check
/** Next.js, with either of its bundlers. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../support/free-port.mjs";

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

/** The job with an agent of its own, which is a program in a package. */
const agentRoute = `
  import { connect } from "sandpipe";
  import { startAgent } from "sandpipe/node";
  import { job } from "../../job.mjs";
  export const dynamic = "force-dynamic";
  export async function POST() {
    const agent = await startAgent();
    try {
      return Response.json(await job(connect, agent));
    } finally {
      await agent.stop();
    }
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
      "standalone: client component": (app) =>
        app.withoutPackages(async () => app.visit(`${await standalone(app)}/`)),
      "standalone: route": (app) =>
        app.withoutPackages(async () => app.ask(`${await standalone(app)}/route`)),
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

/**
 * Next.js builds `sandpipe/node` into the route: Turbopack leaves it no way to the agent's package, webpack the folder where
 * it was built.
 *
 * @param {string} bundler
 * @param {string} flag
 * @param {{ output?: "standalone", line?: string }} options `line`: of the configuration, that it needs
 * @returns {Row}
 */
function nextAgent(bundler, flag, { output, line }) {
  const part = `${output === undefined ? "" : `${output}: `}route that calls \`startAgent()\``;
  /** @type {Row["parts"][string]} */
  const run =
    output === undefined
      ? async (app) => app.ask(`${await start(app)}/agent`)
      : (app) => app.withoutPackages(async () => app.ask(`${await standalone(app)}/agent`));
  const config = (/** @type {string} */ more) =>
    `export default { output: ${JSON.stringify(output)}, ${more} };`;
  const workaround = (/** @type {string} */ line) => ({
    text: `\`${line}\` in next.config`,
    error: /in Next\.js: `serverExternalPackages: \["sandpipe"\]`/,
    files: { "next.config.mjs": config(line) },
  });
  return {
    name: `Next.js ${output ?? "start"} agent, ${bundler}`,
    family: "Frameworks",
    install,
    files: { ...client, "next.config.mjs": config(""), "app/agent/route.js": agentRoute },
    version: async (app) => `Next.js ${await app.version("next")}, ${bundler}`,
    prepare: (app) => app.run(process.execPath, [app.module(program), "build", flag]),
    parts: { [part]: run },
    ...(line === undefined ? {} : { workarounds: { [part]: workaround(line) } }),
  };
}

const external = 'serverExternalPackages: ["sandpipe"]';
/** What Next.js copies of a package by itself are its modules. */
const copied = 'outputFileTracingIncludes: { "/agent": ["node_modules/@sandpipe/**"] }';
const standaloneAgent = /** @type {const} */ ({
  output: "standalone",
  line: `${external}, ${copied}`,
});

/** @param {Application} app */
async function standalone(app) {
  await cp(join(app.path, ".next/static"), join(app.path, ".next/standalone/.next/static"), {
    recursive: true,
  });
  const folder = await app.elsewhere(".next/standalone");
  // It takes 0 for 3000.
  const env = { PORT: String(await freePort()), HOSTNAME: "127.0.0.1" };
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
  nextAgent("Turbopack", "--turbopack", { line: external }),
  nextAgent("Turbopack", "--turbopack", standaloneAgent),
  next("webpack", "--webpack"),
  nextEdge("webpack", "--webpack"),
  nextAgent("webpack", "--webpack", {}),
  nextAgent("webpack", "--webpack", standaloneAgent),
];
