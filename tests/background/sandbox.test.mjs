// @ts-check
// Background processes over a sandbox.
import { openSandbox } from "./sandbox.mjs";
import { testBackground } from "./suite.mjs";

testBackground("a sandbox", () => openSandbox([]), { part: "runtime" });
