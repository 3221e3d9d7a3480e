// @ts-check
import { mustRun } from "../child-process.mjs";
import { step } from "../progress.mjs";
import { RequirementMissing } from "./requirement.mjs";

/**
 * Installs packages of Debian's; a user without the right to do so is told how.
 *
 * @param {readonly string[]} packages
 * @param {string} what what is missing, for people
 */
export async function installDebianPackages(packages, what) {
  if (process.getuid?.() !== 0) {
    throw new RequirementMissing(
      `${what} is missing. On Debian:\n\n  sudo apt-get install ${packages.join(" ")}\n`,
    );
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await step(what, async () => {
    await mustRun("apt-get", ["update"], { env });
    await mustRun("apt-get", ["install", "--yes", "--no-install-recommends", ...packages], { env });
  });
}
