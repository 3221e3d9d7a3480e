// @ts-check
import { ask } from "../child-process.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** rustc links native programs with the C compiler. */
export async function prepareCLinker() {
  if (ask("cc", ["--version"]) === undefined) {
    await installDebianPackages(["gcc", "libc6-dev"], "A C compiler");
  }
}
