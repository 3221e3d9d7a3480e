// @ts-check
import { createHash } from "node:crypto";
import { ask } from "../child-process.mjs";

/**
 * Where the simulation's seeds and the fuzz targets' inputs begin: at a number that the commit decides. Each commit
 * tries others, and the same one can be tried again.
 */
export function firstSeed() {
  const commit = ask("git", ["rev-parse", "HEAD"]) ?? "";
  return createHash("sha256").update(commit).digest().readUInt32BE(0);
}

/** The environment of test programs, which say the seed that fails themselves. */
export function seedEnvironment() {
  const seed = String(firstSeed());
  return { SIMULATION_START: seed, FUZZ_SEED: seed };
}
