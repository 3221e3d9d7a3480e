// What is taken out of a chunked body before `node:http` parses the rest of it.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { PlainChunks } from "../../dist/node/plain-chunks.js";

const LONG = "x".repeat(0x123);

/** A body, the data that is taken out of it, and what is left. */
const BODIES = /** @type {const} */ ([
  ["plain chunks and the last one", "5\r\nhello\r\n1\r\n \r\n0\r\n\r\n", "hello ", "0\r\n\r\n"],
  ["chunks that go on", "5\r\nhello\r\n3\r\nab", "helloab", undefined],
  [
    "sizes in either case",
    `a\r\n0123456789\r\nB\r\n0123456789a\r\n123\r\n${LONG}\r\n`,
    `01234567890123456789a${LONG}`,
    undefined,
  ],
  [
    "data that looks like chunks",
    "c\r\n\r\n0\r\n\r\n5\r\nab\r\n",
    "\r\n0\r\n\r\n5\r\nab",
    undefined,
  ],
  ["trailers", "2\r\nab\r\n0\r\nx: y\r\n\r\n", "ab", "0\r\nx: y\r\n\r\n"],
  ["extensions", "2\r\nab\r\n13;a=b\r\nab", "ab", "13;a=b\r\nab"],
  ["zeros before a size", "2\r\nab\r\n005\r\nhello\r\n", "ab", "005\r\nhello\r\n"],
  ["a size of too many digits", "2\r\nab\r\n12345678\r\nx", "ab", "12345678\r\nx"],
  ["a size without digits", "2\r\nab\r\n\r\n", "ab", "\r\n"],
  ["a size that is none", "2\r\nab\r\ng\r\n", "ab", "g\r\n"],
  ["a sign before a size", "-2\r\nab\r\n", "", "-2\r\nab\r\n"],
  ["a size that ends with LF alone", "2\r\nab\r\n2\nab\r\n", "ab", "2\nab\r\n"],
  ["a size that ends with CR alone", "2\r\nab\r\n2\rab\r\n", "ab", "2\rab\r\n"],
]);

describe("plain chunks", () => {
  for (const [what, body, data, rest] of BODIES) {
    it(`takes the data of ${what}, cut anywhere`, () => {
      for (let first = 0; first <= body.length; first++) {
        for (const second of new Set([first, first + 1, (first + body.length) >> 1])) {
          const pieces = [body.slice(0, first), body.slice(first, second), body.slice(second)];
          assert.deepEqual(taken(pieces), { data, rest }, JSON.stringify(pieces));
        }
      }
      assert.deepEqual(taken([...body]), { data, rest });
    });
  }

  for (const body of ["2\r\nabc\r\n", "2\r\nab5\r\n", "2\r\nab\n", "2\r\nab\rx"]) {
    it(`says that a chunk does not end where it is to: ${JSON.stringify(body)}`, () => {
      for (let cut = 0; cut <= body.length; cut++) {
        assert.throws(() => taken([body.slice(0, cut), body.slice(cut)]), /longer than its size/);
      }
    });
  }
});

/** @param {string[]} pieces */
function taken(pieces) {
  const chunks = new PlainChunks();
  let data = "";
  /** @type {string | undefined} */
  let rest;
  for (const piece of pieces) {
    if (rest === undefined) {
      const taken = chunks.take(Buffer.from(piece));
      data += Buffer.from(taken.data).toString();
      if (taken.rest !== undefined) rest = Buffer.from(taken.rest).toString();
    } else {
      rest += piece;
    }
  }
  return { data, rest };
}
