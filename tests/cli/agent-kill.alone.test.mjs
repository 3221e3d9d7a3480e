// @ts-check
// `sandpipe agent` at a second Ctrl+C: what it runs is killed then, and not by the agent itself, which would do so 10 s after
// the first.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, it } from "node:test";
import { connect } from "sandpipe";
import { installSandpipe } from "../support/installed-cli.mjs";
import { until } from "../support/processes.mjs";

const sandpipe = await installSandpipe();
after(() => sandpipe.remove());

it("sandpipe agent stops what it runs on Ctrl+C, and kills it on the second", async () => {
  const state = join(sandpipe.path, "state");
  const flags = ["--listen", "127.0.0.1:0", "--state-dir", state, "--ephemeral"];
  const invocation = await sandpipe.startInTerminal(["agent", "--", ...flags]);
  await invocation.says(/Ctrl\+C stops/);
  const [, url = ""] = /listens on (\S+)/.exec(invocation.stdout) ?? [];
  const token = (await readFile(join(state, "admin-token"), "utf8")).trim();
  const { execs } = await connect({ url, token });
  // It listens no more while it stops.
  const stubborn = "trap 'echo > refused' TERM; echo > ready; while :; do sleep 0.05; done";
  await execs.create({ command: "sh", args: ["-c", stubborn] });
  await until(() => existsSync(join(sandpipe.path, "ready")));
  invocation.stdin.write("\x03");
  await until(() => existsSync(join(sandpipe.path, "refused")));
  const before = performance.now();
  invocation.stdin.write("\x03");
  assert.match((await invocation.end).stdout, /exit code 130\r\nrestored\r\n$/);
  assert.ok(performance.now() - before < 8_000);
  await invocation.leavesNothing();
});
