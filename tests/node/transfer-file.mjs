// Writes a file of some size from a stream and reads it as one; prints the hashes and by how much its memory grew.
import { createHash } from "node:crypto";

import { connect } from "sandpipe";

const { url, token, path, size } = JSON.parse(String(process.argv[2]));
const { files } = await connect({ url, token });
await files.write(path, "the first call loads all there is");

const collect = /** @type {() => void} */ (globalThis.gc);
/** The memory of the process without garbage, which the engine lets go of when it likes. */
const memory = () => {
  collect();
  return process.memoryUsage.rss();
};
const idle = memory();
let peak = idle;
let measuredAt = 0;
/** @param {number} bytes that have passed */
const measure = (bytes) => {
  if (Math.abs(bytes - measuredAt) < 8 * 1024 * 1024) return;
  measuredAt = bytes;
  peak = Math.max(peak, memory());
};

const sent = createHash("sha256");
async function* pieces() {
  for (let given = 0; given < size; given += 64 * 1024) {
    const piece = new Uint8Array(Math.min(64 * 1024, size - given)).fill(given / 64 / 1024);
    sent.update(piece);
    measure(given);
    yield piece;
  }
}
await files.write(path, pieces());

const received = createHash("sha256");
let bytes = 0;
for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (
  /** @type {unknown} */ (files.readStream(path))
)) {
  received.update(chunk);
  bytes += chunk.length;
  measure(bytes);
}
const hashes = { sent: sent.digest("hex"), received: received.digest("hex") };
process.stdout.write(JSON.stringify({ ...hashes, bytes, growth: peak - idle }));
