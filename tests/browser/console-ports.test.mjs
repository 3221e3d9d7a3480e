// @ts-check
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { dist } from "../../scripts/project.mjs";
import { firstLine } from "../support/first-line.mjs";
import { connected, ConsoleRig, fillSignIn, paneOf, run, shows } from "./console.mjs";

const rig = await ConsoleRig.forTests();

/** A server that says on which port it listens. */
const SERVER = "python3 -u -m http.server 0 --bind 127.0.0.1";

test("who listens is listed with its run, live, and as a link that can be shared", async () => {
  const page = await rig.signIn();
  const pane = await run(page, SERVER);
  const port = /port (\d+)/.exec(await shows(pane, "port"))?.[1] ?? assert.fail("no port");
  await page.getByRole("link", { name: "Ports" }).click();
  const row = page
    .getByRole("list", { name: "Ports" })
    .getByRole("listitem")
    .filter({ hasText: port });
  await row.getByRole("button").click();
  const detail = page.getByRole("region", { name: `Port ${port}` });
  await detail.getByText(`listens on 127.0.0.1:${port}`).waitFor();
  await detail.getByText(/^python3/).waitFor();
  assert.ok(page.url().endsWith(`#/ports/127.0.0.1%3A${port}`), page.url());
  await page.reload();
  await detail.waitFor();
  // A read-only token sees them, too.
  const watching = await rig.open({}, `#/ports/${port}?token=${rig.agent.readOnlyToken}`);
  await watching.getByRole("region", { name: `Port ${port}` }).waitFor();

  await detail.getByRole("link", { name: /python3/ }).click();
  await shows(paneOf(page, SERVER), "port");
  await paneOf(page, SERVER).getByRole("button", { name: "Stop" }).click();
  await page.getByRole("link", { name: "Ports" }).click();
  await page.goto(`${rig.agent.url}/#/ports/${port}`);
  await page.getByText("Nobody listens there").waitFor();
  await watching.getByText("Nobody listens there").waitFor();
  await page.context().close();
  await watching.context().close();
});

test("the command that is copied makes a port reachable from here", async (t) => {
  const page = await rig.signIn({ permissions: ["clipboard-read", "clipboard-write"] });
  const { execs } = await rig.client();
  const { id } = await execs.create({ command: "sh", args: ["-c", SERVER] });
  const { match } = await execs.waitForOutput(id, /port (\d+)/);
  await page.goto(`${rig.agent.url}/#/ports/${String(match[1])}`);
  await page.getByRole("button", { name: "Copy the command" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = String(await page.evaluate("navigator.clipboard.readText()"));
  // As in a shell that has the package's program.
  const script = `sandpipe() { exec "$NODE" "$PROGRAM" "$@"; }; ${copied}`;
  const forward = spawn("sh", ["-c", script], {
    env: {
      ...process.env,
      NODE: process.execPath,
      PROGRAM: join(dist, "cli", "sandpipe.js"),
      SANDPIPE_TOKEN: rig.agent.token,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(forward, "close");
  t.after(async () => {
    forward.kill("SIGTERM");
    await ended;
  });
  const [address] = (await firstLine(forward)).split(" ");
  assert.notEqual(address, `127.0.0.1:${String(match[1])}`, "the forward listens by itself");
  const answer = await fetch(`http://${address}/`);
  assert.match(await answer.text(), /Directory listing for \//);
  await execs.terminate(id);
  await page.context().close();
});

test("in a narrow window a port is a view of its own", async () => {
  const page = await rig.open({ viewport: { width: 360, height: 640 } });
  await fillSignIn(page, rig.agent.url, rig.agent.token);
  await connected(page);
  const { execs, ports } = await rig.client();
  const { id } = await execs.create({ command: "sh", args: ["-c", SERVER] });
  const { match } = await execs.waitForOutput(id, /port (\d+)/);
  const port = Number(match[1]);
  await ports.waitFor(port, { exec: id });
  await page.getByRole("link", { name: "Ports" }).click();
  await page
    .getByRole("list", { name: "Ports" })
    .getByRole("button", { name: String(port) })
    .click();
  await page.getByRole("region", { name: `Port ${port}` }).waitFor();
  assert.equal(await page.getByRole("list", { name: "Ports" }).count(), 0);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  await page.getByRole("button", { name: "Back to the list" }).click();
  await page.getByRole("list", { name: "Ports" }).waitFor();
  await execs.terminate(id);
  const row = page.getByRole("list", { name: "Ports" }).getByText(String(port), { exact: true });
  await row.waitFor({ state: "detached" });
  await page.context().close();
});
