// @ts-check
/**
 * `npm run bench:lighthouse`: what Lighthouse says of the console's views, as on a phone with a slow network and on a
 * desktop; prints the table and keeps it in bench/LIGHTHOUSE.md. Lighthouse has 185 MB: it is installed for the run alone.
 */

import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "sandpipe";
import { command } from "../scripts/command.mjs";
import { releaseAgent, root } from "../scripts/project.mjs";
import { chromium, prepareChromium } from "../scripts/setup/debian-packages.mjs";
import { temporaryFolder } from "../tests/support/installed-package.mjs";
import { RestartableAgent } from "../tests/support/restartable-agent.mjs";
import { median } from "./table.mjs";

// As it is published: the checkout's own agent is not compiled for speed.
process.env["SANDPIPE_AGENT"] = releaseAgent;

const LIGHTHOUSE = "lighthouse@12.8.2";
const ROUNDS = Number(process.env["ROUNDS"] ?? 5);

/** The score that every view is to have, of 100. */
const GOAL = 95;

/** How long a page may load, in milliseconds: the list of one that is signed in never ends. */
const MAX_LOAD_MS = 8_000;

/** How often a page is tried whose trace Chromium did not record. */
const MAX_ATTEMPTS = 3;

const FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking";

/**
 * @typedef {object} Report what is read of Lighthouse's
 * @property {Record<string, { score: number }>} categories
 * @property {Record<string, { numericValue?: number }>} audits
 */

/** @typedef {"mobile" | "desktop"} Form */

const execute = promisify(execFile);

/** Lighthouse, installed in a folder. @param {string} folder */
async function installLighthouse(folder) {
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel", "error"];
  await execute("npm", ["install", ...quiet, "--prefix", folder, LIGHTHOUSE]);
  const program = join(folder, "node_modules", "lighthouse", "cli", "index.js");
  return async (/** @type {string} */ url, /** @type {Form} */ form) => {
    const args = ["--output=json", "--quiet", `--chrome-flags=${FLAGS}`];
    args.push(`--max-wait-for-load=${MAX_LOAD_MS}`);
    if (form === "desktop") args.push("--preset=desktop");
    const env = { ...process.env, CHROME_PATH: chromium };
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    for (let attempt = 1; ; attempt++) {
      try {
        const { stdout } = await execute(process.execPath, [program, url, ...args], options);
        /** @type {Report} */
        const report = JSON.parse(stdout);
        return report;
      } catch (error) {
        // Chromium's trace has no beginning now and then: Lighthouse asks to be run again.
        const { stderr } = /** @type {{ stderr?: string }} */ (error);
        if (attempt === MAX_ATTEMPTS || stderr?.includes("NO_NAVSTART") !== true) throw error;
        console.log(stderr.trim());
      }
    }
  };
}

/** Gives an agent something to show; returns the addresses of the views. @param {RestartableAgent} agent */
async function fill({ url, token }) {
  const { execs, files } = await connect({ url, token });
  for (let run = 0; run < 30; run++) await execs.exec("echo", [String(run)]);
  const output = await execs.create({
    command: "sh",
    args: ["-c", "seq 300; echo late >&2; exec sleep 3600"],
  });
  await files.write("site/index.ts", "export const a = 1;\n".repeat(300));
  const args = ["-u", "-m", "http.server", "--bind", "127.0.0.1", "0"];
  const server = await execs.create({ command: "python3", args });
  const { match } = await execs.waitForOutput(server.id, /port (\d+)/);
  const at = (/** @type {string} */ route) => `${url}/#/${route}?token=${token}`;
  return new Map([
    ["sign-in", `${url}/`],
    ["runs", at("runs")],
    ["an output", at(`runs/${output.id}`)],
    ["files", at("files")],
    ["a port", at(`ports/${String(match[1])}`)],
    ["background, empty", at("background")],
    ["sessions, empty", at("sessions")],
  ]);
}

/** @param {Report[]} reports @param {string} category */
const scores = (reports, category) =>
  reports.map(({ categories }) => Math.round((categories[category]?.score ?? 0) * 100));

/** The median of an audit's figure. @param {Report[]} reports @param {string} audit */
const figure = (reports, audit) =>
  median(reports.map(({ audits }) => audits[audit]?.numericValue ?? NaN));

/** The line of a view in the table. @param {string} view @param {Record<Form, Report[]>} reports */
function lineOf(view, { mobile, desktop }) {
  const worst = (/** @type {string} */ category) =>
    Math.min(...scores([...mobile, ...desktop], category));
  const cells = [
    view,
    median(scores(mobile, "performance")),
    `${(figure(mobile, "largest-contentful-paint") / 1000).toFixed(1)} s`,
    `${figure(mobile, "total-blocking-time").toFixed(0)} ms`,
    Math.max(
      ...[...mobile, ...desktop].map((one) => figure([one], "cumulative-layout-shift")),
    ).toFixed(2),
    scores(desktop, "performance").join(),
    worst("accessibility"),
    worst("best-practices"),
  ];
  return `| ${cells.join(" | ")} |`;
}

await command(async () => {
  await prepareChromium();
  const folder = await temporaryFolder();
  const agent = new RestartableAgent(await temporaryFolder());
  await agent.start();
  try {
    const lighthouse = await installLighthouse(folder);
    /** @type {string[]} */
    const lines = [];
    for (const [view, url] of await fill(agent)) {
      /** @type {Record<Form, Report[]>} */
      const reports = { mobile: [], desktop: [] };
      reports.desktop.push(await lighthouse(url, "desktop"));
      for (let round = 0; round < ROUNDS; round++) {
        reports.mobile.push(await lighthouse(url, "mobile"));
      }
      lines.push(lineOf(view, reports));
      console.log(lines.at(-1));
    }
    await writeFile(join(root, "bench", "LIGHTHOUSE.md"), page(lines));
  } finally {
    await agent.stop();
    await rm(agent.folder, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
  return 0;
});

/** @param {string[]} lines */
function page(lines) {
  return `# The console by Lighthouse

\`npm run bench:lighthouse\`: ${LIGHTHOUSE} with Debian's Chromium, without a window, on ${cpus().length} × ${cpus()[0]?.model.trim()},
${new Date().toISOString().slice(0, 10)}, against an agent with some runs, files and a port. Signed-in views are opened by \`#/PAGE?token=…\`.

Performance is that of a phone (a processor of a quarter of the speed, 1.6 Mbit/s, 150 ms for each round trip), the median of ${ROUNDS} rounds,
and that of a desktop, of one round. The largest paint and the blocking time are the phone's medians; layout shift, accessibility and best
practices are the worst of all rounds. Other work on the machine costs performance, by the blocking time. The goal is ${GOAL} in each.

| view | performance, mobile | largest paint | blocking | layout shift | performance, desktop | accessibility | best practices |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}

What the first view waits for is small: the scripts without xterm.js, the styles and the font. A page that has a token shows its frame, and what
it is for, before the core is loaded and the agent has answered. To load the core beside the scripts made the sign-in page slower (100 to 95).
`;
}
