// @ts-check
/** Reads the bytes and does nothing with them: what the network costs. */

import { open } from "./open.mjs";

/** @param {import("../targets.mjs").Target} target */
export async function connect(target) {
  const read = async () => {
    const reader = (await open(target)).getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes += value.length;
    }
  };
  return { exec: read, stream: read };
}
