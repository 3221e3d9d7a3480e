// @ts-check
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "../../tests/support/free-port.mjs";
import { root, target } from "../project.mjs";
import { endOf } from "./lines.mjs";
import { COMPILE_SILENCE_MS, resultFile, runProgram } from "./program.mjs";
import { readRustText } from "./rust.mjs";

/** @import { Job, JobResult } from "./job.mjs" */

/**
 * tests/wasm by wasm-pack, against a real agent: its address and token reach the tests as they are compiled, for a
 * page has no environment to read.
 *
 * @param {"node" | "chrome" | "firefox"} engine
 * @param {readonly string[]} inputs
 * @returns {Job[]}
 */
export function wasmJobs(engine, inputs) {
  const name = `wasm-${engine}`;
  // They compile into the same directory.
  const apart = "wasm";
  return [{ suite: name, name, lane: "processor", apart, inputs, run: () => runWasm(engine) }];
}

/**
 * @param {"node" | "chrome" | "firefox"} engine
 * @returns {Promise<JobResult>}
 */
async function runWasm(engine) {
  // There once the package is built, which is later than this file is loaded.
  const { startTestAgent } = await import("../../tests/support/agent.mjs");
  const page = `127.0.0.1:${await freePort()}`;
  const agent = await startTestAgent({ allowOrigin: `http://${page}` });
  const links = mkdtempSync(join(tmpdir(), "sandpipe-wasm-"));
  const tools = ["checkout", "geckodriver/bin"].map((folder, index) => {
    // cargo splits the path of the runner of tests at spaces.
    const link = join(links, String(index));
    symlinkSync(join(target, folder), link);
    return link;
  });
  const browser = { WASM_BINDGEN_USE_BROWSER: "1", WASM_BINDGEN_TEST_ADDRESS: page };
  const where = engine === "node" ? ["--node"] : ["--headless", `--${engine}`];
  const [log, stdout] = [resultFile(`wasm-${engine}`, "log"), resultFile(`wasm-${engine}`, "out")];
  try {
    const env = {
      ...process.env,
      PATH: [...tools, process.env["PATH"]].join(delimiter),
      SANDPIPE_TEST_URL: agent.url,
      SANDPIPE_TEST_TOKEN: agent.token,
      WASM_BINDGEN_TEST_TIMEOUT: "120",
      WASM_BINDGEN_TEST_WEBDRIVER_JSON: join(root, "webdriver.json"),
      ...(engine === "node" ? {} : browser),
    };
    const args = ["test", "--mode", "no-install", ...where, "tests/wasm", "--locked"];
    const { exitCode } = await runProgram("wasm-pack", args, {
      log,
      stdout,
      env,
      silenceMs: COMPILE_SILENCE_MS,
    });
    const tests = readRustText(readFileSync(stdout, "utf8"));
    const isExplained = exitCode === 0 || tests.some(({ outcome }) => outcome === "failed");
    return isExplained ? { tests } : { tests, failure: `${endOf(stdout)}\n${endOf(log)}` };
  } finally {
    await agent.stop();
    rmSync(links, { recursive: true });
  }
}
