// @ts-check
import { existsSync } from "node:fs";
import { installDebianPackages } from "./debian-packages.mjs";

/** What runs programs for arm64 on other machines, for the tests of the agent's packages. */
export async function prepareEmulator() {
  if (process.arch !== "arm64" && !existsSync("/usr/bin/qemu-aarch64")) {
    await installDebianPackages(["qemu-user"], "An emulator of arm64");
  }
}
