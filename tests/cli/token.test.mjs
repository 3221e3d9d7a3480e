// @ts-check
// `sandpipe token`.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { installWithAgent } from "./with-agent.mjs";

const { sandpipe, execs, env, run, remove } = await installWithAgent();
after(remove);

describe("sandpipe token", () => {
  it("creates a token that is used, listed and revoked", async () => {
    const { id } = await execs.create({ command: "sh", args: ["-c", "echo shown"] });
    await execs.wait(id);
    const created = await run(
      "token",
      "create",
      "--read-exec",
      id.slice(0, 8),
      "--expires-in",
      "1h",
    );
    assert.equal(created.exitCode, 0, created.stderr);
    const token = created.stdout.trim();
    assert.match(created.stdout, /^sandpipe_[0-9a-f]{64}\n$/);
    const [, tokenId = ""] =
      /`sandpipe token revoke ([0-9a-f]+)` revokes it/.exec(created.stderr) ?? [];
    const scoped = { env: { ...env, SANDPIPE_TOKEN: token } };
    assert.equal((await sandpipe.run(["logs", id], scoped)).stdout, "shown\n");
    const refused = await sandpipe.run(["run", "true"], scoped);
    assert.equal(refused.exitCode, 125);
    assert.match(refused.stderr, /createCommands/);
    const listed = await run("token", "ls");
    assert.match(listed.stdout, new RegExp(`^${tokenId} .*--read-exec ${id}$`, "m"));
    assert(!listed.stdout.includes(token));
    const json = JSON.parse((await run("token", "ls", "--json")).stdout);
    assert.deepEqual([json.length, json[0].id, json[0].readExecs], [1, tokenId, [id]]);
    assert.equal((await run("token", "ls", "-q")).stdout, `${tokenId}\n`);
    const wrong = await run("token", "revoke", tokenId, token);
    assert.deepEqual([wrong.exitCode, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /not the token/);
    assert(!wrong.stderr.includes(token));
    const revoked = await run("token", "revoke", tokenId.slice(0, 6));
    assert.deepEqual([revoked.exitCode, revoked.stdout, revoked.stderr], [0, "", ""]);
    assert.equal((await sandpipe.run(["logs", id], scoped)).exitCode, 125);
    assert.equal((await run("token", "ls", "--json")).stdout, "[]\n");
  });

  it("takes every scope, and says what is wrong", async () => {
    const { id } = await execs.create({ command: "true" });
    const all = ["--type-into", id, "--create-commands", "--read-files", ".", "--write-files", "."];
    const created = await run("token", "create", "--json", ...all);
    assert.equal(created.exitCode, 0, created.stderr);
    const { id: tokenId, expiresAt } = JSON.parse(created.stdout);
    const rest = Date.parse(expiresAt) - Date.now();
    assert(rest > 3_000_000 && rest <= 3_600_000, expiresAt);
    const [listed] = JSON.parse((await run("token", "ls", "--json")).stdout);
    assert.equal(listed.id, tokenId);
    assert.deepEqual([listed.typeInto, listed.createCommands], [[id], true]);
    assert.equal(listed.readFiles, listed.writeFiles);
    for (const [args, code, message] of /** @type {[string[], number, RegExp][]} */ ([
      [["create"], 125, /no scope/],
      [["create", "--read-exec", "zz"], 125, /no exec has the id "zz"/],
      [["create", "--create-commands", "--expires-in", "0"], 2, /more than 0/],
      [["create", "--read-files", ""], 2, /--read-files must not be empty/],
      [["create", "--read-files", "nothing-there"], 125, /nothing-there/],
      [["revoke", "zz"], 1, /no token has the id "zz"/],
      [["revoke"], 2, /ID/],
    ])) {
      const wrong = await run("token", ...args);
      assert.equal(wrong.exitCode, code, `${args.join(" ")}: ${wrong.stderr}`);
      assert.match(wrong.stderr, message);
      assert.equal(wrong.stdout, "");
    }
  });
});
