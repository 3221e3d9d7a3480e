// @ts-check
// How a page without a bundler gets at the WebAssembly module.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, test } from "node:test";
import { dist } from "../../scripts/project.mjs";
import { launchChromium } from "../support/chromium.mjs";

const PAGE = `<!doctype html>
<script type="importmap">{ "imports": { "sandpipe": "/browser.js" } }</script>
<script type="module">
  import { connect } from "sandpipe";
  globalThis.result = connect({ url: "http://127.0.0.1:1" }).then(
    ({ execs }) => typeof execs.exec,
    ({ name, message }) => name + ": " + message,
  );
</script>`;

const browser = await launchChromium();
after(() => browser.close());

test("takes the file, and does not load its copy in JavaScript", async () => {
  const { result, paths } = await openPage({});
  assert.equal(result, "function");
  assert.ok(paths.includes("/sandpipe.wasm"));
  assert.ok(!paths.includes("/inline-wasm.js"));
});

test("takes the copy where the server answers with a page what it does not have", async () => {
  const { result, paths } = await openPage({ wasm: { status: 200, type: "text/html" } });
  assert.equal(result, "function");
  assert.ok(paths.includes("/inline-wasm.js"));
});

test("takes the copy where the server does not have the file", async () => {
  const { result } = await openPage({ wasm: { status: 404, type: "text/plain" } });
  assert.equal(result, "function");
});

test("says what the server answered where it has neither the file nor its copy", async () => {
  for (const [status, says] of /** @type {const} */ ([
    [404, /\/sandpipe\.wasm has the status 404;/],
    [200, /\/sandpipe\.wasm is not WebAssembly, but text\/html;/],
  ])) {
    const { result } = await openPage({ wasm: { status, type: "text/html" }, copy: false });
    assert.match(result, /^LoadError: /);
    assert.match(result, says);
  }
});

test("says what to allow where the page's policy forbids WebAssembly", async () => {
  const policy = "script-src 'self' 'unsafe-inline'";
  const { result, paths } = await openPage({ policy });
  assert.match(result, /^LoadError: .*script-src 'wasm-unsafe-eval'/);
  assert.ok(!paths.includes("/inline-wasm.js"));
});

/**
 * Opens a page of a server that has the package.
 *
 * @param {object} server
 * @param {{ status: number, type: string }} [server.wasm] how it answers in place of the module
 * @param {boolean} [server.copy] whether it has the copy of the module in JavaScript
 * @param {string} [server.policy] the page's Content-Security-Policy
 */
async function openPage({ wasm, copy = true, policy }) {
  /** @type {string[]} */
  const paths = [];
  const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    paths.push(path);
    if (path === "/" || path === "/favicon.ico") {
      response.setHeader("content-type", "text/html");
      if (policy !== undefined) response.setHeader("content-security-policy", policy);
      return void response.end(PAGE);
    }
    const type = types[/** @type {keyof typeof types} */ (extname(path))];
    if (wasm !== undefined && path === "/sandpipe.wasm") {
      return void response.writeHead(wasm.status, { "content-type": wasm.type }).end(PAGE);
    }
    if (!copy && path === "/inline-wasm.js") return void response.writeHead(404).end();
    response.setHeader("content-type", type);
    response.end(await readFile(join(dist, path)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const page = await browser.newPage();
  try {
    await page.goto(`http://127.0.0.1:${port}/`);
    // It waits for the promise: to look again and again would be to evaluate, which the policy forbids.
    return { result: String(await page.evaluate("globalThis.result")), paths };
  } finally {
    await page.close();
    server.closeAllConnections();
    server.close();
  }
}
