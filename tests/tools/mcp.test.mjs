// @ts-check
// The tools over the Model Context Protocol, with the official SDK's client.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { after, afterEach, describe, it } from "node:test";

import { background } from "sandpipe";
import { localRuntime, startAgent } from "sandpipe/node";

import { inTime } from "../background/in-time.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { temporaryDirectory } from "../support/target.mjs";
import { failure } from "../support/script.mjs";
import { childrenOf, marked, marker, until } from "../support/processes.mjs";
import * as mcpServer from "../support/mcp-server.mjs";
import { field } from "./subject.mjs";
import { visibleDirectory } from "./visible-directory.mjs";

const { textOf } = mcpServer;

const directory = temporaryDirectory();

/** Where the servers keep their processes. */
const TMPDIR = join(directory, "tmp");
mkdirSync(TMPDIR);

// Servers and agents of a failed test would keep this process alive.
afterEach(() => {
  for (const pid of childrenOf(String(process.pid))) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
});
after(async () => {
  const baseDir = join(TMPDIR, `sandpipe-${process.getuid?.()}`);
  const left = background(localRuntime(), { baseDir, namespace: "tools" });
  for (const { id } of await left.list()) await left.terminate(id, { graceMs: 0 });
  rmSync(directory, { recursive: true });
});

let paths = 0;
const newPath = () => join(directory, `file ${(paths += 1)}`);

const NAMES = [
  "bash",
  "bash_background_list",
  "bash_background_output",
  "bash_background_terminate",
  "file_read",
  "file_write",
  "file_edit",
  "file_list",
];

/** @type {typeof mcpServer.startServer} */
const startServer = async (env, options) => inTime(await mcpServer.startServer(env, options));

/** A server for this machine without walls. @param {Parameters<typeof startServer>[1]} [options] */
const startLocal = (options) => startServer({ TMPDIR }, { args: ["--local"], ...options });

const CLEAN_END = { exitCode: 0, signal: null, stderr: "", noise: [] };

for (const mode of /** @type {const} */ (["legacy", "auto"])) {
  it(`lists every tool and runs each, with a client whose version is ${mode}`, async () => {
    const server = await startLocal({ client: { versionNegotiation: { mode } } });
    const { tools } = await server.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      NAMES,
    );
    for (const { description, inputSchema, annotations } of tools) {
      assert.ok(description);
      assert.equal(inputSchema.type, "object");
      assert.equal(inputSchema["additionalProperties"], false);
      const { title, ...hints } = annotations ?? {};
      assert.ok(title);
      assert.deepEqual(Object.keys(hints).sort(), [
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
      ]);
    }
    const readOnly = tools.map(({ annotations }) => annotations?.readOnlyHint);
    assert.deepEqual(readOnly, [false, true, true, false, true, false, false, true]);
    assert.deepEqual(tools[0]?.inputSchema.required, ["script"]);

    const ran = await server.call("bash", { script: "echo hello; exit 3" });
    assert.equal(ran, "exit code: 3\n\nhello\n");
    const script = "echo up; sleep 600";
    const started = await server.call("bash", { script, run_in_background: true });
    const id = field(started, "process_id");
    const read = await server.call("bash_background_output", { process_id: id, wait_secs: 30 });
    assert.equal(read, "status: running\nnext_offset: 3\n\nup\n");
    assert.match(await server.call("bash_background_list", {}), new RegExp(id));
    const stopped = await server.call("bash_background_terminate", { process_id: id });
    assert.match(stopped, /^exit code: 143 /);

    const path = newPath();
    const content = "one\ntwo\n";
    assert.match(await server.call("file_write", { path, content }), /a new file/);
    await server.call("file_edit", { path, old_text: "two", new_text: "2" });
    const shown = await server.call("file_read", { path });
    assert.match(shown, /\nlines: 1-2 of 2\n\n {5}1\tone\n {5}2\t2\n$/);
    const listed = await server.call("file_list", { path: directory });
    assert.ok(listed.includes(`${basename(path)} (6 bytes)\n`), listed);

    assert.deepEqual(await server.close(), CLEAN_END);
  });
}

