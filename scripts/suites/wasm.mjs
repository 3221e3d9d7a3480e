// @ts-check
import { delimiter, join } from "node:path";
import { freePort } from "../../tests/support/free-port.mjs";
import { root, target } from "../project.mjs";
import { countRustTests } from "./cargo.mjs";

/**
 * tests/wasm by wasm-pack, against a real agent: its address and token reach the tests as they are compiled, for a
 * page has no environment to read.
 *
 * @param {"node" | "chrome" | "firefox"} engine
 */
export async function wasmTests(engine) {
  // There once the package is built, which is later than this file is loaded.
  const { startTestAgent } = await import("../../tests/support/agent.mjs");
  const page = `127.0.0.1:${await freePort()}`;
  const agent = await startTestAgent({ allowOrigin: `http://${page}` });
  const tools = ["tools", "geckodriver/bin"].map((folder) => join(target, folder));
  const browser = { WASM_BINDGEN_USE_BROWSER: "1", WASM_BINDGEN_TEST_ADDRESS: page };
  const where = engine === "node" ? ["--node"] : ["--headless", `--${engine}`];
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
    return await countRustTests("wasm-pack", args, env);
  } finally {
    await agent.stop();
  }
}
