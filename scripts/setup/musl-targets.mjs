// @ts-check
import { existsSync } from "node:fs";
import { ask, mustRun } from "../child-process.mjs";
import { AGENT_TARGETS } from "../pack/agent-targets.mjs";
import { step } from "../progress.mjs";

/** Installs Rust's standard library for the targets of the agent's packages. */
export async function prepareMuslTargets() {
  const missing = AGENT_TARGETS.map(({ rust }) => rust).filter((target) => {
    const folder = ask("rustc", ["--print", "target-libdir", "--target", target]);
    return folder === undefined || !existsSync(folder);
  });
  if (missing.length === 0) return;
  await step("Rust's musl targets", () => mustRun("rustup", ["target", "add", ...missing]));
}