describe("a call that fails", () => {
  it("has a result that a model can act on", async () => {
    const server = await startLocal();
    for (const [name, input, message] of /** @type {const} */ ([
      ["bash", { scrip: "true" }, /there is no `scrip`.*`script` is missing/],
      ["bash", undefined, /`script` is missing/],
      ["bash_background_output", { process_id: "nobody" }, /there is no process "nobody"/],
      ["bash_background_terminate", { process_id: "nobody" }, /there is no process "nobody"/],
      ["bash", { script: "true", timeout_secs: -1 }, /`timeout_secs` must be .*, but is -1$/],
      ["bash", { script: "a\nb\0" }, /`script` must be text .* in line 2, character 2$/],
      ["bash_background_output", { process_id: "x", filter: "(" }, /`filter` must be .*"\("/],
      ["file_read", { path: "/no/such/file" }, /there is no "\/no\/such\/file"\. file_list shows/],
      ["file_write", { path: "a" }, /`content` is missing/],
    ])) {
      const result = await server.client.callTool({ name, ...(input && { arguments: input }) });
      assert.equal(result.isError, true);
      assert.match(textOf(result), message);
    }
    const unknown = server.client.callTool({ name: "zsh", arguments: {} });
    assert.match((await failure(unknown)).message, /zsh/);
    assert.deepEqual(await server.close(), CLEAN_END);
  });

  it("says that the agent can't be reached", async () => {
    const agent = await startAgent();
    await agent.stop();
    const server = await startServer(
      { SANDPIPE_TOKEN: agent.token },
      { args: ["--url", agent.url] },
    );
    const result = await server.client.callTool({ name: "bash_background_list", arguments: {} });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /can't be reached|fetch failed|no answer/);
    assert.deepEqual(await server.close(), CLEAN_END);
  });
});

it("an expression that goes back and forth does not hold up the server", async () => {
  const server = await startLocal();
  const script = `printf '%s\\n' ${"a".repeat(60)}! aa`;
  const started = await server.call("bash", { script, run_in_background: true });
  const id = field(started, "process_id");
  await server.call("bash_background_output", { process_id: id, wait_secs: 30 });
  const found = await server.call("bash_background_output", { process_id: id, filter: "(a+)+$" });
  assert.match(found, /\n\naa\n$/);

  // The description says so: it is JavaScript's, on each line by itself, and what may take for ever.
  const { tools } = await server.client.listTools();
  const output = tools.find(({ name }) => name === "bash_background_output");
  const properties = /** @type {Record<string, { description: string }> | undefined} */ (
    output?.inputSchema.properties
  );
  const description = properties?.["filter"]?.description ?? "";
  assert.match(description, /^A JavaScript regular expression without flags: only the lines/);
  assert.match(description, /each line by itself.*\(a\+\)\+, together with lookarounds/);
  const javaScript = { process_id: id, filter: "^(?<word>a)\\k<word>$" };
  assert.match(await server.call("bash_background_output", javaScript), /\n\naa\n$/);
  const notPosix = { process_id: id, filter: "[[:alpha:]]" };
  assert.match(await server.call("bash_background_output", notPosix), /\(no such line\)$/);
  assert.deepEqual(await server.close(), CLEAN_END);
});

it("keeps its own settings and secrets from commands", async () => {
  const server = await startServer({ TMPDIR, SANDPIPE_TOKEN: "secret" }, { args: ["--local"] });
  const said = await server.call("bash", { script: "env | grep ^SANDPIPE_ | sed 's/=.*//'" });
  assert.equal(said, "exit code: 0\n\nSANDPIPE_PROCESS\n");
  assert.deepEqual(await server.close(), CLEAN_END);
});

