// @ts-check
// Files in a page: streams in both directions go no faster than who takes them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, test } from "node:test";
import { startAgent } from "sandpipe/node";
import { dist } from "../../scripts/project.mjs";
import { launchChromium } from "../support/chromium.mjs";
import { launchFirefox } from "../support/firefox.mjs";
import { until } from "../support/processes.mjs";
import { Relay } from "../support/relay.mjs";

const MEGABYTE = 1024 * 1024;

/** A page that has the package, and makes and checks bytes of which no part is like another. */
const PAGE = `<!doctype html>
<script type="importmap">{ "imports": { "sandpipe": "/browser.js" } }</script>
<script type="module">
  import { connect } from "sandpipe";
  const byteAt = (place) => (place ^ (place >> 8) ^ (place >> 16)) & 0xff;
  const part = (start, length) => {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at++) bytes[at] = byteAt(start + at);
    return bytes;
  };
  let reader, position = 0;

  Object.assign(globalThis, {
    /** Writes so many bytes from a stream; resolves how far it was read ahead of what was written. */
    async writeStream(agent, path, size) {
      const { files } = await connect(agent);
      let [given, told, ahead] = [0, 0, 0];
      const source = new ReadableStream({
        pull(controller) {
          if (given === size) return controller.close();
          controller.enqueue(part(given, ${MEGABYTE}));
          given += ${MEGABYTE};
        },
      }, { highWaterMark: 0 });
      const onProgress = ({ bytes }) => {
        ahead = Math.max(ahead, given - told);
        told = bytes;
      };
      const info = await files.write(path, source, { onProgress });
      return { size: info.size, told, ahead };
    },
    /** Begins to read. */
    async readFirst(agent, path) {
      const { files } = await connect(agent);
      reader = files.readStream(path).getReader();
      return globalThis.readNext();
    },
    /** Reads a chunk; resolves whether there was one. */
    async readNext() {
      const { done, value } = await reader.read();
      if (done) return false;
      for (const byte of value)
        if (byte !== byteAt(position++)) throw new Error("another byte at " + (position - 1));
      return true;
    },
    /** Reads to the end; resolves how many bytes there were. */
    async readRest() {
      while (await globalThis.readNext()) /* on */;
      return position;
    },
  });
  globalThis.isReady = true;
</script>`;

/** The bytes that the page makes. @param {number} size */
function bytesOf(size) {
  const bytes = Buffer.alloc(size);
  for (let place = 0; place < size; place++) bytes[place] = place ^ (place >> 8) ^ (place >> 16);
  return bytes;
}

const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
const server = createServer(async (request, response) => {
  const path = request.url ?? "/";
  const type = types[/** @type {keyof typeof types} */ (extname(path))];
  response.setHeader("content-type", type ?? "text/html");
  response.end(type === undefined ? PAGE : await readFile(join(dist, path)));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
const origin = `http://127.0.0.1:${port}`;
const workspace = await mkdtemp(join(tmpdir(), "sandpipe-page-"));
const agent = await startAgent({ args: ["--allow-origin", origin, "--workspace", workspace] });
after(async () => {
  await agent.stop();
  server.closeAllConnections();
  server.close();
  await rm(workspace, { recursive: true });
});

for (const [name, launch] of Object.entries({ Chromium: launchChromium, Firefox: launchFirefox })) {
  test(`streams are written and read with backpressure in ${name}`, async () => {
    const browser = await launch();
    const relay = new Relay(agent.url);
    const { token } = agent;
    const target = { url: await relay.listen(), token };
    try {
      const page = await browser.newPage();
      await page.goto(origin);
      await page.waitForFunction("globalThis.isReady");
      /** @param {string} call @param {unknown[]} args */
      const inPage = (call, ...args) =>
        page.evaluate(`${call}(${args.map((arg) => JSON.stringify(arg)).join()})`);

      const size = 16 * MEGABYTE;
      const written = await inPage("writeStream", target, "written", size);
      const { ahead, ...whole } = /** @type {{ ahead: number }} */ (written);
      assert.deepEqual(whole, { size, told: size });
      assert.ok(ahead <= 5 * MEGABYTE, `${ahead} bytes`);
      assert.ok(bytesOf(size).equals(await readFile(join(workspace, "written"))));

      const large = 72 * MEGABYTE;
      await writeFile(join(workspace, "large"), bytesOf(large));
      relay.carried = 0;
      assert.equal(await inPage("readFirst", target, "large"), true);
      // Up to when all buffers on the way are full.
      let [before, unchanged] = [0, 0];
      await until(() => {
        unchanged = relay.carried === before ? unchanged + 1 : 0;
        before = relay.carried;
        return unchanged > 20;
      });
      // It asks for 32 MiB at once, which a browser may read ahead.
      assert.ok(
        relay.carried < 33 * MEGABYTE,
        `${relay.carried} bytes were taken that nobody reads`,
      );
      assert.equal(await inPage("readRest"), large);
    } finally {
      await browser.close();
      await relay.close();
    }
  });
}
