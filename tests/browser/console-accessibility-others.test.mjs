// @ts-check
import { test } from "node:test";
import { Relay } from "../support/relay.mjs";
import { openSubject, WINDOWS } from "./accessibility.mjs";
import { connected, ConsoleRig, fillSignIn, run, shows } from "./console.mjs";

for (const [name, window] of Object.entries(WINDOWS)) {
  test(`no view of ports, processes and sessions has a finding in a ${name} window, nor where the connection is lost`, async (t) => {
    const rig = await ConsoleRig.start();
    const relay = new Relay(rig.agent.url);
    t.after(async () => {
      await rig.stop();
      await relay.close();
    });
    const url = await relay.listen();
    const subject = await openSubject(rig, window, url);
    await fillSignIn(subject.page, url, rig.agent.token);
    await connected(subject.page);
    // For the list, when the connection is lost.
    await run(subject.page, "echo ended; exit 3");
    await subject.back();
    await shows(await run(subject.page, "echo up; exec sleep 1006"), "up");
    await subject.back();
    await checkPorts(rig, subject);
    await checkOthers(subject);
    await checkLoss(relay, subject);
  });
}

/**
 * @param {ConsoleRig} rig
 * @param {import("./accessibility.mjs").Subject} subject
 */
async function checkPorts(rig, { page, isNarrow, check }) {
  const { execs } = await rig.client();
  const script = "python3 -u -m http.server 0 --bind 127.0.0.1";
  const { id } = await execs.create({ command: "sh", args: ["-c", script] });
  const { match } = await execs.waitForOutput(id, /port (\d+)/);
  const port = String(match[1]);
  await page.getByRole("link", { name: "Ports" }).click();
  await page.getByRole("list", { name: "Ports" }).getByText(port, { exact: true }).waitFor();
  await check("the ports");
  await page.getByRole("list", { name: "Ports" }).getByText(port, { exact: true }).click();
  await page
    .getByRole("region", { name: `Port ${port}` })
    .getByRole("link")
    .waitFor();
  await check("a port");
  await execs.terminate(id);
  await page.getByText("Nobody listens there").waitFor();
  await check("a port that nobody listens on");
  if (!isNarrow) await page.getByRole("button", { name: "Show all ports" }).click();
}

/** @param {import("./accessibility.mjs").Subject} subject */
async function checkOthers({ page, check, back }) {
  await page.getByRole("link", { name: "Background" }).click();
  await page.getByLabel("Script").first().fill("echo hello; exit 2");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await shows(page.getByRole("region", { name: /^Output of echo hello/ }), "hello");
  await check("the output of a process");
  await back();
  const process = page.getByRole("listitem").filter({ hasText: "echo hello" });
  await process.getByText("Failed 2").waitFor();
  await check("background");
  await process.hover();
  await process.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No processes yet").waitFor();
  await check("no processes");

  await page.getByRole("link", { name: "Sessions" }).click();
  await check("no sessions");
  await page.getByRole("button", { name: "Start a session" }).click();
  const script = page.getByRole("textbox", { name: /^Script \(/ });
  await script.fill("echo out; echo err >&2; ls /missing");
  await script.press("Control+Enter");
  await page.getByText("exit code 2").last().waitFor();
  await check("a session");
  await page.getByRole("button", { name: "Start a session" }).click();
  await page.getByRole("group", { name: "Open sessions" }).waitFor();
  await script.fill("sleep 1006");
  await script.press("Control+Enter");
  const stop = page.getByRole("button", { name: "Stop: run 1" });
  await stop.waitFor();
  await check("one of two sessions, and a run in it");
  await stop.click();
  await stop.waitFor({ state: "detached" });
}

/**
 * What every page shows when the connection is lost.
 *
 * @param {Relay} relay
 * @param {import("./accessibility.mjs").Subject} subject
 */
async function checkLoss(relay, { page, check }) {
  await page.context().setOffline(true);
  relay.breakAll();
  await page.getByRole("alert").filter({ hasText: "Connection lost" }).waitFor();
  for (const name of ["Sessions", "Background", "Ports", "Files", "Runs"]) {
    await page.getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    await check(`a lost connection: ${name}`);
  }
}
