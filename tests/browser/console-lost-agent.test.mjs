// @ts-check
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { until } from "../support/processes.mjs";
import { connected, ConsoleRig, run, shown, shows } from "./console.mjs";
import { openTwenty } from "./twenty-outputs.mjs";

const rig = await ConsoleRig.forTests();

test("the policy of the agent that is there is shown", { skip: noBubblewrap }, async () => {
  const page = await rig.signIn();
  const badge = page.getByText(/^Policy:/);
  assert.equal(await badge.innerText(), "Policy: open");
  await rig.agent.stop();
  await badge.waitFor({ state: "detached" });
  await rig.agent.start(["--policy", "strict"]);
  await connected(page);
  assert.equal(await badge.innerText(), "Policy: strict");
  await rig.agent.stop();
  await rig.agent.start();
  await connected(page);
  await page.context().close();
});

test("a lost agent is shown, and twenty outputs are there again when it is started anew", async () => {
  const page = await rig.signIn();
  const show = await openTwenty(rig, page, (number) => `echo before ${number}; exec sleep 1002`);
  for (let number = 1; number <= 20; number++) await shows(await show(number), `before ${number}`);
  await rig.agent.stop();
  await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
  await rig.agent.start();
  await connected(page);
  for (let number = 1; number <= 20; number++) {
    const pane = await show(number);
    // No command outlives its agent: SIGTERM is what it told them.
    await pane.getByText("exit code 143", { exact: true }).waitFor();
    assert.equal(await shows(pane, "before"), `before ${number}`);
  }
  const again = await run(page, "echo after");
  await again.getByText("exit code 0", { exact: true }).waitFor();
  await shows(again, "after");
  // What the browser says of connections that it could not make.
  rig.problems = rig.problems.filter(
    (problem) => !/ERR_CONNECTION_(?:REFUSED|RESET)/.test(problem),
  );
  await page.context().close();
});

test("a background output goes on where it was when the agent was away", async () => {
  const page = await rig.signIn();
  await page.getByRole("link", { name: "Background" }).click();
  const form = page.getByRole("form", { name: "Start a process" });
  const go = join(rig.agent.folder, "go-on");
  const script = `echo one; while [ ! -e '${go}' ]; do sleep 0.05; done; echo two; sleep 1006`;
  await form.getByLabel("Script").fill(script);
  await form.getByLabel("Name").fill("lasting");
  await form.getByRole("button", { name: "Start" }).click();
  const panel = page.getByRole("region", { name: "Output of lasting" });
  await shows(panel, "one");
  // The script that reads an output, of those that the page runs.
  let unread = 0;
  page.on("requestfailed", (request) => {
    unread += Number(request.postData()?.includes("start_at_tail") === true);
  });
  await rig.agent.stop();
  // One was under way, and one is tried three times: a read has failed then.
  await until(() => unread >= 4);
  await writeFile(go, "");
  await rig.agent.start();
  await connected(page);
  await shows(panel, "two");
  assert.equal(await shown(panel), "one\ntwo");
  assert.equal(await panel.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Terminate: lasting" }).click();
  await page
    .getByRole("listitem")
    .filter({ hasText: "lasting" })
    .getByText("Stopped", { exact: true })
    .waitFor();
  rig.problems = rig.problems.filter(
    (problem) => !/ERR_CONNECTION_(?:REFUSED|RESET)/.test(problem),
  );
  await page.context().close();
});
