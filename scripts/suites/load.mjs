// @ts-check
/** Keeps the machine busy: two loops for each processor, and one that writes to the disk. */

import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { target } from "../project.mjs";

/** They end with their stdin: when this process ends, whatever ends it. */
const END_WITH_STDIN = `process.stdin.on("end", () => process.exit()).resume();`;

const BUSY = `${END_WITH_STDIN}
const loop = () => { const end = Date.now() + 50; while (Date.now() < end); setImmediate(loop); };
loop();`;

const WRITING = `${END_WITH_STDIN}
const { closeSync, fsyncSync, openSync, writeSync } = require("node:fs");
const piece = Buffer.alloc(1 << 20);
const loop = () => {
  const file = openSync(process.argv[1], "w");
  for (let n = 0; n < 32; n++) writeSync(file, piece);
  fsyncSync(file);
  closeSync(file);
  setImmediate(loop);
};
loop();`;

/** Begins; what it returns ends it. */
export function startLoad() {
  const folder = join(target, "load");
  mkdirSync(folder, { recursive: true });
  const loops = Array.from({ length: 2 * availableParallelism() }, () => [BUSY]);
  const children = [...loops, [WRITING, join(folder, "file")]].map((args) =>
    spawn(process.execPath, ["--eval", ...args], { stdio: ["pipe", "ignore", "inherit"] }),
  );
  return () => {
    for (const child of children) child.stdin?.end();
    rmSync(folder, { recursive: true, force: true });
  };
}
