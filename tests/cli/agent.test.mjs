// @ts-check
// `sandpipe agent` and `sandpipe console`: an agent in the foreground.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "sandpipe";
import { startTestAgent } from "../support/agent.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

/** Flags of an agent that keeps its token in a directory of its own. */
function flags() {
  const state = join(sandpipe.path, `state-${randomUUID()}`);
  return ["--", "--listen", "127.0.0.1:0", "--state-dir", state, "--ephemeral"];
}

/** What a person is told. @param {string} said */
function directions(said) {
  const [, url = ""] = /listens on (\S+)/.exec(said) ?? [];
  const [, file = ""] = /token is in (.+?)\r?$/m.exec(said) ?? [];
  return {
    url,
    file,
    exports: [...said.matchAll(/^ {2}(export .*?)\r?$/gm)].map(([, line]) => line),
  };
}

describe("sandpipe agent", () => {
  it("says how to use it, which is true, and ends with 0 on SIGTERM", async () => {
    const invocation = await sandpipe.start(["agent", ...flags()]);
    await invocation.says(/Ctrl\+C stops/);
    const { url, file, exports } = directions(invocation.stdout);
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(file, /state-.*\/admin-token$/);
    const script = `${exports.join("\n")}\nsandpipe run echo there; sandpipe ps`;
    const { stdout } = await (await sandpipe.startInShell(script)).end;
    assert.match(stdout, /^there\nID .*\n.* echo there\n$/);
    invocation.child.kill("SIGTERM");
    const { exitCode, stderr } = await invocation.end;
    assert.equal(exitCode, 0);
    assert.equal(
      stderr,
      "sandpipe: stopping; Ctrl+C again to kill now\nsandpipe: the agent has ended, and all that it ran.\n",
    );
    await invocation.leavesNothing();
  });

  it("says it as a line of JSON", async () => {
    // These are options, too.
    const [, ...options] = flags().slice(0, -1);
    const invocation = await sandpipe.start(["agent", "--json", ...options]);
    await invocation.says("\n");
    const { url, adminTokenFile } = JSON.parse(invocation.stdout);
    const token = (await readFile(adminTokenFile, "utf8")).trim();
    const { execs } = await connect({ url, token });
    assert.equal((await execs.exec("true")).exitCode, 0);
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
  });

  it("says how a second one is started beside it", async () => {
    const state = join(sandpipe.path, `state-${randomUUID()}`);
    const options = ["--listen", "127.0.0.1:0", "--state-dir", state];
    const first = await sandpipe.start(["agent", "--json", ...options]);
    await first.says("\n");
    const { host } = new URL(JSON.parse(first.stdout).url);
    for (const [options, reason] of /** @type {[string[], RegExp][]} */ ([
      [["--state-dir", state], /another agent uses the state directory/],
      [["--listen", host, "--state-dir", `${state}-2`], /can't listen on .*: Address in use/],
    ])) {
      const { exitCode, stderr } = await sandpipe.run(["agent", ...options]);
      assert.equal(exitCode, 125);
      assert.match(stderr, reason);
      assert.match(stderr, /second agent give both --listen 127\.0\.0\.1:0 and --state-dir DIR\n$/);
    }
    first.child.kill("SIGTERM");
    assert.equal((await first.end).exitCode, 0);
  });

  it("leaves nothing when it is killed itself", async () => {
    const invocation = await sandpipe.start(["agent", ...flags()]);
    await invocation.says(/Ctrl\+C stops/);
    invocation.child.kill("SIGKILL");
    await invocation.end;
    await invocation.willLeaveNothing();
  });

  for (const command of ["agent", "console"]) {
    it(`is given up on Ctrl+C where it does not come to listen, with what is left of it: ${command}`, async () => {
      // It says nothing, and takes notice of SIGTERM without ending.
      const program = join(sandpipe.path, `silent-${command}`);
      const state = join(sandpipe.path, `state-${randomUUID()}`);
      const script = `#!/bin/sh\nstate='${state}'\ntrap 'echo > "$state.told"' TERM\necho > "$state.ready"\nwhile :; do sleep 0.05; done\n`;
      await writeFile(program, script, { mode: 0o755 });
      const env = { SANDPIPE_AGENT: program };
      const invocation = await sandpipe.start([command, "--", "--state-dir", state], { env });
      await until(() => existsSync(`${state}.ready`));
      invocation.child.kill("SIGINT");
      await until(() => existsSync(`${state}.told`));
      invocation.child.kill("SIGINT");
      const { signal, stdout, stderr } = await invocation.end;
      assert.deepEqual({ signal, stdout }, { signal: "SIGINT", stdout: "" });
      assert.match(stderr, /\nsandpipe: the agent did not come to listen\.\n$/);
      // Its program may have a child that is killed with it.
      await invocation.willLeaveNothing();
    });
  }

  it("lets the agent list its flags and tell its version", async () => {
    for (const [flag, says] of /** @type {const} */ ([
      ["--help", /^Usage: sandpipe-agent .*^ +--workspace /ms],
      ["--version", /^sandpipe-agent \d+\.\d+\.\d+\n$/],
    ])) {
      const { exitCode, stdout, stderr } = await sandpipe.run(["agent", "--", flag]);
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
      assert.match(stdout, says);
    }
  });

  it("ends with 125 and one line where it can't be started", async () => {
    const taken = await startTestAgent();
    const noAddress = await sandpipe.run([
      "agent",
      ...flags(),
      "--listen",
      new URL(taken.url).host,
    ]);
    await taken.stop();
    const noProgram = await sandpipe.run(["agent"], { env: { SANDPIPE_AGENT: "/no/agent" } });
    const noFlag = await sandpipe.run(["agent", "--", "--walk"]);
    for (const [{ exitCode, stdout, stderr }, says] of /** @type {const} */ ([
      [noAddress, /can't listen on 127\.0\.0\.1/],
      [noProgram, /\/no\/agent.*SANDPIPE_AGENT/],
      [noFlag, /--walk/],
    ])) {
      assert.deepEqual({ exitCode, stdout }, { exitCode: 125, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
      assert.match(stderr, says);
    }
  });
});

describe("sandpipe console", () => {
  it("prints the address with the token, and runs an agent as long as it runs itself", async () => {
    const invocation = await sandpipe.start(["console", "--no-open", ...flags()]);
    await invocation.says(/Ctrl\+C stops/);
    const [, url = "", token = ""] =
      /^The console is at (http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)$/m.exec(invocation.stdout) ??
      [];
    const { execs } = await connect({ url, token });
    assert.equal((await execs.exec("true")).exitCode, 0);
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    await invocation.leavesNothing();
  });

  it("says how another terminal uses its agent", async () => {
    const invocation = await sandpipe.start(["console", "--no-open", ...flags()]);
    await invocation.says(/Ctrl\+C stops/);
    const exports = invocation.stdout.match(/^ {2}export .*$/gm)?.join("\n");
    const script = `${exports}\necho $SANDPIPE_URL $SANDPIPE_TOKEN`;
    const shown = execFileSync("sh", ["-c", script], { encoding: "utf8" }).trim();
    const [url = "", token = ""] = shown.split(" ");
    assert.deepEqual(await (await connect({ url, token })).execs.list(), []);
    invocation.child.kill("SIGINT");
    await invocation.end;
  });

  it("opens it in the browser, with nothing of the token in the arguments", async () => {
    // Of the working directory no program is started.
    const bin = await mkdtemp(join(tmpdir(), "sandpipe-test-"));
    const opened = join(sandpipe.path, "opened");
    // What a desktop has for it.
    await writeFile(
      join(bin, "xdg-open"),
      `#!/bin/sh\necho "$1" > '${opened}.new'\nmv '${opened}.new' '${opened}'\n`,
    );
    await chmod(join(bin, "xdg-open"), 0o755);
    const env = { PATH: `${bin}:${process.env["PATH"]}` };
    const invocation = await sandpipe.start(["console", ...flags()], { env });
    await invocation.says(/Ctrl\+C stops/);
    await until(() => existsSync(opened));
    const argument = (await readFile(opened, "utf8")).trim();
    const [, address = ""] = /The console is at (\S+)/.exec(invocation.stdout) ?? [];
    assert.ok(!argument.includes(new URL(address).hash));
    const page = await readFile(fileURLToPath(argument), "utf8");
    assert.ok(page.includes(`location.replace(${JSON.stringify(address)})`));
    invocation.child.kill("SIGINT");
    assert.equal((await invocation.end).signal, "SIGINT");
    await invocation.leavesNothing();
    await rm(bin, { recursive: true });
  });

  it("prints the address of an agent that is named, and does without a browser", async () => {
    const agent = await startTestAgent();
    // Nothing but Node.js is found there.
    const PATH = join(sandpipe.path, "node-alone");
    await mkdir(PATH);
    await symlink(process.execPath, join(PATH, "node"));
    const env = { PATH, SANDPIPE_URL: `${agent.url}/prefix`, SANDPIPE_TOKEN: "a&b" };
    const { exitCode, stdout, stderr } = await sandpipe.run(["console"], { env });
    await agent.stop();
    assert.deepEqual(
      { exitCode, stdout, stderr },
      {
        exitCode: 0,
        stdout: `The console is at ${agent.url}/prefix/#token=a%26b\n`,
        stderr: "",
      },
    );
  });
});
