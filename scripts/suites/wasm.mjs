// @ts-check
import { join } from "node:path";
import { wasmBindgenTestRunner } from "../build/wasm-tools.mjs";
import { root } from "../project.mjs";
import { chromedriver } from "../setup/chromium.mjs";
import { freePort } from "../../tests/free-port.mjs";
import { cargoTest } from "./cargo.mjs";

/**
 * tests/wasm, against a real agent: its address and token reach the tests as they are compiled,
 * for a page has no environment to read.
 *
 * @param {"node" | "browser"} where
 */
export async function wasmTests(where) {
  // There once the package is built, which is later than this file is loaded.
  const { startTestAgent } = await import("../../tests/agent.mjs");
  const page = `127.0.0.1:${await freePort()}`;
  const agent = await startTestAgent({ allowOrigin: `http://${page}` });
  const browser = {
    CHROMEDRIVER: chromedriver,
    WASM_BINDGEN_USE_BROWSER: "1",
    WASM_BINDGEN_TEST_ADDRESS: page,
    WASM_BINDGEN_TEST_WEBDRIVER_JSON: join(root, "webdriver.json"),
  };
  try {
    const env = {
      ...process.env,
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: wasmBindgenTestRunner,
      SANDPIPE_TEST_URL: agent.url,
      SANDPIPE_TEST_TOKEN: agent.token,
      WASM_BINDGEN_TEST_TIMEOUT: "120",
      ...(where === "browser" ? browser : {}),
    };
    const target = ["--target", "wasm32-unknown-unknown"];
    return await cargoTest(["--package", "sandpipe-wasm-tests", ...target], env);
  } finally {
    await agent.stop();
  }
}
