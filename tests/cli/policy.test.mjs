// @ts-check
// What commands of the program may touch: --policy and `sandpipe policy`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { startAgent } from "sandpipe/node";

import { installSandpipe } from "../support/installed-cli.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/** A server with a child, which cleans up for some time when it is told to stop. @param {number} ms */
const server = (ms) => `
  const { spawn } = require("node:child_process");
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  process.on("SIGTERM", () => {
    console.log("cleaning up");
    setTimeout(() => {
      console.log("clean");
      require("node:fs").writeFileSync("cleaned", "");
      child.kill();
      process.exit(0);
    }, ${ms});
  });
  require("node:http").createServer().listen(0, "127.0.0.1", () => console.log("ready"));`;

/** Runs the program where there is no bubblewrap: without a PATH. @param {string[]} args */
async function withoutBubblewrap(...args) {
  const quoted = args.map((arg) => `'${arg}'`).join(" ");
  const program = `'${process.execPath}' '${sandpipe.program}' ${quoted}`;
  const invocation = await sandpipe.startInShell(`PATH=/nowhere; exec ${program}`);
  invocation.stdin.end();
  const end = await invocation.end;
  await invocation.leavesNothing();
  return end;
}

describe("sandpipe run --policy", { skip: noBubblewrap }, () => {
  it("has the command's exit code and output, and keeps it from what it may not touch", async () => {
    const script = "echo out; echo err >&2; echo x > refused; exit 42";
    const end = await sandpipe.run(["run", "--policy", "strict", "--", "sh", "-c", script]);
    assert.deepEqual([end.exitCode, end.stdout], [42, "out\n"]);
    assert.match(end.stderr, /err\n.*refused.*Read-only file system/s);
    const missing = await sandpipe.run(["run", "--policy=offline", "--", "no-such-program"]);
    assert.equal(missing.exitCode, 127);
    const args = ["--allow-write", "node_modules", "--hide", "package.json", "--policy", "strict"];
    const added = await sandpipe.run([
      "run",
      ...args,
      "--",
      "sh",
      "-c",
      "echo x > node_modules/made; cat package.json",
    ]);
    assert.equal(added.exitCode, 1);
    assert.equal(added.stderr, "cat: package.json: Permission denied\n");
  });

  it("lets commands commit, and gives them a secret, where that is asked for", async () => {
    const repository = join(sandpipe.path, ".git");
    const git = (/** @type {string[]} */ ...args) =>
      execFileSync("git", args, { cwd: sandpipe.path });
    git("init", "--quiet");
    const script = `echo "$A_TOKEN"; git -c user.name=me -c user.email=me@example commit --quiet --allow-empty -m made`;
    const run = (/** @type {string[]} */ ...options) =>
      sandpipe.run(["run", ...options, "--", "sh", "-c", script], { env: { A_TOKEN: "token" } });
    const refused = await run("--policy", "workspace");
    assert.match(refused.stderr, /Read-only file system/);
    assert.deepEqual([refused.exitCode, refused.stdout], [128, "\n"]);
    const pass = ["--pass-env", "*", "--pass-env", "A_TOKEN"];
    const done = await run("--extend", "commits", ...pass);
    assert.deepEqual([done.exitCode, done.stdout], [0, "token\n"], done.stderr);
    assert.equal(git("log", "--format=%s").toString(), "made\n");
    rmSync(repository, { recursive: true });
  });

  it("lets a server clean up after Ctrl+C, for up to 10 s", async () => {
    const mounts = () => readFileSync("/proc/mounts", "utf8");
    const before = mounts();
    const args = ["run", "--policy", "workspace", "--", process.execPath, "-e", server(300)];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    const end = await invocation.end;
    assert.equal(end.stdout, "ready\ncleaning up\nclean\n");
    assert.deepEqual([end.exitCode ?? 130, end.signal ?? "SIGINT"], [130, "SIGINT"]);
    await invocation.leavesNothing();
    assert.equal(mounts(), before);
  });

  it("ends it at once at a second Ctrl+C", async () => {
    const args = ["run", "--policy", "workspace", "--", process.execPath, "-e", server(60_000)];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    await until(() => invocation.stdout.includes("cleaning up"));
    invocation.child.kill("SIGINT");
    const end = await invocation.end;
    assert.deepEqual([end.exitCode ?? 130, end.signal ?? "SIGINT"], [130, "SIGINT"]);
    assert.ok(!end.stdout.includes("clean\n"));
    await invocation.leavesNothing();
  });

  for (const [name, ms, interrupts] of /** @type {const} */ ([
    ["lets the server of `npm start` clean up after Ctrl+C in a terminal", 300, 1],
    ["ends `npm start` at once at a second Ctrl+C in a terminal", 60_000, 2],
  ])) {
    it(`${name}, and ends with 130`, async () => {
      const mounts = () => readFileSync("/proc/mounts", "utf8");
      const before = mounts();
      const project = join(sandpipe.path, `server-${ms}`);
      mkdirSync(project);
      writeFileSync(join(project, "server.js"), server(ms));
      const scripts = { start: "node server.js" };
      writeFileSync(join(project, "package.json"), JSON.stringify({ scripts }));
      const args = ["run", "--policy", "workspace", "--cwd", project, "--", "npm", "start"];
      const invocation = await sandpipe.startInTerminal(args);
      await invocation.says("ready");
      for (let typed = 0; typed < interrupts; typed += 1) {
        invocation.stdin.write("\x03");
        await invocation.says("again to kill now");
      }
      const { stdout } = await invocation.end;
      assert.ok(!stdout.includes("within 10 s"), stdout);
      // npm itself ends at once, and what is shown with it.
      assert.equal(existsSync(join(project, "cleaned")), interrupts === 1, stdout);
      assert.match(stdout, /exit code 130\r\nrestored/);
      await invocation.leavesNothing();
      assert.equal(mounts(), before);
    });
  }

  it("runs nothing where the policy can't be held, and says what to do", async () => {
    const marker = "echo it-ran";
    const file = await sandpipe.run(["run", "--policy", "no-such", "--", "sh", "-c", marker]);
    assert.equal(file.exitCode, 125);
    assert.match(file.stderr, /no-such/);
    const end = await withoutBubblewrap(
      "run",
      "--policy",
      "workspace",
      "--",
      "/bin/sh",
      "-c",
      marker,
    );
    assert.deepEqual([end.exitCode, end.stdout], [125, ""]);
    assert.match(end.stderr, /bubblewrap/);
  });

  it("is what a model's commands have, or sandpipe mcp does not start", async () => {
    const end = await withoutBubblewrap("mcp");
    assert.deepEqual([end.exitCode, end.stdout], [125, ""]);
    assert.match(end.stderr, /apt-get install bubblewrap[^]*--policy open/);
  });
});

