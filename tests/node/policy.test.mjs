// @ts-check
// startAgent({ policy }): what commands may touch.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentError, connect, InvalidArgumentError, UnsupportedError } from "sandpipe";
import { startAgent } from "sandpipe/node";

import { noBubblewrap } from "../support/bubblewrap.mjs";

/** @import { StartAgentOptions } from "sandpipe/node" */

describe("the policy of an agent of one's own", { skip: noBubblewrap }, () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let workspace;
  /** Where temporary files are made: nobody else makes any there. @type {string} */
  let temporary;
  const usual = process.env["TMPDIR"];

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpipe-policy-"));
    workspace = join(folder, "workspace");
    mkdirSync(join(workspace, "dist"), { recursive: true });
    writeFileSync(join(workspace, ".env"), "SECRET=1\n");
    temporary = join(folder, "tmp");
    mkdirSync(temporary);
    process.env["TMPDIR"] = temporary;
  });
  after(() => {
    if (usual === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = usual;
    rmSync(folder, { recursive: true });
  });

  /**
   * @param {StartAgentOptions["policy"]} policy
   * @param {string} script
   */
  const runUnder = async (policy, script) => {
    const agent = await startAgent({ policy, workspace });
    const sandbox = await connect(agent);
    try {
      const { exitCode, output } = await sandbox.execs.exec("sh", ["-c", script]);
      return [exitCode, output];
    } finally {
      sandbox.close();
      await agent.stop();
    }
  };

  it("is a preset's name", async () => {
    const write = "echo x > made && cat made; exit $?";
    assert.deepEqual(await runUnder("workspace", write), [0, "x\n"]);
    assert.equal(existsSync(join(workspace, "made")), true);
    const [exitCode, output] = await runUnder("strict", "echo x > refused");
    assert.notEqual(exitCode, 0);
    assert.match(String(output), /Read-only file system/);
    assert.equal(existsSync(join(workspace, "refused")), false);
    const interfaces = "tail -n +3 /proc/net/dev | grep -v '^ *lo:' | wc -l";
    assert.deepEqual(await runUnder("offline", interfaces), [0, "0\n"]);
  });

  it("protects each of very many repositories", async () => {
    const count = 120;
    const repository = (/** @type {number} */ i) => join(workspace, "many", `r${i}`);
    for (let i = 0; i < count; i++) {
      mkdirSync(join(repository(i), ".git"), { recursive: true });
      writeFileSync(join(repository(i), ".git", "config"), "");
    }
    const attack = `cd many; for d in *; do
      (echo x > $d/.git/config) 2>/dev/null && echo $d/.git is written
      mv $d moved 2>/dev/null && echo $d is moved
      echo x > $d/file
    done; ls */file | wc -l`;
    try {
      assert.deepEqual(await runUnder("workspace", attack), [0, `${count}\n`]);
    } finally {
      rmSync(join(workspace, "many"), { recursive: true });
    }
  });

  it("is an object, of which nothing is left behind", async () => {
    const policy = {
      extends: /** @type {const} */ (["strict"]),
      files: { write: ["./dist"], hide: ["**/.env"] },
      network: /** @type {const} */ ("none"),
      env: { set: { GREETING: "hello 'you'" } },
      limits: { openFiles: 64 },
    };
    const script = 'cat .env 2>/dev/null; echo x > dist/made; echo "$GREETING"; ulimit -n';
    assert.deepEqual(await runUnder(policy, script), [0, "hello 'you'\n64\n"]);
    assert.equal(existsSync(join(workspace, "dist/made")), true);
    assert.deepEqual(readdirSync(temporary), []);
  });

  it("is the path of a file, with comments", async () => {
    const file = join(workspace, "policy.json");
    writeFileSync(file, '{ "extends": ["strict"], // and\n "files": { "write": ["dist"] } }');
    const script = "echo x > dist/of-file; test -w dist && ! test -w .";
    assert.deepEqual(await runUnder(/** @type {`${string}.json`} */ (file), script), [0, ""]);
  });

  it("is none that is a promise, or of which JSON has nothing", async () => {
    for (const policy of /** @type {any[]} */ ([Promise.resolve("strict"), new Map(), []])) {
      await assert.rejects(startAgent({ policy, workspace }), { code: "invalid_argument" });
      const sandbox = await connect({ url: "http://127.0.0.1:9", token: "t" });
      await assert.rejects(sandbox.execs.exec("true", [], { policy }), {
        code: "invalid_argument",
      });
    }
  });

  it("is refused with what is wrong with it, and nothing is left of the agent", async () => {
    for (const [policy, message] of /** @type {[any, RegExp][]} */ ([
      ["no-such-preset", /no-such-preset/],
      [{ files: { wirte: [] } }, /files\.wirte.*unknown field/],
      [{ files: { write: ["./not-there"] } }, /not-there/],
    ])) {
      const starting = startAgent({ policy, workspace });
      await assert.rejects(starting, (error) => {
        assert.ok(error instanceof AgentError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
    assert.deepEqual(readdirSync(temporary), []);
  });
});

describe("behind the walls of", { skip: noBubblewrap }, () => {
  for (const policy of /** @type {const} */ (["workspace", "offline", "strict"])) {
    it(`${policy} sessions and background processes are as without`, async () => {
      const agent = await startAgent({ policy });
      const sandbox = await connect(agent);
      try {
        const session = await sandbox.sessions.create({ shell: "bash" });
        await session.run("cd /usr; x=5");
        const said = await session.run("pwd; echo $x; (exit 4)");
        assert.deepEqual([said.exitCode, said.output], [4, "/usr\n5\n"]);
        await session.close();
        const { background } = sandbox;
        const ending = await background.spawn("echo up; exit 6");
        const { exitCode, status } = await background.wait(ending.id);
        assert.deepEqual([status, exitCode], ["exited", 6]);
        assert.equal((await background.readOutput(ending.id)).output, "up\n");
        const running = await background.spawn("sleep 600");
        assert.equal((await background.terminate(running.id)).status, "killed");
      } finally {
        sandbox.close();
        await agent.stop();
      }
    });
  }
});

describe("an agent", () => {
  it("says its policy", { skip: noBubblewrap }, async () => {
    const custom = { env: { set: { NAME: "value" } } };
    for (const policy of /** @type {const} */ (["open", "strict", custom])) {
      const agent = await startAgent({ policy });
      const sandbox = await connect(agent);
      assert.equal(await sandbox.policy(), typeof policy === "string" ? policy : "custom");
      sandbox.close();
      await assert.rejects(sandbox.policy(), { code: "closed" });
      await agent.stop();
    }
  });

  it("may be one that says none, or no agent", async () => {
    const answer = { agent: "another", version: "1", features: [] };
    const policyWhere = async (/** @type {Response} */ response) =>
      (await connect({ url: "http://127.0.0.1:9", fetch: async () => response })).policy();
    assert.equal(await policyWhere(Response.json(answer)), undefined);
    const missing = Response.json({ code: 404, message: "no such page" }, { status: 404 });
    assert.equal(await policyWhere(missing), undefined);
    await assert.rejects(policyWhere(new Response("<h1>Hello</h1>")), { code: "protocol" });
  });

  it("that knows no policies of commands runs none that names one", async () => {
    const agent = await startAgent({ args: ["--without", "policy"] });
    const sandbox = await connect(agent);
    const policy = "open";
    const request = { command: "true", args: [], policy };
    for (const create of [
      () => sandbox.execs.exec("true", [], { policy }),
      () => sandbox.execs.create(request),
    ]) {
      await assert.rejects(create(), (error) => {
        assert.ok(error instanceof UnsupportedError, String(error));
        assert.equal(error.feature, "policy");
        assert.match(error.message, /options\.policy/);
        return true;
      });
    }
    assert.deepEqual(await sandbox.execs.list(), []);
    sandbox.close();
    await agent.stop();
  });
});

it("a policy that is none is refused before anything is started", async () => {
  for (const [options, message] of /** @type {const} */ ([
    [{ policy: 5 }, /`options\.policy` must be a preset's name.*but is the number 5/],
    [{ policy: null }, /but is null/],
    [{ policy: "a\0b" }, /options\.policy/],
    [{ policy: "strict", image: "node:22" }, /`options\.policy` is for commands on this machine/],
  ])) {
    // @ts-expect-error it is wrong
    await assert.rejects(startAgent(options), (error) => {
      assert.ok(error instanceof InvalidArgumentError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
});
