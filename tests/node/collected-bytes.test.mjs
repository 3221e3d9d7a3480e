// @ts-check
// Bytes of output on their way to be one array.
import assert from "node:assert/strict";
import { it } from "node:test";

import { CollectedBytes } from "../../dist/collected-bytes.js";

it("bytes are collected in order, also after all of them were asked for", () => {
  const bytes = new CollectedBytes();
  assert.deepEqual(bytes.whole(), Uint8Array.of());
  for (const piece of [[1, 2], [], [3]]) bytes.append(Uint8Array.from(piece));
  const whole = Uint8Array.of(1, 2, 3);
  const [first, second] = [bytes.whole(), bytes.whole()];
  assert.deepEqual([first, second], [whole, whole]);
  bytes.append(Uint8Array.of(4));
  assert.deepEqual(bytes.whole(), Uint8Array.of(1, 2, 3, 4));
  assert.deepEqual(first, whole);
});
