// @ts-check
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../support/processes.mjs";
import { connected, ConsoleRig, fileRow, fillSignIn, PICTURE } from "./console.mjs";

/** @typedef {import("playwright-core").Page} Page */

const rig = await ConsoleRig.forTests();
const { folder } = rig.agent;

/** What is shown of a file. @param {Page} page @param {string} name */
const contentOf = (page, name) => page.getByRole("group", { name: `Content of ${name}` });

/** Signs in, and goes to the files. @param {import("playwright-core").BrowserContextOptions} [options] */
async function openFiles(options) {
  const page = await rig.signIn(options);
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByRole("tree", { name: "Files" }).waitFor();
  return page;
}

/**
 * Gives the page files as a user does who drags them over something and lets go.
 *
 * @param {Page} page
 * @param {import("playwright-core").Locator} onto
 * @param {Record<string, string>} files their texts, by their names
 */
async function drag(page, onto, files) {
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
    return transfer;
  })()`);
  for (const type of ["dragenter", "dragover", "drop"]) {
    await onto.dispatchEvent(type, { dataTransfer: transfer });
  }
}

test("files are uploaded by the button and by dragging, and what is there is replaced only if that is said", async () => {
  await mkdir(join(folder, "up/inner"), { recursive: true });
  await writeFile(join(folder, "up/taken.txt"), "old");
  const page = await openFiles();
  await fileRow(page, "up").click();
  const bytes = await readFile(process.execPath);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await (
    await chooser
  ).setFiles([
    {
      name: "large é.bin",
      mimeType: "application/octet-stream",
      buffer: bytes.subarray(0, 12_000_000),
    },
    { name: "taken.txt", mimeType: "text/plain", buffer: Buffer.from("new") },
  ]);
  const uploads = page.getByRole("region", { name: "Uploads" });
  await uploads.getByText("There is one already in up.").waitFor();
  await uploads.getByText("1 of 2 files uploaded").waitFor();
  await fileRow(page, "large é.bin").waitFor();
  const uploaded = await readFile(join(folder, "up/large é.bin"));
  assert.ok(uploaded.equals(bytes.subarray(0, 12_000_000)));
  assert.equal(await readFile(join(folder, "up/taken.txt"), "utf8"), "old");
  await uploads.getByRole("button", { name: "Replace taken.txt" }).click();
  await uploads.getByText("2 of 2 files uploaded").waitFor();
  assert.equal(await readFile(join(folder, "up/taken.txt"), "utf8"), "new");
  await uploads.getByRole("button", { name: "Clear" }).click();
  await uploads.waitFor({ state: "detached" });

  await drag(page, fileRow(page, "inner"), { "dragged.txt": "dragged" });
  await page.getByText("1 of 1 file uploaded").waitFor();
  assert.equal(await readFile(join(folder, "up/inner/dragged.txt"), "utf8"), "dragged");
  // Beside the file that it is dragged over.
  await drag(page, fileRow(page, "taken.txt"), { "beside.txt": "beside", "taken.txt": "third" });
  await uploads.getByRole("button", { name: "Skip taken.txt" }).click();
  await page.getByText("2 of 2 files uploaded").waitFor();
  assert.equal(await readFile(join(folder, "up/beside.txt"), "utf8"), "beside");
  assert.equal(await readFile(join(folder, "up/taken.txt"), "utf8"), "new");
  await page.context().close();
});

test("the browser stays on the page wherever files are dropped, and a long command can be read", async () => {
  await mkdir(join(folder, "empty directory of a name that is long"));
  const page = await rig.signIn();
  /** Whether what a browser does by itself is prevented. @param {string} type @param {string} [item] */
  const isTaken = (type, item = "new File(['text'], 'name')") =>
    page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(${item});
      const event = new DragEvent("${type}", { dataTransfer, bubbles: true, cancelable: true });
      return !document.querySelector("header").dispatchEvent(event);
    })()`);
  for (const type of ["dragover", "drop"]) {
    assert.equal(await isTaken(type), true, type);
    assert.equal(await isTaken(type, "'text', 'text/plain'"), false, type);
  }

  await page.getByRole("link", { name: "Files" }).click();
  await fileRow(page, "empty directory of a name that is long").click();
  const command = page.locator(".copy-line code").filter({ hasText: "name that is long" });
  await command.waitFor();
  /** How far the longest line of a command goes beyond what is shown of it. */
  const hidden = await page.evaluate(
    "Math.max(...[...document.querySelectorAll('.copy-line code')].map((code) => code.scrollWidth - code.clientWidth))",
  );
  assert.equal(hidden, 0);
  assert.ok(await page.getByRole("button", { name: "Copy the command" }).isVisible());
  await page.context().close();
});

