// @ts-check
/** SvelteKit: a page, and an endpoint on the server. */

/**
 * @typedef {import("../row.mjs").Row} Row
 * @typedef {import("../application.mjs").Application} Application
 */

/** SvelteKit needs a newer Node.js than this project. */
const nodePackage = `node-linux-${process.arch}`;

/** @param {Application} app */
const node = (app) => app.module(`${nodePackage}/bin/node`);

/** @param {Application} app */
async function develop(app) {
  const args = [app.module("vite/bin/vite.js"), "dev", "--host=127.0.0.1"];
  return (await app.start(node(app), args, /(http:\/\/[\d.:]+\/)/)).address;
}

/** @param {Application} app */
async function start(app) {
  const env = { PORT: "0", HOST: "127.0.0.1" };
  const ready = /Listening on (http:\S+)/;
  return (await app.start(node(app), ["build/index.js"], ready, { env })).address;
}

/** @type {Row[]} */
export const svelteRows = [
  {
    name: "SvelteKit",
    family: "Frameworks",
    install: {
      "@sveltejs/kit": "3.2.0",
      "@sveltejs/adapter-node": "latest",
      "@sveltejs/vite-plugin-svelte": "7",
      svelte: "5",
      typescript: "6",
      vite: "8",
      [nodePackage]: "24",
    },
    files: {
      "vite.config.js": `
        import { sveltekit } from "@sveltejs/kit/vite";
        import adapter from "@sveltejs/adapter-node";
        export default { plugins: [sveltekit({ adapter: adapter() })] };
      `,
      "src/app.html": `<!doctype html>
        <html lang="en">
          <head><meta charset="utf-8" /><link rel="icon" href="data:," />%sveltekit.head%</head>
          <body><div>%sveltekit.body%</div></body>
        </html>`,
      "src/routes/+page.svelte": `
        <script>
          import { connect } from "sandpipe";
          import { onMount } from "svelte";
          import { runInPage } from "../../in-page.mjs";
          onMount(() => void runInPage(connect));
        </script>
        <p>An application that uses Sandpipe</p>
      `,
      "src/routes/endpoint/+server.js": `
        import { connect } from "sandpipe";
        import { job } from "../../../job.mjs";
        export async function POST({ request }) {
          return Response.json(await job(connect, await request.json()));
        }
      `,
    },
    version: async (app) => `SvelteKit ${await app.version("@sveltejs/kit")}`,
    prepare: (app) => app.run(node(app), [app.module("vite/bin/vite.js"), "build"]),
    parts: {
      "page, development": async (app) => app.visit(await develop(app)),
      "endpoint, development": async (app) => app.ask(new URL("endpoint", await develop(app)).href),
      "page, build": async (app) => app.visit(await start(app)),
      "endpoint, build": async (app) => app.ask(new URL("endpoint", await start(app)).href),
    },
  },
];
