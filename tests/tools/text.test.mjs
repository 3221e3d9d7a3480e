// @ts-check
// What a model is given to read: pure functions.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { CUT_MARK, cutMiddle, isBinary, lastOf, plainText } from "../../dist/tools/text.js";
import { Random } from "../support/random.mjs";

const CASES = 3000;

/** A text of some of these pieces. @param {Random} random @param {readonly string[]} pieces */
const textOf = (random, pieces) =>
  Array.from(
    { length: random.between(0, 60) },
    () => pieces[random.between(0, pieces.length - 1)],
  ).join("");

/** Has a surrogate without its other half. @param {string} text */
const isTorn = (text) => /\p{Surrogate}/u.test(text);

describe("a text that is cut in the middle", () => {
  it("keeps to the budget, both ends and whole characters, whatever it is", () => {
    const random = new Random("cut");
    const pieces = ["a", "é", "\n", "€", "😀", "👩‍👩‍👧"];
    for (let n = 0; n < CASES; n += 1) {
      const text = textOf(random, pieces);
      const end = random.chance(0.5) ? text : textOf(random, pieces);
      const budget = CUT_MARK.length + random.between(0, 70);
      const cut = cutMiddle(text, end, budget);
      const label = JSON.stringify({ text, end, budget, cut });
      assert.ok(cut.length <= budget, label);
      assert.ok(!isTorn(cut), label);
      const [head = "", tail = ""] = cut.split(CUT_MARK);
      assert.ok(text.startsWith(head) && end.endsWith(tail), label);
      // Nothing is wasted but the place of half a character.
      const room = budget - CUT_MARK.length;
      assert.ok(head.length >= Math.min(text.length, Math.ceil(room / 2) - 1), label);
      assert.ok(tail.length >= Math.min(end.length, Math.floor(room / 2) - 1), label);
    }
  });

  it("says where", () => {
    const text = "a".repeat(100) + "b".repeat(100);
    assert.equal(cutMiddle(text, text, CUT_MARK.length + 4), `aa${CUT_MARK}bb`);
    assert.equal(lastOf("x😀", 1), "");
    assert.equal(lastOf("x😀", 2), "😀");
  });
});

describe("binary output", () => {
  const decoder = new TextDecoder();
  for (const [name, bytes, expected] of /** @type {const} */ ([
    ["nothing", [], false],
    ["text", Buffer.from("\u001b[31méa€😀\u0007\n"), false],
    ["a NUL in text", Buffer.from("a long text with a \0 in it"), true],
    ["a byte in 4 that is no UTF-8", Buffer.from("café", "latin1"), false],
    ["two in 5", Buffer.from("aéaéa", "latin1"), true],
    ["the beginning of a gzip file", [0x1f, 0x8b, 0x08, 0x08, 0xd3, 0x9f, 0xf2, 0xe4], true],
  ])) {
    it(`is${expected ? "" : " not"} ${name}`, () => {
      assert.equal(isBinary(decoder.decode(Uint8Array.from(bytes))), expected);
    });
  }

  it("is all that is random, without a NUL, too", () => {
    const random = new Random("binary");
    for (let n = 0; n < CASES; n += 1) {
      const bytes = Uint8Array.from({ length: 1024 }, () => random.between(1, 255));
      assert.ok(isBinary(decoder.decode(bytes)), JSON.stringify([...bytes]));
    }
  });
});

describe("plain text", () => {
  for (const [name, text, expected] of /** @type {const} */ ([
    ["colours", "\u001b[1;31mred\u001b[0m", "red"],
    ["colours with colons and 8-bit sequences", "\u001b[38:5:1mred\u009b0m", "red"],
    [
      "titles and links",
      "\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b\u001b]8;;\u001b\\",
      "ab",
    ],
    ["moves of the cursor", "a\u001b[2J\u001b[H\u001b7b\u001b8\u001b(Bc", "abc"],
    ["bells, backspaces and NULs", "a\u0007b\bc\0d\u007f", "abcd"],
    ["line ends of terminals", "a\r\nb\r\r\n", "a\nb\n"],
    ["lines that were drawn over", "10%\r20%\rdone\n", "10%\n20%\ndone\n"],
    ["a control string without an end", "\u001b]0;title\nmore", "0;title\nmore"],
    ["what looks like one", "[31m is no sequence\ttab", "[31m is no sequence\ttab"],
  ])) {
    it(`is without ${name}`, () => assert.equal(plainText(text), expected));
  }

  it("has no control character but tabs and line ends, whatever it was", () => {
    const random = new Random("plain");
    const pieces = ["\u001b", "[", "]", "0", ";", "m", "P", "\\", "\u0007", "\u009b", "\u009d"];
    pieces.push("\r", "\n", "\t", "\0", "(", "B", "text", "é😀");
    for (let n = 0; n < CASES; n += 1) {
      const text = textOf(random, pieces);
      const plain = plainText(text);
      assert.match(plain, /^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$/, JSON.stringify(text));
      assert.equal(plainText(plain), plain);
      // What is no part of a sequence stays.
      const kept = (/** @type {string} */ of) => of.match(/text|é😀/g)?.length ?? 0;
      if (!/[\u001b\u009b\u009d]/.test(text)) assert.equal(kept(plain), kept(text));
    }
  });

  it("is soon there, whatever it was", () => {
    const pieces = ["\r", "\u009d", "\u001b]", "\u001b[0", "\u009b0", "\u001b ", "\u0090\u001b"];
    const program = `
      import { plainText } from ${JSON.stringify(new URL("../../dist/tools/text.js", import.meta.url))};
      for (const piece of ${JSON.stringify(pieces)}) plainText(piece.repeat(500_000));
    `;
    // Where the time grows with the square of the length, it is the better part of an hour.
    const options = { timeout: 60_000 };
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], options);
  });
});
