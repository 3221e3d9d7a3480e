// @ts-check
// Background processes over a sandbox without extensions.
import { openSandbox } from "./sandbox.mjs";
import { testBackground } from "./suite.mjs";

testBackground("a sandbox without extensions", () => openSandbox(["--without", "all"]), {
  part: "runtime",
});
