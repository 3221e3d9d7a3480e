// @ts-check
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));

/**
 * Runs a script of this folder; resolves the line of JSON that it prints.
 *
 * @param {string} script
 * @param {string[]} args
 */
export async function measured(script, args) {
  const { answer, child } = await begin(script, args);
  if (child.exitCode === null) await once(child, "exit");
  return answer;
}

/**
 * Starts a script of this folder; resolves the first line of JSON that it prints.
 *
 * @param {string} script
 * @param {string[]} args
 */
export async function begin(script, args) {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(child.stdout)) {
    return { child, answer: JSON.parse(line) };
  }
  throw new Error(`${script} ${args.join(" ")} ended without a result`);
}
