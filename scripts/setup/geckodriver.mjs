// @ts-check
import { join } from "node:path";
import { ask, mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { target } from "../project.mjs";
import { prepareBrowsers } from "./debian-packages.mjs";

const VERSION = "0.36.0";
const installed = join(target, "geckodriver");

/** Firefox with its driver, which Debian does not have. */
export async function prepareGeckodriver() {
  await prepareBrowsers();
  const program = join(installed, "bin", "geckodriver");
  if (ask(program, ["--version"])?.startsWith(`geckodriver ${VERSION}`) === true) return;
  const args = ["install", "geckodriver", "--version", VERSION, "--locked", "--root", installed];
  await step("geckodriver", () => mustRun("cargo", args));
}
