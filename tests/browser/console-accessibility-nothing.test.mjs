// @ts-check
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { noBubblewrap } from "../support/bubblewrap.mjs";
import { openSubject, WINDOWS } from "./accessibility.mjs";
import { connected, ConsoleRig, fillSignIn } from "./console.mjs";

for (const [name, window] of Object.entries(WINDOWS)) {
  const title = `no view has a finding in a ${name} window where an agent shows nothing, or nothing any more`;
  test(title, { skip: noBubblewrap }, async (t) => {
    const rig = await ConsoleRig.start();
    t.after(() => rig.stop());
    // Its commands have a network of their own, in which nobody listens.
    const restart = async () => {
      await rig.agent.stop();
      await rig.agent.start(["--policy", "strict"]);
    };
    await restart();
    const { page, check } = await openSubject(rig, window);
    await page.route("**/stream/execs*", () => undefined);
    await page.goto("about:blank");
    await page.goto(`${rig.agent.url}/#/ports?token=${rig.agent.readOnlyToken}`);
    await page.getByText("Waiting for the agent…").waitFor();
    await check("the agent has not answered");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.unroute("**/stream/execs*");
    await fillSignIn(page, rig.agent.url, rig.agent.readOnlyToken);
    await connected(page);
    await page.getByRole("link", { name: "Ports" }).click();
    await page.getByText("Nobody listens", { exact: true }).waitFor();
    await check("no ports");
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByText("This token may not see files").waitFor();
    await check("no files");
    // It has other tokens then.
    rig.agent.readOnlyToken = randomBytes(16).toString("hex");
    await restart();
    await page.getByRole("button", { name: "Sign in again" }).waitFor();
    await page.getByText("This token may not see files").waitFor();
    await check("refused");
  });
}