test("an upload that is given up leaves nothing", async () => {
  await mkdir(join(folder, "given-up"));
  const page = await openFiles();
  await fileRow(page, "given-up").click();
  // It does not come to an end by itself.
  await page.route(/offset=[1-9]/, () => undefined);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  const buffer = Buffer.alloc(30_000_000, "x");
  await (await chooser).setFiles([{ name: "big", mimeType: "text/plain", buffer }]);
  await page.getByRole("progressbar", { name: "Upload of big" }).waitFor();
  await until(() =>
    page.evaluate("(document.querySelector('.uploads progress')?.value ?? 0) > 1_000_000"),
  );
  await page.getByRole("button", { name: "Give up big" }).click();
  await page.getByRole("region", { name: "Uploads" }).waitFor({ state: "detached" });
  await until(async () => (await readdir(join(folder, "given-up"))).length === 0);
  await page.context().close();
});

test("a file is shown as what it is, and every byte of it can be downloaded", async () => {
  await mkdir(join(folder, "shown"));
  const file = (/** @type {string} */ name) => join(folder, "shown", name);
  const lines = Array.from({ length: 60_000 }, (_, index) => `line ${index + 1}`).join("\n");
  const binary = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff, 0xfe, 13, 10]);
  await writeFile(file("page.html"), "<script>globalThis.evil = 1</script>\n<b>bold</b>\n");
  await writeFile(file("long.log"), lines);
  await writeFile(file("program"), binary);
  await writeFile(file("dot.png"), PICTURE);
  await writeFile(file("large.png"), Buffer.concat([PICTURE, Buffer.alloc(9_000_000)]));
  await writeFile(file("nothing"), "");
  await writeFile(
    Buffer.concat([Buffer.from(file("n")), Buffer.from([0xff]), Buffer.from("me")]),
    "odd",
  );
  await symlink("page.html", file("link"));
  const page = await openFiles();
  await fileRow(page, "shown").click();

  await fileRow(page, "page.html").click();
  const html = await contentOf(page, "page.html").locator("pre").nth(1).innerText();
  assert.equal(html, "<script>globalThis.evil = 1</script>\n<b>bold</b>\n");
  assert.equal(await page.evaluate("globalThis.evil"), undefined);
  assert.equal(await contentOf(page, "page.html").locator("pre").first().innerText(), "1\n2");
  await fileRow(page, "link").click();
  await page.getByText("a link to page.html").waitFor();

  await fileRow(page, "long.log").click();
  await page.getByText("The first 262 kB of 649 kB are shown. Download has all of it.").waitFor();
  await fileRow(page, "program").click();
  await page.getByText("This is not text").waitFor();
  const downloaded = async () => {
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download", exact: true }).click();
    const download = await downloading;
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };
  assert.deepEqual(await downloaded(), { name: "program", bytes: binary });

  await fileRow(page, "dot.png").click();
  const picture = contentOf(page, "dot.png").getByRole("img");
  await picture.waitFor();
  await until(() => page.evaluate("document.querySelector('.picture img')?.naturalWidth === 3"));
  await fileRow(page, "large.png").click();
  await page.getByText("Too large to be shown").waitFor();
  await fileRow(page, "nothing").click();
  await page.getByText("This file is empty.").waitFor();

  const odd = fileRow(page, "n\ufffdme");
  await odd.click();
  assert.equal(await contentOf(page, "n\ufffdme").locator("pre").nth(1).innerText(), "odd");
  await page.getByText(/its path is not UTF-8: .*\/shown\/n%FFme$/).waitFor();
  assert.match(page.url(), /\/shown\/n%FFme$/);
  await page.reload();
  assert.equal(await contentOf(page, "n\ufffdme").locator("pre").nth(1).innerText(), "odd");
  assert.equal((await downloaded()).bytes.toString(), "odd");
  await page.keyboard.press("Escape");
  await odd.focus();
  await page.keyboard.press("Delete");
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await odd.waitFor({ state: "detached" });
  assert.ok(!(await readdir(join(folder, "shown"))).some((name) => name.includes("\ufffd")));
  await page.context().close();
});

