// @ts-check
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { after, test } from "node:test";
import { build, createServer, preview } from "vite";
import { startTestAgent } from "../support/agent.mjs";
import { installInProject } from "../support/installed-package.mjs";
import { launchChromium } from "../support/chromium.mjs";

const project = await installInProject(new URL("app/", import.meta.url));
const browser = await launchChromium();
after(async () => {
  await browser.close();
  await project.remove();
});

// No configuration: what a user gets who only installs the package.
const configuration = () => ({
  root: project.path,
  configFile: /** @type {const} */ (false),
  logLevel: /** @type {const} */ ("error"),
});

test("runs a command in a page that Vite built", async () => {
  await inBuiltPage(runsACommand);
});

test("runs a command in a page of Vite's development server", async () => {
  const server = await createServer({
    ...configuration(),
    server: { host: "127.0.0.1", port: 0, strictPort: true },
  });
  try {
    await server.listen();
    await inPage(server.resolvedUrls?.local[0], runsACommand);
  } finally {
    await server.close();
  }
});

test("a page has an interactive shell, and twenty live outputs at once", async () => {
  await inBuiltPage(async (agent, call) => {
    const shell = await call("useShell", {
      ...agent,
      size: [100, 30],
      typed: "stty size; exit 7\r",
    });
    assert.match(shell.output, /\r\n30 100\r\n/);
    assert.equal(shell.exitCode, 7);
    const exitCodes = await call("watchMany", { ...agent, count: 20 });
    assert.deepEqual(
      exitCodes,
      Array.from({ length: 20 }, (_, number) => number),
    );
  });
});

test("no request of many commands fails", async () => {
  // In a page failed requests are problems.
  await inBuiltPage(async (agent, call) => {
    const expected = Array.from({ length: 20 }, (_, number) => number);
    assert.deepEqual(await call("runMany", { ...agent, count: 20 }), {
      exec: expected,
      streamOutput: expected,
      getOutput: expected,
    });
  });
});

test("of a session's requests none fails but the streams that are left between two runs", async () => {
  await inBuiltPage(async (agent, call, problems) => {
    const expected = Array.from({ length: 20 }, (_, number) => number);
    assert.deepEqual(await call("runInSession", { ...agent, count: 20 }), expected);
    const failed = problems.splice(0).filter((problem) => problem.includes(": net::"));
    const streams = failed.filter((problem) => problem.includes("/api/v1/stream/execs/"));
    assert.deepEqual(failed, streams);
  });
});

test("what is secret does not go to another origin", async () => {
  await inBuiltPage(async (_, call) => {
    /** @type {string[]} */
    const received = [];
    /** @param {import("node:http").RequestListener} answer */
    const serve = async (answer) => {
      const server = createHttpServer((request, response) => {
        response.setHeader("access-control-allow-origin", "*");
        response.setHeader("access-control-allow-headers", "*, authorization");
        if (request.method === "OPTIONS") return void response.writeHead(204).end();
        answer(request, response);
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
      return { url: `http://127.0.0.1:${port}`, server };
    };
    const other = await serve((request, response) => {
      received.push(`${request.method} ${request.url}`);
      response.end();
    });
    const first = await serve((request, response) => {
      response.writeHead(307, { location: other.url + request.url }).end();
    });
    const message = await call("failToRun", { url: first.url, token: "secret" });
    assert.match(message, /^HttpError: .*it leads from http:\/\/127\.0\.0\.1:\d+ to/);
    assert.deepEqual(received, []);
    for (const { server } of [first, other]) server.close();
  });
});

test("UTF-16 becomes a string by the engine's builtins, ASCII by a decoder", async () => {
  await inBuiltPage(async (agent, call) => {
    for (const [text, encodings] of /** @type {const} */ ([
      ["plain", ["utf-8"]],
      ["größer", []],
      ["正在编译 😀", []],
    ])) {
      assert.deepEqual(await call("printText", { ...agent, text }), { output: text, encodings });
    }
  });
});

/** @type {Use} */
async function runsACommand(agent, call) {
  const args = ["-c", "echo hello; echo oops >&2; exit 3"];
  const answer = await call("runCommand", { ...agent, command: "sh", args });
  assert.deepEqual(answer.result, { exitCode: 3, output: "hello\noops\n" });
  const outputs = answer.events.filter((/** @type {any} */ event) => event.output !== "");
  assert.deepEqual(outputs, [
    { type: "stdout", output: "hello\n" },
    { type: "stderr", output: "oops\n" },
  ]);
  const ended = await call("runInBackground", { ...agent, script: "echo later; exit 4" });
  assert.deepEqual(ended, { status: "exited", exitCode: 4, output: "later\n" });
  const said = await call("useTool", { ...agent, script: "echo hello; exit 5" });
  assert.equal(said, "exit code: 5\n\nhello\n");
}

/**
 * Has functions called of the script of a page that Vite built.
 *
 * @param {Use} use
 */
async function inBuiltPage(use) {
  await build(configuration());
  const server = await preview({
    ...configuration(),
    preview: { host: "127.0.0.1", port: 0, strictPort: true },
  });
  try {
    await inPage(server.resolvedUrls?.local[0], use);
  } finally {
    await server.close();
  }
}

/**
 * Opens a page that may use an agent, and has functions of the page's script called.
 *
 * @typedef {(name: string, request: object) => Promise<any>} Call
 * @typedef {(agent: { url: string, token: string }, call: Call, problems: string[]) => Promise<void>} Use
 *
 * @param {string | undefined} address
 * @param {Use} use
 */
async function inPage(address, use) {
  assert(address !== undefined);
  const agent = await startTestAgent({ allowOrigin: new URL(address).origin });
  const page = await browser.newPage();
  try {
    /** @type {string[]} */
    const problems = [];
    page.on("requestfailed", (request) => {
      if (!request.url().startsWith(agent.url)) return;
      problems.push(`${request.url()}: ${request.failure()?.errorText}`);
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    await page.goto(address);
    await page.waitForFunction("globalThis.runCommand");
    const { url, token } = agent;
    /** @type {Call} */
    const call = (name, request) =>
      page.evaluate(
        // @ts-expect-error The page's script defines it.
        ([name, request]) => globalThis[name](request),
        /** @type {const} */ ([name, request]),
      );
    await use({ url, token }, call, problems);
    assert.deepEqual(problems, []);
  } finally {
    await page.close();
    await agent.stop();
  }
}
