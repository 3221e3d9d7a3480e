// @ts-check
// What commands of the program may touch: `sandpipe run --policy`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";

import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { installSandpipe } from "../support/installed-cli.mjs";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/** In the environment of programs whose messages are read. */
const ENGLISH = { LC_ALL: "C" };

/**
 * The file systems that are mounted, but for those of other tests: these are in their temporary
 * folders, or network namespaces.
 */
function mounts() {
  const others = `${dirname(sandpipe.path)}/`;
  return readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .filter((line) => {
      const [, encoded = "", type] = line.split(" ");
      const path = encoded.replaceAll("\\040", " ");
      return path.startsWith(sandpipe.path) || !(path.startsWith(others) || type === "nsfs");
    });
}

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
  const program = `'${process.execPath}' -- '${sandpipe.program}' ${quoted}`;
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
    assert.match(
      end.stderr,
      /\nsandpipe: refused by the policy strict: .*give --allow-write PATH\.\n$/,
    );
    const missing = await sandpipe.run(["run", "--policy=offline", "--", "no-such-program"]);
    assert.equal(missing.exitCode, 127);
    const args = ["--allow-write", "node_modules", "--hide", "package.json", "--policy", "strict"];
    const command = ["sh", "-c", "echo x > node_modules/made; cat package.json"];
    const added = await sandpipe.run(["run", ...args, "--", ...command], { env: ENGLISH });
    assert.equal(added.exitCode, 1);
    assert.equal(added.stderr, "cat: package.json: Permission denied\n");
  });

  it("keeps commands from Unix sockets with --no-unix-sockets, under `workspace` by default", async () => {
    const script = `const { createServer } = require("node:net");
      const listen = (where) => new Promise((resolve) => {
        const server = createServer().on("error", (error) => resolve(error.code));
        server.listen(where, () => resolve(server.close() && "listens"));
      });
      const { stdout } = require("node:child_process").spawnSync("echo", ["a child"]);
      (async () => console.log(await listen("socket"), await listen(0), String(stdout)))();`;
    const run = async (/** @type {string[]} */ ...options) => {
      const command = [process.execPath, "-e", script];
      return (await sandpipe.run(["run", ...options, "--", ...command])).stdout;
    };
    assert.equal(await run(), "listens listens a child\n\n");
    assert.equal(await run("--no-unix-sockets"), "EPERM listens a child\n\n");
    const inner = join(sandpipe.path, "without-sockets");
    mkdirSync(inner);
    const outside = ["sh", "-c", "echo x > ../outside; echo x > inside"];
    await sandpipe.run(["run", "--no-unix-sockets", "--workspace", inner, "--", ...outside]);
    assert.ok(existsSync(join(inner, "inside")) && !existsSync(join(sandpipe.path, "outside")));
  });

  it("is `workspace` for an agent of its own, and for none that is named", async () => {
    const folder = join(sandpipe.path, "confined");
    mkdirSync(join(folder, "inner"), { recursive: true });
    const script = "echo inside > inner/file; echo outside > ../outside; pwd";
    const args = ["--workspace", join(folder, "inner"), "--cwd", join(folder, "inner")];
    const write = "echo inside > file; echo outside > ../outside; exit 3";
    const run = (/** @type {string[]} */ ...options) =>
      sandpipe.run(["run", ...args, ...options, "--", "sh", "-c", write]);
    assert.equal((await run()).exitCode, 3);
    assert.ok(existsSync(join(folder, "inner", "file")) && !existsSync(join(folder, "outside")));
    assert.equal((await run("--policy", "open")).exitCode, 3);
    assert.ok(existsSync(join(folder, "outside")));
    const agent = await startAgent({ workspace: folder });
    const env = { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    const named = await sandpipe.run(["run", "--", "sh", "-c", script], { env });
    await agent.stop();
    assert.equal(named.stdout, `${folder}\n`);
    assert.ok(existsSync(join(sandpipe.path, "outside")));
    rmSync(join(sandpipe.path, "outside"));
  });

  it("names both ways on where the workspace can't be confined", async () => {
    const { exitCode, stdout, stderr } = await sandpipe.run([
      ...["run", "--workspace", "/"],
      ...["--", "echo", "it ran"],
    ]);
    assert.deepEqual([exitCode, stdout], [125, ""]);
    assert.match(
      stderr,
      /the workspace \/ holds the home .*choose a directory.*--workspace DIR.*--policy open/,
    );
  });

  it("refuses a workspace whose files would be lost", async () => {
    const { exitCode, stdout, stderr } = await sandpipe.run([
      ...["run", "--workspace", "/tmp"],
      ...["--", "echo", "it ran"],
    ]);
    assert.deepEqual([exitCode, stdout], [125, ""]);
    assert.match(
      stderr,
      /the workspace \/tmp is not there for commands.*--workspace DIR.*--policy open/,
    );
  });

  it("says a refusal of the network in one line", async () => {
    const command = `const [, host, port] = /\\/\\/(.*):(\\d+)/.exec(process.env.HTTP_PROXY);
      require("node:http").get({ host, port, path: "http://a.example/" }, (answer) => {
        console.log(answer.statusCode);
        answer.resume();
      });`;
    const args = ["run", "--allow-net", "b.example", "--", process.execPath, "-e", command];
    const { exitCode, stdout, stderr } = await sandpipe.run(args);
    assert.deepEqual([exitCode, stdout], [0, "403\n"], stderr);
    const refused = "refused by the policy: connections to a.example:80.";
    const advice = "To allow it: --allow-net a.example:80.";
    assert.equal(stderr, `sandpipe: ${refused} ${advice}\n`);
  });

  it("names each refused host, also after many refusals and the timeout", async () => {
    const command = `const http = require("node:http");
      const [, host, port] = /\\/\\/(.*):(\\d+)/.exec(process.env.HTTP_PROXY);
      const get = (path) => new Promise((done) =>
        http.get({ host, port, path }, (answer) => answer.resume().on("end", done)));
      (async () => {
        for (let count = 0; count < 30; count++) await get("http://a.example/");
        await get("http://c.example/");
        console.log("refused");
        setInterval(() => {}, 1e6);
      })();`;
    const options = ["--allow-net", "b.example", "--timeout", "15"];
    const args = ["run", ...options, "--", process.execPath, "-e", command];
    const invocation = await sandpipe.start(args, { stopsClock: true });
    await invocation.says("refused\n");
    await invocation.timePasses();
    const { exitCode, stderr } = await invocation.end;
    assert.equal(exitCode, 124);
    assert.match(
      stderr,
      / have passed\. Also refused by the policy: connections to a\.example:80, c\.example:80\. /,
    );
  });

  it("is `workspace` in the console, unless flags have another", async () => {
    for (const [flags, policy] of /** @type {const} */ ([
      [[], "workspace"],
      [["--", "--policy", "offline"], "offline"],
      [["--policy", "open"], "open"],
    ])) {
      const state = ["--state-dir", join(sandpipe.path, `state-${policy}`), "--listen=127.0.0.1:0"];
      const separated = flags.some((flag) => flag === "--") ? state : ["--", ...state];
      const args = ["console", "--no-open", "--workspace", join(sandpipe.path, "node_modules")];
      const invocation = await sandpipe.start([...args, ...flags, ...separated]);
      await until(() => invocation.stdout.includes("Ctrl+C stops"));
      const [, url = "", token = ""] = /at (\S+)\/#token=(\S+)/.exec(invocation.stdout) ?? [];
      const sandbox = await connect({ url, token });
      assert.equal(await sandbox.policy(), policy);
      sandbox.close();
      invocation.child.kill("SIGINT");
      await invocation.end;
    }
  });

  it("hides the settings of npm that a variable names, and npm does without", async () => {
    const file = join(sandpipe.path, "user.npmrc");
    writeFileSync(
      file,
      "registry=https://registry.example/\n//registry.example/:_authToken=secret\n",
    );
    const env = { NPM_CONFIG_USERCONFIG: file, MIRROR: "https://me:secret@mirror.example/" };
    const script = `cat "$NPM_CONFIG_USERCONFIG" 2>&1; npm config get registry --registry=https://r.example/; echo "$MIRROR"`;
    const args = (/** @type {string[]} */ ...policy) => [
      "run",
      ...policy,
      "--",
      "sh",
      "-c",
      script,
    ];
    const { stdout } = await sandpipe.run(args("--policy", "workspace"), {
      env: { ...ENGLISH, ...env },
    });
    assert.match(stdout, /^cat: .*user\.npmrc: Permission denied\nhttps:\/\/r\.example\/\n\n$/);
    // Whoever names it has it.
    const named = args("--allow-read", file, "--pass-env", "*", "--pass-env", "MIRROR");
    const open = await sandpipe.run(named, { env });
    assert.match(open.stdout, /_authToken=secret\n.*\nhttps:\/\/me:secret@mirror\.example\/\n$/);
    rmSync(file);
  });

  it("lets commands commit, and gives them a secret, where that is asked for", async () => {
    const repository = join(sandpipe.path, ".git");
    const git = (/** @type {string[]} */ ...args) =>
      execFileSync("git", args, { cwd: sandpipe.path });
    git("init", "--quiet");
    const script = `echo "$A_TOKEN"; git -c user.name=me -c user.email=me@example commit --quiet --allow-empty -m made`;
    const run = (/** @type {string[]} */ ...options) =>
      sandpipe.run(["run", ...options, "--", "sh", "-c", script], {
        env: { ...ENGLISH, A_TOKEN: "token" },
      });
    const refused = await run("--policy", "workspace");
    const told = ".git is read-only. To commit, give --extend commits.";
    assert.match(refused.stderr, /Read-only file system/);
    assert.ok(refused.stderr.endsWith(`\nsandpipe: refused by the policy workspace: ${told}\n`));
    assert.deepEqual([refused.exitCode, refused.stdout], [128, "\n"]);
    const pass = ["--pass-env", "*", "--pass-env", "A_TOKEN"];
    const done = await run("--extend", "commits", ...pass);
    assert.deepEqual([done.exitCode, done.stdout], [0, "token\n"], done.stderr);
    assert.equal(git("log", "--format=%s").toString(), "made\n");
    rmSync(repository, { recursive: true });
  });

  it("lets a server clean up after Ctrl+C, for up to 10 s", async () => {
    const before = mounts();
    const args = ["run", "--policy", "workspace", "--", process.execPath, "-e", server(300)];
    const invocation = await sandpipe.start(args);
    await invocation.says("ready\n");
    invocation.child.kill("SIGINT");
    const end = await invocation.end;
    assert.equal(end.stdout, "ready\ncleaning up\nclean\n");
    assert.deepEqual([end.exitCode ?? 130, end.signal ?? "SIGINT"], [130, "SIGINT"]);
    await invocation.leavesNothing();
    assert.deepEqual(mounts(), before);
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
      assert.deepEqual(mounts(), before);
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
