// @ts-check
// `sandpipe ps` with many commands, and `sandpipe rm`.
import assert from "node:assert/strict";
import { after, afterEach, describe, it } from "node:test";
import { installWithAgent } from "./with-agent.mjs";

const { execs, run, remove } = await installWithAgent();

afterEach(async () => {
  for (const { id } of await execs.list()) await execs.delete(id);
});
after(remove);

/** Runs commands to their ends, and gives their ids, newest first. @param {number} count */
async function end(count) {
  const ids = [];
  for (let i = 0; i < count; i++) {
    const { id } = await execs.create({ command: "true", args: [] });
    await execs.wait(id);
    ids.unshift(id);
  }
  return ids;
}

/** The ids in a table. @param {string} table */
const idsIn = (table) =>
  table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(" ")[0]);

describe("sandpipe ps", () => {
  it("shows the newest and what runs, and says how many more there are", async () => {
    const { id: runs } = await execs.create({ command: "sleep", args: ["1000"] });
    const { id: waits } = await execs.create({ command: "true", args: [], autostart: false });
    const ended = await end(25);
    const usual = await run("ps");
    assert.equal(usual.exitCode, 0);
    assert.deepEqual(idsIn(usual.stdout), [...ended.slice(0, 20), waits, runs]);
    const [, ...more] = usual.stderr.split("\n");
    assert.deepEqual(more, ["sandpipe: 5 more have ended: --all shows them.", ""]);
    const few = await run("ps", "--limit", "2");
    assert.deepEqual(idsIn(few.stdout), [...ended.slice(0, 2), waits, runs]);
    for (const args of [["--all"], ["-a"], ["--limit", "27"]]) {
      const all = await run("ps", ...args);
      assert.deepEqual(idsIn(all.stdout), [...ended, waits, runs]);
      assert.doesNotMatch(all.stderr, /more have ended/);
    }
    const json = await run("ps", "--json");
    assert.deepEqual(JSON.parse(json.stdout), await execs.list());
    assert.equal(json.stderr, "");
    const quiet = await run("ps", "-q");
    assert.equal(
      quiet.stdout,
      [...ended.slice(0, 20), waits, runs].map((id) => `${id}\n`).join(""),
    );
    assert.equal(quiet.stderr, "");
    const some = await run("ps", "--json", "--limit", "1");
    assert.equal(JSON.parse(some.stdout).length, 3);
    for (const wrong of [
      ["--limit", "0"],
      ["--limit", "x"],
      ["--all", "--limit", "1"],
    ]) {
      const { exitCode, stderr } = await run("ps", ...wrong);
      assert.equal(exitCode, 2, stderr);
    }
  });

  it("lists commands whose arguments together are more than an answer may be", async () => {
    const args = ["-c", "", "x".repeat(120_000)];
    // 600 × 120 KB = 72 MB; 64 MiB is what is read of one answer.
    for (let i = 0; i < 600; i += 20) {
      await Promise.all(Array.from({ length: 20 }, () => execs.exec("sh", args)));
    }
    const { exitCode, stdout } = await run("ps", "--all");
    assert.equal(exitCode, 0);
    const lines = stdout.trimEnd().split("\n").slice(1);
    assert.equal(lines.length, 600);
    for (const line of lines) assert.match(line, / sh -c {2}x+…$/);
    const [item] = await execs.list();
    assert.equal(item?.argsTruncated, true);
    assert.deepEqual((await execs.get(item.id)).args, args);
    assert.equal((await execs.remove()).length, 600);
  });
});

describe("sandpipe rm", () => {
  it("removes those that are named, by their ids or the beginnings of these", async () => {
    const [one = "", other = "", left = ""] = await end(3);
    const { id: waits } = await execs.create({ command: "true", args: [], autostart: false });
    const { exitCode, stdout, stderr } = await run("rm", one, other.slice(0, 16), waits);
    assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: "", stderr: "" });
    assert.deepEqual(
      (await execs.list()).map(({ id }) => id),
      [left],
    );
  });

  it("leaves what runs, says so, and removes the others", async () => {
    const { id: runs } = await execs.create({ command: "sleep", args: ["1000"] });
    const [ended = ""] = await end(1);
    const { exitCode, stderr } = await run("rm", runs, "no-such", ended);
    assert.equal(exitCode, 1);
    const lines = stderr.trimEnd().split("\n").sort();
    assert.deepEqual(lines.length, 2);
    assert.ok(
      lines.includes(`sandpipe: ${runs}: it runs: end it with \`sandpipe stop ${runs}\` first.`),
    );
    assert.match(stderr, /sandpipe: no exec has the id "no-such"/);
    assert.deepEqual(
      (await execs.list()).map(({ id, status }) => [id, status]),
      [[runs, "RUNNING"]],
    );
  });

  it("removes all that has ended, or what has for so long", async () => {
    const { id: runs } = await execs.create({ command: "sleep", args: ["1000"] });
    await end(3);
    const early = await run("rm", "--ended", "--before", "1h");
    assert.deepEqual([early.exitCode, early.stdout, early.stderr], [0, "0 removed\n", ""]);
    const all = await run("rm", "--ended");
    assert.deepEqual([all.exitCode, all.stdout, all.stderr], [0, "3 removed\n", ""]);
    assert.deepEqual(
      (await execs.list()).map(({ id }) => id),
      [runs],
    );
  });

  it("ends with 2 where the command line makes no sense", async () => {
    for (const wrong of [
      [],
      ["--ended", "x"],
      ["--before", "1h", "x"],
      ["--ended", "--before", "1"],
      ["--ended", "--before", "an hour"],
    ]) {
      const { exitCode, stdout, stderr } = await run("rm", ...wrong);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: "" });
      assert.match(stderr, /^sandpipe: .*\n$/);
    }
  });
});
