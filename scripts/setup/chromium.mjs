// @ts-check
import { ask } from "../child-process.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** Chromium and its driver, from the same source: their versions have to match. */
export async function prepareChromium() {
  const missing = ["chromium", "chromedriver"].some((p) => ask(p, ["--version"]) === undefined);
  if (missing) {
    await installDebianPackages(["chromium", "chromium-driver"], "Chromium with its driver");
  }
}
