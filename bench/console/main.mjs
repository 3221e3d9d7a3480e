// @ts-check
/**
 * `npm run bench:console`: how the console holds 10,000 runs, 50 open outputs and an output of 1 GB, in Chromium, by its
 * traces; prints the table and keeps it in bench/CONSOLE.md.
 */

import { readdirSync, statSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { command } from "../../scripts/command.mjs";
import { releaseAgent, root } from "../../scripts/project.mjs";
import { prepareChromium } from "../../scripts/setup/debian-packages.mjs";
import { connected, ConsoleRig, fillSignIn, paneOf, shows } from "../../tests/browser/console.mjs";
import { framesOf } from "./frames.mjs";

// As it is published: the checkout's own agent is not compiled for speed.
process.env["SANDPIPE_AGENT"] = releaseAgent;

const RUNS = Number(process.env["RUNS"] ?? 10_000);
const OUTPUTS = 50;
const GIGABYTE = 1_000_000_000;

const FLAGS = [
  ...["--keep-execs", String(2 * RUNS), "--spool-limit", "4GiB", "--spool-total", "8GiB"],
];

/** @typedef {[what: string, value: string, goal: string]} Line */

/** The time that something takes, in words. @param {() => Promise<unknown>} work */
async function timed(work) {
  const start = performance.now();
  await work();
  return `${Math.round(performance.now() - start)} ms`;
}

/** @param {ConsoleRig} rig @returns {Promise<Line[]>} */
async function measure(rig) {
  const { execs } = await rig.client();
  let left = RUNS;
  const worker = async () => {
    while (left-- > 0) await execs.exec("true");
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  const big = `yes 0123456789012345678901234567890123456789012345678 | head -c ${GIGABYTE}; echo end`;
  const { id } = await execs.create({ command: "sh", args: ["-c", big] });
  for await (const _ of execs.streamOutput(id, -1));

  /** @type {Line[]} */
  const lines = [];
  const page = await rig.open();
  await fillSignIn(page, rig.agent.url, rig.agent.token);
  await connected(page);
  const first = await timed(async () => {
    await page.reload({ waitUntil: "commit" });
    await page.locator("[data-run]").first().waitFor();
  });
  lines.push([`first view of ${RUNS} runs`, first, "1000 ms"]);
  lines.push(["scrolling them", await framesOf(rig.browser, page, ".rows"), "60 a second"]);

  const opened = await timed(async () => {
    await page.locator(`[data-run="${id}"] [data-main]`).click();
    await shows(paneOf(page, big), "end");
  });
  lines.push(["the end of an output of 1 GB is shown", opened, "1000 ms"]);

  const seq = await Promise.all(
    Array.from({ length: OUTPUTS }, (_, index) =>
      execs.create({ command: "sh", args: ["-c", `seq ${3_000 + index}; exec sleep 3600`] }),
    ),
  );
  for (const { id } of seq) {
    await page.goto(`${rig.agent.url}/#/runs/${id}`);
    await page.locator(`[data-output="${id}"] .xterm-rows`).filter({ hasText: "30" }).waitFor();
  }
  const frames = await framesOf(rig.browser, page, ".rows");
  lines.push([`scrolling the list with ${OUTPUTS} outputs open that run`, frames, "60 a second"]);

  const loss = page.getByRole("alert").filter({ hasText: "Connection lost" });
  const hung = await timed(async () => {
    rig.agent.pause();
    await loss.waitFor();
  });
  lines.push(["the agent hangs, and the loss is shown", hung, "2000 ms"]);
  rig.agent.goOn();
  await connected(page);

  const lost = await timed(async () => {
    const banner = loss.waitFor();
    await rig.agent.kill();
    await banner;
  });
  lines.push(["the agent is killed, and the loss is shown", lost, "2000 ms"]);
  return lines;
}

/** What a browser downloads of the console, without the core: the files are compressed as they are served. */
function download() {
  const sizes = readdirSync(join(root, "console", "dist"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".wasm.gz"))
    .map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
  return `${(sizes.reduce((sum, size) => sum + size, 0) / 1000).toFixed(0)} kB`;
}

await command(async () => {
  await prepareChromium();
  const rig = await ConsoleRig.start();
  try {
    await rig.agent.stop();
    await rig.agent.start(FLAGS);
    const lines = await measure(rig);
    lines.push(["download without the core, by gzip", download(), "250 kB"]);
    const version = rig.browser.version();
    const text = [
      "# The console under load",
      "",
      `\`npm run bench:console\` in Chromium ${version} without a window, on ${cpus().length} × ${cpus()[0]?.model.trim()}, ${new Date().toISOString().slice(0, 10)}.`,
      "Frames are those that were drawn, by Chromium's trace; beside them the longest time between two.",
      "",
      "| what | measured | goal |",
      "|---|---|---|",
      ...lines.map((line) => `| ${line.join(" | ")} |`),
      "",
    ].join("\n");
    console.log(text);
    writeFileSync(join(root, "bench", "CONSOLE.md"), text);
  } finally {
    await rig.stop();
  }
  return 0;
});
