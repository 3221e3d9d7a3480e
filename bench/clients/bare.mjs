// @ts-check
/** Reads the bytes, of frames if there are any, and does nothing with them: what the network costs. */

import { FRAMES, open } from "./open.mjs";

/** @param {import("../targets.mjs").Target} target */
export async function connect(target) {
  const read = async () => {
    const reader = (await open(target, FRAMES)).getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes += value.length;
    }
  };
  return { exec: read, stream: read };
}