describe("without a machine or a policy", { skip: noBubblewrap }, () => {
  it("commands write the workspace and their own /tmp, and nothing else", async () => {
    const [workspace, outside] = [newPath(), newPath()];
    mkdirSync(workspace);
    const visible = visibleDirectory();
    after(() => rmSync(visible, { recursive: true }));
    const readOnly = join(visible, "outside");
    const server = await startServer({}, { cwd: workspace });
    const script = `pwd; echo in > made; echo out > '${outside}'; echo out > '${readOnly}'
      echo tmp > /tmp/sandpipe-mcp-test; ls /tmp`;
    const said = await server.call("bash", { script });
    assert.match(said, /^exit code: 0\n/);
    assert.ok(said.includes(workspace), said);
    assert.match(said, /sandpipe-mcp-test/);
    assert.equal(readFileSync(join(workspace, "made"), "utf8"), "in\n");
    assert.ok(!existsSync(outside));
    assert.ok(!existsSync(readOnly));
    assert.ok(!existsSync("/tmp/sandpipe-mcp-test"));

    // They end with the server.
    const mark = marker();
    const background = `export ${Object.keys(mark)}=1; sleep 600`;
    await server.call("bash", { script: background, run_in_background: true });
    await until(() => marked(mark).length > 0);
    assert.deepEqual(await server.close(), CLEAN_END);
    assert.deepEqual(marked(mark), []);
  });

  it("files are written in the workspace alone, and what is hidden from commands is hidden from file tools", async () => {
    const workspace = newPath();
    mkdirSync(workspace);
    const home = visibleDirectory();
    after(() => rmSync(home, { recursive: true }));
    mkdirSync(join(home, ".ssh"), { recursive: true });
    const secret = join(home, ".ssh", "id_ed25519");
    writeFileSync(secret, "the secret\n");
    const server = await startServer({ HOME: home }, { cwd: workspace });
    await server.call("file_write", { path: "src/made.txt", content: "in\n" });
    assert.equal(readFileSync(join(workspace, "src", "made.txt"), "utf8"), "in\n");
    assert.match(await server.call("file_read", { path: "src/made.txt" }), / {5}1\tin\n$/);
    for (const [name, input] of /** @type {const} */ ([
      ["file_read", { path: secret }],
      ["file_edit", { path: secret, old_text: "secret", new_text: "known" }],
      ["file_write", { path: join(home, "outside"), content: "out" }],
    ])) {
      const result = await server.client.callTool({ name, arguments: input });
      assert.equal(result.isError, true, textOf(result));
      assert.doesNotMatch(textOf(result), /the secret/);
    }
    assert.equal(readFileSync(secret, "utf8"), "the secret\n");
    assert.ok(!existsSync(join(home, "outside")));
    assert.deepEqual(await server.close(), CLEAN_END);
  });

  it("the policy open has none of that", async () => {
    const outside = newPath();
    const server = await startServer({}, { args: ["--policy", "open"] });
    const said = await server.call("bash", { script: `echo out > '${outside}'` });
    assert.match(said, /^exit code: 0\n/);
    assert.equal(readFileSync(outside, "utf8"), "out\n");
    assert.deepEqual(await server.close(), CLEAN_END);
  });
});

it("works over an agent", async () => {
  const agent = await startAgent();
  const server = await startServer({ SANDPIPE_TOKEN: agent.token, SANDPIPE_URL: agent.url });
  const script = 'echo "${SANDPIPE_PROCESS:+in the background}"';
  assert.equal(await server.call("bash", { script }), "exit code: 0\n\nin the background\n");
  assert.deepEqual(await server.close(), CLEAN_END);
  await agent.stop();
});