test("a folder is made and removed, which is asked for, and what a command writes is seen", async () => {
  await mkdir(join(folder, "kept/full"), { recursive: true });
  await writeFile(join(folder, "kept/full/file"), "content");
  const page = await openFiles();
  await fileRow(page, "kept").click();
  await page
    .getByRole("region", { name: "Files" })
    .getByRole("button", { name: "New folder" })
    .click();
  const form = page.getByRole("form", { name: "New folder" });
  await form.getByLabel("Name of the new folder in kept").fill("full/file");
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByRole("textbox").fill("made #1");
  await form.getByRole("textbox").press("Enter");
  await page.getByRole("region", { name: /^Directory .*\/kept\/made #1$/ }).waitFor();
  assert.ok((await stat(join(folder, "kept/made #1"))).isDirectory());
  assert.ok(page.url().endsWith("/kept/made%20%231"));

  const { execs } = await rig.client();
  await execs.exec("sh", ["-c", "echo fresh > 'kept/made #1/by a command'"]);
  await fileRow(page, "by a command").click();
  await contentOf(page, "by a command").getByText("fresh").waitFor();
  await execs.exec("sh", ["-c", "echo changed > 'kept/made #1/by a command'"]);
  await contentOf(page, "by a command").getByText("changed").waitFor();

  const dialog = async () => {
    const dialog = page.getByRole("dialog", { name: "Remove full?" });
    await dialog.getByText("The directory goes with all that is in it.").waitFor();
    return dialog;
  };
  const ask = async () => {
    await fileRow(page, "full").focus();
    await page.keyboard.press("Delete");
    return dialog();
  };
  await (await ask()).getByRole("button", { name: "Cancel" }).click();
  assert.ok((await stat(join(folder, "kept/full/file"))).isFile());
  // A key that comes before the browser's word that the dialog has closed opens another.
  await ask();
  await page.evaluate(`(async () => {
    const [cancel] = document.querySelectorAll("dialog.confirm button");
    cancel.click();
    await Promise.resolve();
    const key = new KeyboardEvent("keydown", { key: "Delete", bubbles: true });
    document.activeElement.dispatchEvent(key);
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  })()`);
  await (await dialog()).getByRole("button", { name: "Remove" }).click();
  await fileRow(page, "full").waitFor({ state: "detached" });
  assert.deepEqual(await readdir(join(folder, "kept")), ["made #1"]);
  await page.context().close();
});

test("a link to a file opens it in another tab, also outside of the workspace, and what is not there is said", async () => {
  await mkdir(join(folder, "deep/er/est"), { recursive: true });
  await writeFile(join(folder, "deep/er/est/a ? b"), "shared");
  const page = await openFiles({ permissions: ["clipboard-read", "clipboard-write"] });
  for (const name of ["deep", "er", "est", "a ? b"]) await fileRow(page, name).click();
  await page.getByRole("button", { name: "More actions: a ? b" }).click();
  await page.getByRole("menuitem", { name: "Copy link" }).click();
  const copied = async () => String(await page.evaluate("navigator.clipboard.readText()"));
  await until(async () => (await copied()) !== "");
  const link = await copied();
  assert.equal(link, page.url());

  const other = await rig.open({}, new URL(link).hash);
  await fillSignIn(other, rig.agent.url, rig.agent.token);
  await contentOf(other, "a ? b").getByText("shared").waitFor();
  assert.equal(await fileRow(other, "a ? b").getAttribute("aria-selected"), "true");
  assert.equal(await fileRow(other, "a ? b").getAttribute("aria-level"), "4");
  await other.goto(`${rig.agent.url}/#/files/etc/hostname`);
  await contentOf(other, "hostname").waitFor();
  await fileRow(other, "hostname").waitFor();
  await other.getByRole("button", { name: "Go to the workspace" }).click();
  await fileRow(other, "deep").waitFor();
  await other.goto(`${link}.gone`);
  await other.getByText("This file is not there").waitFor();
  await page.context().close();
  await other.context().close();
});

test("the tree is gone through with the keyboard alone", async () => {
  await mkdir(join(folder, "keys/one"), { recursive: true });
  await writeFile(join(folder, "keys/one/file"), "by keys");
  const page = await openFiles();
  const { keyboard } = page;
  const focused = () => page.evaluate("document.activeElement.ariaLabel");
  await fileRow(page, "keys").focus();
  await keyboard.press("ArrowRight");
  await fileRow(page, "one").waitFor();
  await keyboard.press("ArrowRight");
  await until(async () => (await focused()) === "one");
  await keyboard.press("ArrowRight");
  await fileRow(page, "file").waitFor();
  await keyboard.press("ArrowDown");
  await until(async () => (await focused()) === "file 7 bytes");
  await keyboard.press("Enter");
  await contentOf(page, "file").getByText("by keys").waitFor();
  assert.equal(await focused(), "file 7 bytes", "the keyboard stays in the tree");
  // The menu of the row.
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Download" }).waitFor();
  await keyboard.press("Escape");
  await fileRow(page, "file").focus();
  await keyboard.press("ArrowLeft");
  await until(async () => (await focused()) === "one");
  await keyboard.press("ArrowLeft");
  await fileRow(page, "file").waitFor({ state: "detached" });
  await page.context().close();
});

test("in a narrow window the tree and a file are views of their own", async () => {
  await mkdir(join(folder, "narrow"));
  await writeFile(join(folder, "narrow/note"), "narrow");
  const page = await openFiles({ viewport: { width: 360, height: 640 } });
  await fileRow(page, "narrow").click();
  await fileRow(page, "note").click();
  await contentOf(page, "note").getByText("narrow").waitFor();
  assert.equal(await page.getByRole("tree").count(), 0);
  await page.getByRole("button", { name: "Back to the tree" }).click();
  await fileRow(page, "note").waitFor();
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  await page.context().close();
});

test("a read-only token sees no files, and the page says so", async () => {
  const page = await rig.open({}, "#/files");
  await fillSignIn(page, rig.agent.url, rig.agent.readOnlyToken);
  await connected(page);
  await page.getByText("This token may not see files").waitFor();
  await page.getByText(/the token is read-only.* Or have the command line do it/).waitFor();
  await page.context().close();
});
