// @ts-check
/** `node -- ticks.mjs INTERVAL COUNT` prints lines, one each so many milliseconds: what time it is, by the machine's clock. */

import { writeSync } from "node:fs";

const [interval, count] = process.argv.slice(2).map(Number);
let left = count ?? 0;
const ticking = setInterval(() => {
  if (left-- === 0) return clearInterval(ticking);
  writeSync(1, `${process.hrtime.bigint()}\n`);
}, interval);