it("progress has the newest output while a command runs", async () => {
  const server = await startLocal();
  const [one, two] = [newPath(), newPath()];
  const wait = (/** @type {string} */ path) => `until [ -e '${path}' ]; do sleep 0.05; done`;
  const script = `echo first; ${wait(one)}; echo second; ${wait(two)}; echo third`;
  /** @type {import("@modelcontextprotocol/client").Progress[]} */
  const seen = [];
  const result = await server.call(
    "bash",
    { script },
    {
      // The command goes on when what it said has been seen.
      onprogress: (progress) => {
        seen.push(progress);
        writeFileSync(seen.length === 1 ? one : two, "");
      },
    },
  );
  assert.equal(result, "exit code: 0\n\nfirst\nsecond\nthird\n");
  assert.deepEqual(seen.slice(0, 2), [
    { progress: 6, message: "first\n" },
    { progress: 13, message: "first\nsecond\n" },
  ]);
  assert.deepEqual(await server.close(), CLEAN_END);
});

/**
 * Starts a call whose command has descendants.
 *
 * @param {Awaited<ReturnType<typeof startServer>>} server
 * @param {{ signal?: AbortSignal, timeout_secs?: number }} [options]
 */
async function startCommand(server, { signal, ...input } = {}) {
  const mark = marker();
  const script = `export ${Object.keys(mark)}=1; sleep 600 & (sleep 600; :) & sleep 600`;
  const result = server.client.callTool(
    { name: "bash", arguments: { script, ...input } },
    signal === undefined ? {} : { signal },
  );
  const settled = result.catch((error) => error);
  await until(() => marked(mark).length === 3);
  return { mark, settled };
}

it("a cancelled call stops the command with all that it started", async () => {
  const server = await startLocal();
  const stop = new AbortController();
  const { mark, settled } = await startCommand(server, { signal: stop.signal });
  stop.abort();
  assert.ok((await settled) instanceof Error);
  await until(() => marked(mark).length === 0);
  // The server goes on, and keeps nothing of it.
  assert.equal(await server.call("bash", { script: "echo on" }), "exit code: 0\n\non\n");
  const [name = ""] = Object.keys(mark);
  await until(async () => !(await server.call("bash_background_list", {})).includes(name));
  assert.deepEqual(await server.close(), CLEAN_END);
});

