// @ts-check
// `sandpipe policy`, what `sandpipe ps` says of a policy, and options of policies that exclude others.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { startAgent } from "sandpipe/node";

import { escaped, json } from "../../dist/cli/format.js";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { installSandpipe } from "../support/installed-cli.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

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
  it("shows every character of a name, by the rule that the program has for all others", async () => {
    const names = [];
    let name = "";
    for (let code = 1; code <= 0xe1000; code += code === 0x1ffff ? 0xc0001 : 1) {
      const isSurrogate = code >= 0xd800 && code < 0xe000;
      if (!isSurrogate && code !== 0x2f) name += String.fromCodePoint(code);
      // As long as a name may be.
      if (Buffer.byteLength(name) < 240) continue;
      names.push(name);
      name = "";
    }
    const args = names.map((text) => `./x${text}`);
    const { exitCode, stdout } = await sandpipe.run(["policy", "explain", "strict", ...args]);
    assert.equal(exitCode, 0);
    const lines = stdout.split("\n");
    assert.equal(lines.length, names.length + 1);
    for (const [index, text] of names.entries()) {
      const path = join(realpathSync(sandpipe.path), `x${text}`);
      assert.ok(lines[index]?.startsWith(`${escaped(path)}: read, by the rule: `), lines[index]);
    }
    assert.equal(
      escaped("a\u200bb\u200f\ufeff\u{e0041}\x1b"),
      "a\\u200bb\\u200f\\ufeff\\u{e0041}\\x1b",
    );
    // JSON has them escaped, and means the same.
    const value = { "a\u200b": ["\u{e0041}\n\x9b\u202e"] };
    assert.deepEqual(JSON.parse(json(value)), value);
    assert.match(json(value), /^[\n -~]*$/);
  });

  it("says what holds, and which rule decides", async () => {
    const check = await sandpipe.run(["policy", "check", "offline"]);
    assert.equal(check.exitCode, 0, check.stdout + check.stderr);
    assert.match(check.stdout, /network/i);
    const explain = await sandpipe.run(["policy", "explain", "--policy", "workspace", "~/.ssh/id"]);
    assert.equal(explain.exitCode, 0, explain.stderr);
    assert.match(explain.stdout, /hid/);
    const env = { SERVICE_TOKEN: "x" };
    const withheld = await sandpipe.run(["policy", "check", "workspace"], { env });
    assert.match(withheld.stdout, /look like secrets or lead to other programs:.* SERVICE_TOKEN\b/);
    const named = ["policy", "explain", "--pass-env", "SERVICE_TOKEN", "$SERVICE_TOKEN", "$A_KEY"];
    assert.match(
      (await sandpipe.run(named)).stdout,
      /^\$SERVICE_TOKEN: passed, .*\n\$A_KEY: not passed, /,
    );
    const flags = ["--", "--max-open-files", "77"];
    const limited = await sandpipe.run(["policy", "check", "workspace", ...flags]);
    assert.match(limited.stdout, /^limits\.openFiles: /m);
    const dry = await sandpipe.run(["policy", "check", "strict", "--dry-run"]);
    assert.match(dry.stdout, /bwrap .*--unshare/s);
  });
});

describe("policies on the command line", () => {
  it("exclude containers, agents that are named and other machines", async () => {
    for (const [args, message] of /** @type {const} */ ([
      [["run", "--policy", "strict", "--image", "x", "--", "true"], /--policy is for commands on/],
      [
        ["run", "--policy", "strict", "--url", "http://127.0.0.1:1", "--", "true"],
        /--url names an agent/,
      ],
      [["run", "--no-unix-sockets", "--image", "x", "--", "true"], /--no-unix-sockets is for/],
      [["mcp", "--hide", "x", "--ssh", "host"], /--ssh names a machine, and a policy asks/],
      [["policy", "walk"], /unknown command 'walk'/],
    ])) {
      const end = await sandpipe.run([...args]);
      assert.equal(end.exitCode, 2, end.stderr);
      assert.match(end.stderr, message);
    }
  });

  it("are in what a client of MCP is configured with", async () => {
    const args = ["mcp", "--policy", "workspace", "--allow-net", "example.com:443"];
    args.push("--no-unix-sockets");
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), "sandpipe-test-")));
    const end = await (await sandpipe.start([...args, "--print-config", "claude"], { cwd })).end;
    rmSync(cwd, { recursive: true });
    assert.equal(end.exitCode, 0, end.stderr);
    assert.match(
      end.stdout,
      /--policy=workspace.*--allow-net=example\.com:443.*"--no-unix-sockets"/s,
    );
  });
});
