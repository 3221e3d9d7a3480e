// @ts-check
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { step } from "../progress.mjs";
import { root, target } from "../project.mjs";

/**
 * Does a step of the build, unless it was done before with the same inputs and what it made is
 * still there.
 *
 * @param {string} name
 * @param {object} step
 * @param {readonly string[]} step.inputs files, and folders with all that is in them
 * @param {readonly string[]} [step.flags] what else the result depends on
 * @param {readonly string[]} step.outputs
 * @param {() => Promise<void>} work
 */
export async function whenChanged(name, { inputs, flags = [], outputs }, work) {
  const stamp = join(target, "stamps", name.replaceAll(/\W+/g, "-"));
  const current = fingerprint(inputs, flags);
  const before = existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
  if (current === before && outputs.every((path) => existsSync(path))) return;

  await step(name, work);
  mkdirSync(join(target, "stamps"), { recursive: true });
  writeFileSync(stamp, current);
}

/**
 * @param {readonly string[]} inputs
 * @param {readonly string[]} flags
 */
function fingerprint(inputs, flags) {
  const hash = createHash("sha256").update(JSON.stringify(flags));
  for (const path of inputs.flatMap(filesIn)) {
    const content = readFileSync(path);
    hash.update(`\0${relative(root, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).sort();
  return names.flatMap((name) => filesIn(join(path, name)));
}
