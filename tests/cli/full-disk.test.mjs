// @ts-check
// `sandpipe run` where the disk of its agent is full, and what it shows of output that is lost.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
const directory = await mkdtemp(join(tmpdir(), "sandpipe-full-disk-"));

after(async () => {
  await rm(directory, { recursive: true });
  await sandpipe.remove();
});

/** Has a shell mount what nobody else sees. */
const APART = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--user", "--map-root-user"];
const canMount =
  spawnSync("unshare", [...APART, "sh", "-c", "mount -t tmpfs tmpfs /tmp"]).status === 0;

/** Fills the disk, and tells nothing of that. */
const FILL = "dd if=/dev/zero of=$TMPDIR/filler 2>/dev/null";

/**
 * Runs a script where `TMPDIR` is a disk of 1 MiB.
 *
 * @param {string} script
 */
async function runOnSmallDisk(script) {
  const disk = await mkdtemp(join(directory, "disk-"));
  const mounted = `mount -t tmpfs -o size=1m tmpfs '${disk}' && export TMPDIR='${disk}' && ${script}`;
  const env = { SCRIPT: mounted };
  const invocation = await sandpipe.startInShell(
    `exec unshare ${APART.join(" ")} sh -c "$SCRIPT"`,
    { env },
  );
  return await invocation.end;
}

/** What `seq` prints. @param {number} last */
const numbers = (last) => Array.from({ length: last }, (_, index) => `${index + 1}\n`).join("");

describe("sandpipe run", { skip: !canMount && "nothing can be mounted here" }, () => {
  it("shows all output on a full disk, names it, and keeps the exit code", async () => {
    const command = `${FILL}; seq 1 5000; echo BUILD FAILED; exit 1`;
    const { exitCode, stdout, stderr } = await runOnSmallDisk(
      `sandpipe run --policy open -- sh -c '${command}'`,
    );
    assert.equal(stdout, `${numbers(5000)}BUILD FAILED\n`);
    assert.match(stderr, /^sandpipe: the agent's disk is full: No space left on device .*\n$/);
    assert.equal(exitCode, 1);
  });

  for (const [ownCode, exitCode] of [
    [3, 3],
    [0, 125],
  ]) {
    it(`shows the newest output after a loss, and makes ${exitCode} of ${ownCode}`, async () => {
      const done = join(await mkdtemp(join(directory, "done-")), "done");
      const stored = "until grep -qs first $TMPDIR/*/*/*/*.frames; do sleep 0.05; done";
      const command = `echo first; ${stored}; ${FILL}; seq 1 3000000; echo last; : >"${done}"; exit ${ownCode}`;
      // Nobody reads before all is written.
      const { stdout, stderr } = await runOnSmallDisk(
        `{ sandpipe run --policy open -- sh -c '${command}'; echo "exit code $?" >&2; } | ` +
          `{ while [ ! -e '${done}' ]; do sleep 0.05; done; cat; }`,
      );
      assert.equal(stdout.slice(0, 6), "first\n");
      assert.equal(stdout.slice(-14), "\n3000000\nlast\n");
      const [full, lost, code] = stderr.split("\n");
      assert.match(full ?? "", /^sandpipe: the agent's disk is full/);
      assert.match(
        lost ?? "",
        /^sandpipe: (\d+ of )?the pieces \d+ to \d+ of the output are lost: the agent's disk is full: No space left on device/,
      );
      assert.equal(code, `exit code ${exitCode}`);
    });
  }
});

describe("output beyond --spool-limit", () => {
  it("is said to be lost, and what comes after it is shown", async () => {
    const agent = await startAgent({ args: ["--spool-limit", "64KiB"] });
    const { execs } = await connect(agent);
    const script = "head -c 1000000 /dev/zero | tr '\\0' x; echo end; exit 5";
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    await until(async () => (await execs.get(id)).status === "EXITED");
    const env = { SANDPIPE_URL: agent.url, SANDPIPE_TOKEN: agent.token };
    const lost =
      /^sandpipe: the pieces 1 to (\d+) of the output are lost: the agent keeps .* --spool-limit\.\n$/;
    for (const [args, exitCode] of /** @type {const} */ ([
      [["logs", id], 125],
      [["attach", id], 5],
    ])) {
      const end = await sandpipe.run([...args], { env });
      assert.equal(end.exitCode, exitCode);
      assert.match(end.stdout, /^x+end\n$/);
      assert.match(end.stderr, lost);
    }
    const { stderr } = await sandpipe.run(["logs", id], { env });
    const since = Number(lost.exec(stderr)?.[1]) + 1;
    const rest = await sandpipe.run(["logs", "--since", `${since}`, id], { env });
    assert.deepEqual([rest.exitCode, rest.stderr], [0, ""]);
    await agent.stop();
  });
});