describe("sandpipe ps", { skip: noBubblewrap }, () => {
  it("says which policy the agent has", async () => {
    const agent = await startAgent({ policy: "offline" });
    const env = { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    const { exitCode, stderr } = await sandpipe.run(["ps"], { env });
    await agent.stop();
    assert.deepEqual([exitCode, stderr], [0, "sandpipe: the agent's policy is offline.\n"]);
  });
});

describe("sandpipe policy", { skip: noBubblewrap }, () => {
  it("says what holds, and which rule decides", async () => {
    const check = await sandpipe.run(["policy", "check", "offline"]);
    assert.equal(check.exitCode, 0, check.stdout + check.stderr);
    assert.match(check.stdout, /network/i);
    const explain = await sandpipe.run(["policy", "explain", "--policy", "workspace", "~/.ssh/id"]);
    assert.equal(explain.exitCode, 0, explain.stderr);
    assert.match(explain.stdout, /hid/);
    const env = { SERVICE_TOKEN: "x" };
    const withheld = await sandpipe.run(["policy", "check", "workspace"], { env });
    assert.match(withheld.stdout, /look like secrets:.* SERVICE_TOKEN\b/);
    const named = ["policy", "explain", "--pass-env", "SERVICE_TOKEN", "$SERVICE_TOKEN", "$A_KEY"];
    assert.match(
      (await sandpipe.run(named)).stdout,
      /^\$SERVICE_TOKEN: passed, .*\n\$A_KEY: not passed, /,
    );
    const dry = await sandpipe.run(["policy", "check", "strict", "--dry-run"]);
    assert.match(dry.stdout, /bwrap .*--unshare/s);
  });
});

describe("walls on the command line", () => {
  it("are of one kind, and around an agent of its own", async () => {
    for (const [args, message] of /** @type {const} */ ([
      [["run", "--policy", "strict", "--image", "x", "--", "true"], /--policy is for commands on/],
      [
        ["run", "--policy", "strict", "--url", "http://127.0.0.1:1", "--", "true"],
        /--url names an agent/,
      ],
      [["mcp", "--hide", "x", "--ssh", "host"], /--ssh names a machine, and a policy asks/],
      [["policy"], /check or explain/],
    ])) {
      const end = await sandpipe.run([...args]);
      assert.equal(end.exitCode, 2, end.stderr);
      assert.match(end.stderr, message);
    }
  });

  it("are in what a client of MCP is configured with", async () => {
    const args = ["mcp", "--policy", "workspace", "--allow-net", "example.com:443"];
    const end = await sandpipe.run([...args, "--print-config", "claude"]);
    assert.equal(end.exitCode, 0, end.stderr);
    assert.match(end.stdout, /--policy=workspace.*--allow-net=example\.com:443/s);
  });
});
