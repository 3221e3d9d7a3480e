// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { connected, ConsoleRig, rowOf, run, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

test("an agent that hangs is told from one that is there, in every view, until it goes on", async () => {
  const page = await rig.signIn();
  const pane = await run(page, "echo up; exec sleep 1015");
  await shows(pane, "up");
  const banner = page.getByRole("alert").filter({ hasText: "Connection lost" });
  for (const [view, told] of /** @type {const} */ ([
    ["Runs", /^Not live: what has become of this run since is not known\./],
    ["Files", /^Not live: files may have changed/],
    ["Ports", /^Not live: who listens may have changed/],
    ["Background", undefined],
    ["Sessions", undefined],
  ])) {
    await page.getByRole("link", { name: view }).click();
    await connected(page);
    // What may have changed is what was shown.
    const region = page.getByRole("region", { name: view, exact: true });
    if (told !== undefined) await region.waitFor();
    await region.getByText("Waiting for the agent…").waitFor({ state: "hidden" });
    rig.agent.pause();
    try {
      // Long before a connection would be taken for dead, of which nothing comes.
      await banner.waitFor({ timeout: 30_000 });
      if (told !== undefined) await page.getByText(told).waitFor();
      assert.ok(!/running \d/i.test(await page.locator("body").innerText()), view);
    } finally {
      rig.agent.goOn();
    }
    await connected(page);
    await banner.waitFor({ state: "detached" });
  }
  await page.getByRole("link", { name: "Runs" }).click();
  await pane.getByText(/^Running \d/).waitFor();
  await pane.getByRole("button", { name: "Stop" }).click();
  await pane.getByText("by you: SIGTERM").waitFor();
  await page.context().close();
});

test("who stopped a run, and where it ran, is told after a reload and an agent's restart, too", async () => {
  await rig.agent.stop();
  await rig.agent.start(["--max-wall-time", "1s"]);
  const page = await rig.signIn();
  const long = await run(page, "echo long; exec sleep 1016", { cwd: "/usr" });
  await long.getByText("by the time limit: SIGKILL").waitFor();
  await rig.agent.stop();
  await rig.agent.start();
  await connected(page);
  await page.reload();
  await long.getByText("by the time limit: SIGKILL").waitFor();
  await long.getByText("/usr", { exact: true }).waitFor();
  await long.getByText("policy custom", { exact: true }).waitFor();
  await rowOf(page, "echo long")
    .getByText(/^by the time limit: SIGKILL · custom · took .* ago · \/usr$/)
    .waitFor();
  const ended = await run(page, "echo other; exec sleep 1016");
  await shows(ended, "other");
  await rig.agent.stop();
  await rig.agent.start();
  await ended.getByText("by the agent’s end: SIGTERM").waitFor();
  rig.problems = rig.problems.filter(
    (problem) => !/ERR_CONNECTION_(?:REFUSED|RESET)/.test(problem),
  );
  await page.context().close();
});
