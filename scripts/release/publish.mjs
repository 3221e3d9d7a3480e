// @ts-check
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { mustRun } from "../child-process.mjs";

const execute = promisify(execFile);

/** How long the registry may take to show what it has taken. */
const SHOWN_MS = 5 * 60_000;

/**
 * Publishes a tarball, unless it has been, and waits until everybody can install it: what depends on it comes after.
 *
 * @param {{ name: string, version: string, tarball: string }} release
 */
export async function publish({ name, version, tarball }) {
  const spec = `${name}@${version}`;
  const ours = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  const before = await integrity(spec);
  if (before === "") await mustRun("npm", ["publish", tarball, "--access", "public"]);
  else if (before !== ours) throw new Error(`${spec} has been published with other contents`);
  const end = performance.now() + SHOWN_MS;
  while ((await integrity(spec)) !== ours) {
    if (performance.now() > end) throw new Error(`the registry does not show ${spec}`);
    await delay(1000);
  }
  console.log(`${spec} is published`);
}

/**
 * What the registry says of a package's contents; nothing of one that it does not have.
 *
 * @param {string} spec
 */
async function integrity(spec) {
  // Not from npm's cache, which may have its answer of before.
  const args = ["view", spec, "dist.integrity", "--prefer-online"];
  const { stdout } = await execute("npm", args).catch(() => ({ stdout: "" }));
  return stdout.trim();
}