describe("a server that ends", () => {
  for (const [how, end] of /** @type {const} */ ([
    ["when stdin ends", "stdin"],
    ["on SIGTERM", "SIGTERM"],
    ["on SIGINT", "SIGINT"],
  ])) {
    it(`${how} stops what runs in the foreground, and leaves the background`, async () => {
      const server = await startLocal();
      const background = { script: "sleep 600", run_in_background: true };
      const id = field(await server.call("bash", background), "process_id");
      const { mark, settled } = await startCommand(server);
      if (end === "stdin") server.child.stdin.end();
      else server.child.kill(end);
      // It ends after what it stops; of SIGINT it dies, as a program that was interrupted.
      const interrupted = { ...CLEAN_END, exitCode: null, signal: "SIGINT" };
      assert.deepEqual(await server.end, end === "SIGINT" ? interrupted : CLEAN_END);
      assert.deepEqual(marked(mark), []);
      await server.client.close();
      assert.ok((await settled) instanceof Error);

      // The next one finds it.
      const next = await startLocal();
      const list = await next.call("bash_background_list", {});
      const entry = list.split("\n\n").find((one) => one.includes(id)) ?? "";
      assert.match(entry, /^status: running$/m);
      await next.call("bash_background_terminate", { process_id: id });
      assert.deepEqual(await next.close(), CLEAN_END);
    });
  }

  it("waits for an agent that does not answer, up to a second signal", async () => {
    const agent = createServer();
    agent.listen(0, "127.0.0.1");
    await once(agent, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (agent.address());
    const args = ["--url", `http://127.0.0.1:${port}`];
    const server = await startServer({ SANDPIPE_TOKEN: "token" }, { args });
    const asked = once(agent, "request");
    const call = server.client.callTool({ name: "bash", arguments: { script: "true" } });
    const settled = call.catch((error) => error);
    await asked;
    // Two of the same could be delivered as one.
    server.child.kill("SIGTERM");
    server.child.kill("SIGINT");
    const { signal, stderr, noise } = await server.end;
    assert.ok(signal === "SIGTERM" || signal === "SIGINT", String(signal));
    assert.deepEqual(noise, []);
    assert.match(
      stderr,
      /^sandpipe: there was no answer yet: .* may go on, up to its timeout\.\n$/,
    );
    await server.client.close();
    assert.ok((await settled) instanceof Error);
    agent.closeAllConnections();
    agent.close();
  });

  it("before a client has said anything ends as well", async () => {
    const server = await startLocal();
    assert.deepEqual(await server.close(), CLEAN_END);
  });

  it("by SIGKILL leaves the command to its timeout, and to the next server", async () => {
    // The time of one command is over when this test says so: its clock is a `sleep` too.
    const [programs, isOver] = [newPath(), newPath()];
    mkdirSync(programs);
    const sleep = `#!/bin/sh
      case $1 in 3600.*) ;; *) exec /bin/sleep "$@" ;; esac
      while [ -d '${programs}' ] && [ ! -e '${isOver}' ]; do /bin/sleep 0.02; done\n`;
    writeFileSync(join(programs, "sleep"), sleep, { mode: 0o755 });
    const PATH = `${programs}:${process.env["PATH"]}`;
    const server = await startServer({ TMPDIR, PATH }, { args: ["--local"] });
    const [short, long] = await Promise.all([
      startCommand(server, { timeout_secs: 3600 }),
      startCommand(server),
    ]);
    server.child.kill("SIGKILL");
    assert.equal((await server.end).signal, "SIGKILL");
    await server.client.close();
    await Promise.all([short.settled, long.settled]);

    const next = await startLocal();
    assert.equal(marked(short.mark).length, 3);
    writeFileSync(isOver, "");
    await until(() => marked(short.mark).length === 0);
    const running = async () => {
      const entries = (await next.call("bash_background_list", {})).split("\n\n");
      return entries.filter((entry) => /^status: running$/m.test(entry));
    };
    await until(async () => (await running()).length === 1);
    assert.equal(marked(long.mark).length, 3);
    const id = field((await running())[0] ?? "", "process_id");
    await next.call("bash_background_terminate", { process_id: id });
    assert.deepEqual(marked(long.mark), []);
    assert.deepEqual(await next.close(), CLEAN_END);
  });
});

it("what was told to stop is killed in time, also when the server has been killed", async () => {
  // The grace period ends when a file exists: the script that stops the command counts it by
  // `sleep`.
  const [programs, isOver] = [newPath(), newPath()];
  mkdirSync(programs);
  const sleep = `#!/bin/sh
    grep -q 'kill -KILL "-$pid"' "/proc/$PPID/cmdline" || exec /bin/sleep "$@"
    while [ -d '${programs}' ] && [ ! -e '${isOver}' ]; do /bin/sleep 0.02; done\n`;
  writeFileSync(join(programs, "sleep"), sleep, { mode: 0o755 });
  const PATH = `${programs}:${process.env["PATH"]}`;
  const server = await startServer({ TMPDIR, PATH }, { args: ["--local"] });
  const mark = marker();
  const script = `trap '' TERM; export ${Object.keys(mark)}=1; sleep 600`;
  const settled = server.client.callTool({ name: "bash", arguments: { script } }).catch(() => "");
  await until(() => marked(mark).length === 1);
  // As the SDK's client has it: stdin's end, then SIGTERM, then SIGKILL.
  server.child.stdin.end();
  const home = join(TMPDIR, `sandpipe-${process.getuid?.()}`, "tools");
  const [name = ""] = Object.keys(mark);
  const directory = readdirSync(home)
    .map((id) => join(home, id))
    .find((path) => readFileSync(join(path, "script"), "utf8").includes(name));
  await until(() => existsSync(join(directory ?? "", "terminated")));
  server.child.kill("SIGTERM");
  server.child.kill("SIGKILL");
  assert.equal((await server.end).signal, "SIGKILL");
  await server.client.close();
  await settled;
  assert.equal(marked(mark).length, 1);
  writeFileSync(isOver, "");
  await until(() => marked(mark).length === 0);
});
