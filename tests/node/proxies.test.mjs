// @ts-check
// Agents on this machine are asked without a proxy, in each runtime whose requests go through one.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startAgent } from "sandpipe/node";

import { isLoopback } from "../../dist/node/loopback.js";

const run = promisify(execFile);
const calls = fileURLToPath(new URL("calls-to-agent.mjs", import.meta.url));
const createsSandbox = fileURLToPath(new URL("creates-sandbox.mjs", import.meta.url));

/** Where a program is in PATH. @param {string} name */
const inPath = (name) =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((file) => existsSync(file));

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const obeysProxies = major >= 24 || (major === 22 && minor >= 21);
const runtimes = [
  {
    name: "Node.js",
    file: obeysProxies ? process.execPath : undefined,
    flags: [],
    needs: "Node.js 22.21 or 24",
  },
  { name: "Bun", file: inPath("bun"), flags: ["run"], needs: "Bun" },
  { name: "Deno", file: inPath("deno"), flags: ["run", "--allow-all"], needs: "Deno" },
];

describe("an agent on this machine", () => {
  /** What the proxy was asked for. @type {string[]} */
  let asked = [];
  const proxy = createServer(({ method, url }, response) => {
    asked.push(`${method} ${url}`);
    response.writeHead(502).end("refused by the proxy");
  }).on("connect", ({ url }, socket) => {
    asked.push(`CONNECT ${url}`);
    socket.end("HTTP/1.1 502 refused by the proxy\r\n\r\n");
  });
  /** @type {NodeJS.ProcessEnv} */
  let env;
  /** @type {string} */
  let workspace;
  /** @type {Awaited<ReturnType<typeof startAgent>>} */
  let agent;
  before(async () => {
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (proxy.address());
    const names = [
      "http_proxy",
      "https_proxy",
      "all_proxy",
      "HTTP_PROXY",
      "HTTPS_PROXY",
      "ALL_PROXY",
    ];
    env = { ...process.env, NODE_USE_ENV_PROXY: "1", NO_PROXY: "", no_proxy: "" };
    for (const name of names) env[name] = `http://127.0.0.1:${port}`;
    workspace = await mkdtemp(join(tmpdir(), "sandpipe-proxies-"));
    agent = await startAgent({ workspace });
  });
  after(async () => {
    proxy.close();
    proxy.closeAllConnections();
    await agent.stop();
    await rm(workspace, { recursive: true });
  });

  for (const { name, file, flags, needs } of runtimes) {
    const skip = file === undefined && `needs ${needs}`;
    for (const host of ["127.0.0.1", "localhost"]) {
      it(
        `is asked as ${host} without a proxy, and others through it, by ${name}`,
        { skip },
        async () => {
          asked = [];
          const url = agent.url.replace("127.0.0.1", host);
          const args = [...flags, calls, url, agent.token, "http://agent.invalid:4000"];
          const { stdout } = await run(file ?? "", args, { env });
          assert.deepEqual(JSON.parse(stdout), {
            output: "in-clear fed",
            file: "a file",
            shown: "typed\r\n",
            stopped: "interrupted",
            failed: "HttpError",
          });
          // The control: this runtime does obey the proxy.
          const others = asked.filter((request) => request.includes("agent.invalid:4000"));
          assert.ok(others.length > 0, "nothing went through the proxy");
          assert.deepEqual(asked, others);
        },
      );
    }
  }

  const skip = obeysProxies ? false : "needs Node.js 22.21 or 24";
  it("of createSandbox() and forwardPort() is asked without a proxy", { skip }, async () => {
    asked = [];
    const { stdout } = await run(process.execPath, [createsSandbox], { env, cwd: workspace });
    assert.deepEqual(JSON.parse(stdout), { forwarded: "from the sandbox", typed: "typed\r\n" });
    assert.deepEqual(asked, []);
  });

  it("of the command line is asked without a proxy", { skip }, async () => {
    asked = [];
    const program = fileURLToPath(new URL("../../dist/cli/sandpipe.js", import.meta.url));
    const args = [program, "run", "--policy", "open", "--", "echo", "hello"];
    const { stdout } = await run(process.execPath, args, { env, cwd: workspace });
    assert.equal(stdout, "hello\n");
    const at = { ...env, SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    await run(process.execPath, [program, "ps"], { env: at, cwd: workspace });
    assert.deepEqual(asked, []);
  });
});

describe("an address of this machine", () => {
  for (const host of [
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "127.0.0.1",
    "127.9.8.7",
    "127.1",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
  ]) {
    it(`is ${host}`, () => assert.equal(isLoopback(`http://${host}:4000/way`), true));
  }
  for (const host of [
    "example.com",
    "localhost.example.com",
    "notlocalhost",
    "128.0.0.1",
    "10.127.0.0",
    "127.0.0.1.example.com",
    "[::2]",
    "[::ffff:10.0.0.1]",
    "user:127.0.0.1@example.com",
  ]) {
    it(`is not ${host}`, () => assert.equal(isLoopback(`http://${host}/`), false));
  }
});
