// @ts-check
// Much output in a page: whether it stays responsive depends on what else the machine does.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { connect } from "sandpipe";
import { until } from "../support/processes.mjs";
import { ConsoleRig, run, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

test("100 MB of output leave the page responsive, and can be downloaded whole", async (t) => {
  const page = await rig.signIn();
  await page.evaluate(`new MutationObserver(() => {
    if (document.querySelector(".banner") !== null) globalThis.wasLost = true;
  }).observe(document.body, { childList: true, subtree: true })`);
  const longestDelay = await measureDelays();
  const go = join(rig.agent.folder, "go-100-mb");
  const line = `yes 0123456789012345678901234567890123456789012345678 | head -c 100000000; while [ ! -e '${go}' ]; do sleep 0.05; done; echo end`;
  const panel = await run(page, line);
  await shows(panel, "0123456789");
  await page.evaluate(
    "globalThis.frames = 0; (function frame() { globalThis.frames++; requestAnimationFrame(frame); })()",
  );
  const frames = () => page.evaluate("globalThis.frames");
  for (let click = 0; click < 5; click++) {
    const before = await frames();
    await panel.getByRole("button", { name: "Find" }).click();
    await panel.getByRole("search").waitFor();
    await panel.getByRole("button", { name: "Find" }).click();
    await panel.getByRole("search").waitFor({ state: "detached" });
    await until(async () => (await frames()) !== before);
  }
  await panel.getByText(/^Running \d/).waitFor();
  await writeFile(go, "");
  // As long as it may take a machine that is busy.
  const timeout = 120_000;
  await panel.getByText("exit code 0", { exact: true }).waitFor({ timeout });
  await panel.locator(".xterm-rows").filter({ hasText: "end" }).waitFor({ timeout });
  const downloading = page.waitForEvent("download", { timeout });
  await panel.getByRole("button", { name: "Download" }).click();
  assert.equal((await stat(await (await downloading).path())).size, 100_000_004);
  // After 1,500 ms without a sign of life, due every 500, an agent is taken for lost, also where it is the machine that stood still.
  const { delay, isHeard } = await longestDelay();
  t.diagnostic(`the machine stood still for ${Math.round(delay)} ms at most`);
  if (delay < 500 && isHeard) {
    const wasLost = await page.evaluate("globalThis.wasLost");
    assert.equal(wasLost, undefined, "an agent that is busy is there");
  }
  await page.context().close();
});

/** Notes for how long at most nothing was done that is due every 20 ms. */
const MEASURE = `
  globalThis.longest = 0;
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    globalThis.longest = Math.max(globalThis.longest, now - last);
    last = now;
  }, 20);`;

/**
 * Measures from now on for how long at most, in milliseconds, the machine held up a process that does nothing else, and a page
 * that does nothing; and whether the agent was heard all the time. Gives what tells it.
 */
async function measureDelays() {
  const told = `process.stdin.resume().on("end", () => process.exit(console.log(globalThis.longest)));`;
  const child = spawn(process.execPath, ["--eval", MEASURE + told], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const context = await rig.browser.newContext();
  const page = await context.newPage();
  await page.evaluate(MEASURE);
  const { url, token } = rig.agent;
  const sandbox = await connect({ url, token, retry: { shouldRetry: () => false } });
  let isHeard = true;
  const lists = sandbox.execs.streamList({ maxSilenceMs: 1_500 });
  const listen = async () => {
    for await (const _ of lists);
  };
  const listening = listen().catch(() => (isHeard = false));
  return async () => {
    child.stdin.end();
    const delays = [Number(await text(child.stdout)), Number(await page.evaluate("longest"))];
    const wasHeard = isHeard;
    sandbox.close();
    await listening;
    await context.close();
    return { delay: Math.max(...delays), isHeard: wasHeard };
  };
}
