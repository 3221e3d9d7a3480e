// @ts-check
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openSubject, WINDOWS } from "./accessibility.mjs";
import { connected, ConsoleRig, fileRow, fillSignIn, PICTURE } from "./console.mjs";

for (const [name, window] of Object.entries(WINDOWS)) {
  test(`no view of files has a finding in a ${name} window`, async (t) => {
    const rig = await ConsoleRig.start();
    t.after(() => rig.stop());
    const subject = await openSubject(rig, window);
    await fillSignIn(subject.page, rig.agent.url, rig.agent.token);
    await connected(subject.page);
    await checkFiles(rig, subject);
  });
}

/**
 * @param {ConsoleRig} rig
 * @param {import("./accessibility.mjs").Subject} subject
 */
async function checkFiles(rig, { page, isNarrow, check }) {
  const folder = join(rig.agent.folder, "axe");
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "inner"), { recursive: true });
  await writeFile(join(folder, "text"), "text\n".repeat(200));
  await writeFile(join(folder, "long"), "text\n".repeat(60_000));
  await writeFile(join(folder, "binary"), new Uint8Array(100));
  await writeFile(join(folder, "nothing"), "");
  await writeFile(join(folder, "picture"), PICTURE);
  await writeFile(join(folder, "large picture"), Buffer.concat([PICTURE, Buffer.alloc(9_000_000)]));
  await writeFile(Buffer.from(join(folder, "not UTF-8: \xff"), "latin1"), "text");
  execFileSync("mkfifo", [join(folder, "fifo")]);
  await page.getByRole("link", { name: "Files" }).click();
  const row = (/** @type {string} */ name) => fileRow(page, name);
  await row("axe").click();
  await row("text").waitFor();
  await check("a directory");
  const back = () => isNarrow && page.getByRole("button", { name: "Back to the tree" }).click();
  for (const [name, shown] of [
    ["text", "text"],
    ["long", "are shown. Download has all of it."],
    ["binary", "This is not text"],
    ["nothing", "This file is empty."],
    ["picture", "changed"],
    ["large picture", "Too large to be shown"],
    ["not UTF-8: \ufffd", "its path is not UTF-8"],
    ["fifo", "Not a file"],
  ]) {
    await row(String(name)).click();
    const pane = page.getByRole("region", { name: new RegExp(`^File .*/${name}$`) });
    await pane.getByText(String(shown)).first().waitFor();
    await pane.getByText("Reading…").waitFor({ state: "detached" });
    const download = pane.getByRole("button", { name: "Download", exact: true });
    assert.equal(await download.count(), name === "fifo" ? 0 : 1, name);
    await check(`a file: ${name}`);
    await back();
  }
  const region = page.getByRole("region", { name: "Files" });
  await region.getByRole("button", { name: "New folder" }).click();
  const chooser = page.waitForEvent("filechooser");
  await region.getByRole("button", { name: "Upload" }).click();
  const file = (/** @type {string} */ name) => ({
    name,
    mimeType: "text/plain",
    buffer: Buffer.from(name),
  });
  await (await chooser).setFiles([file("text"), file("other")]);
  await page.getByText("1 of 2 files uploaded").waitFor();
  await check("an upload, and the name of a new folder");
  await page.getByRole("button", { name: "Skip text" }).click();
  // It does not come to an end by itself.
  await page.route(/offset=[1-9]/, () => undefined);
  const others = page.waitForEvent("filechooser");
  await region.getByRole("button", { name: "Upload" }).click();
  const large = { ...file("under way"), buffer: Buffer.alloc(20_000_000) };
  await (await others).setFiles([large, file("n".repeat(300))]);
  await page.getByRole("progressbar", { name: "Upload of under way" }).waitFor();
  await page.getByRole("region", { name: "Uploads" }).getByRole("alert").waitFor();
  await check("an upload under way, and one that was refused");
  await page.getByRole("button", { name: "Give up under way" }).click();
  await page.getByRole("button", { name: "Clear" }).click();
  await row("inner").click();
  await page.getByText("Nothing is in it.").waitFor();
  await row("inner").hover();
  await row("inner").getByRole("button", { name: "Actions" }).click();
  await check("the menu of a directory");
  await page.keyboard.press("Escape");
  await row("text").hover();
  await row("text").getByRole("button", { name: "Actions" }).click();
  await check("the menu of a file");
  await page.keyboard.press("Escape");
  await row("long").focus();
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: "Remove long?" }).waitFor();
  await check("a removal that is asked for");
  await page.keyboard.press("Escape");
  await page.evaluate("location.hash = '#/files/nowhere'");
  await page.getByText("This file is not there").waitFor();
  await check("a file that is not there");
  await page.getByRole("button", { name: "Show the workspace" }).click();
  await rm(folder, { recursive: true });
}
