// @ts-check
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { until } from "../support/processes.mjs";
import { ConsoleRig, paneOf, rowOf, shown, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

test("a long output opens at its end, is loaded upward without a gap, and is copied whole", async () => {
  const page = await rig.signIn({ permissions: ["clipboard-read", "clipboard-write"] });
  const { execs } = await rig.client();
  const lines = 1_500_000;
  await execs.exec("seq", [String(lines)]);
  await rowOf(page, `seq ${lines}`).locator("[data-main]").click();
  const pane = paneOf(page, `seq ${lines}`);
  await shows(pane, String(lines));
  await pane.getByText("This is not the beginning.").waitFor();
  const top = async () => Number((await shown(pane)).split("\n")[0]);
  await pane.getByLabel(/^Output of/).focus();
  // What is above the part that was shown at first.
  await page.keyboard.press("Home");
  const first = await top();
  await until(async () => {
    await page.keyboard.press("Home");
    return (await top()) < first - 100_000;
  });
  // While a part is loaded for the last Home, a key that scrolls does nothing. What is scrolled is told in the next frame.
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))",
  );
  await pane.getByRole("button", { name: "Load what came before" }).waitFor();
  for (let presses = 0; presses < 8; presses++) {
    // What was loaded may still be on its way into the terminal.
    await until(async () => {
      const numbers = (await shown(pane)).split("\n").map(Number);
      return numbers.every((number, index) => number === Number(numbers[0]) + index);
    });
    const begin = await top();
    await page.keyboard.press("PageDown");
    await until(async () => (await top()) !== begin);
  }
  await pane.getByRole("button", { name: "Jump to the end" }).click();
  await shows(pane, String(lines));

  await pane.getByRole("button", { name: "Copy" }).click();
  await pane.getByText("Copied all of it: 10.9 million characters.").waitFor();
  const copied = await page.evaluate(
    "navigator.clipboard.readText().then((text) => [text.length, text.slice(0, 6), text.slice(-8)])",
  );
  assert.deepEqual(copied, [10_888_896, "1\n2\n3\n", `${lines}\n`]);
  await page.context().close();
});

test("an agent without room shows the newest output, and why the rest is lost", async () => {
  const room = (/** @type {string} */ bytes) =>
    execFileSync("prlimit", [`--pid=${rig.agent.pid}`, `--fsize=${bytes}:`]);
  const page = await rig.signIn();
  const { execs } = await rig.client();
  room("0");
  for (const rest of ["true", "sleep 1000"]) {
    const script = `seq 300000; ${rest}`;
    const { id } = await execs.create({ command: "sh", args: ["-c", script] });
    await until(async () => {
      const { exitCode, output } = await execs.getOutput(id, -1);
      return exitCode !== undefined || output.endsWith("\n300000\n");
    });
    await rowOf(page, script).locator("[data-main]").click();
    const pane = paneOf(page, script);
    await shows(pane, "300000");
    const older = pane.getByRole("button", { name: "Load what came before" });
    const note = pane.getByText(/^Output before this is lost: the agent's files .*ulimit -f/);
    await until(async () => {
      if (await older.isEnabled({ timeout: 1 }).catch(() => false)) await older.click();
      return await note.isVisible();
    });
    await execs.terminate(id);
  }
  room("unlimited");
  await page.context().close();
});
