// @ts-check
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";

export async function buildAgent() {
  const args = ["build", "--package", "sandpipe-agent", "--bins", "--release"];
  await step("agent", () => mustRun("cargo", args));
}
