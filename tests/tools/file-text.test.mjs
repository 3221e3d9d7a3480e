// @ts-check
// What the file tools decide: which lines are shown, where a text is, which lines are most like it. Pure functions.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { nearest } from "../../dist/tools/nearest.js";
import { NumberedLines, numberedLines } from "../../dist/tools/numbered-lines.js";
import {
  lineNumbersOf,
  linesOf,
  placesOf,
  replacedAt,
  withLineEndsOf,
} from "../../dist/tools/text-match.js";
import { Random } from "../support/random.mjs";

const CASES = 2000;

/** @param {Random} random @param {readonly string[]} pieces @param {number} most */
const textOf = (random, pieces, most) =>
  Array.from(
    { length: random.between(0, most) },
    () => pieces[random.between(0, pieces.length - 1)],
  ).join("");

/** A text cut into pieces anywhere. @param {Random} random @param {string} text */
function cut(random, text) {
  const pieces = [];
  for (let at = 0; at < text.length;) {
    const end = at + random.between(1, 7);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

describe("numbered lines", () => {
  it("are those of the range, wherever the text is cut, within the budget", () => {
    const random = new Random("lines");
    for (let n = 0; n < CASES; n += 1) {
      const text = textOf(random, ["a", "bc", "\n", "\n", "long line ".repeat(3)], 40);
      const [first, length] = [random.between(1, 8), random.between(0, 8)];
      const last = random.chance(0.3) ? Infinity : first + length;
      const budget = random.between(20, 200);
      const lines = new NumberedLines({ first, last, budget });
      const isToTheEnd = cut(random, text).every((piece) => lines.take(piece));
      const isOpen = isToTheEnd && lines.end();
      const all = text.split("\n").slice(0, text.endsWith("\n") || text === "" ? -1 : undefined);
      const label = JSON.stringify({ text, first, last, budget, shown: lines.text });

      const shown = lines.text.split("\n").slice(0, -1);
      for (const [index, line] of shown.entries()) {
        const number = first + index;
        assert.ok(number <= last, label);
        const [written = "", content = ""] = line.split(/\t(.*)/);
        assert.equal(Number(written), number, label);
        const [head = ""] = content.split("[…");
        assert.ok((all[number - 1] ?? "nothing").startsWith(head), label);
        if (head !== content) assert.match(content, /\[… \d+ more characters in this line …\]$/);
        else assert.equal(content, all[number - 1], label);
      }
      assert.ok(shown.length <= 1 || lines.text.length <= budget, label);
      assert.equal(lines.lastShown, shown.length === 0 ? 0 : first + shown.length - 1, label);
      if (isToTheEnd && !lines.isFull) {
        assert.equal(lines.count, all.length, label);
        assert.equal(isOpen, text !== "" && !text.endsWith("\n"), label);
        assert.equal(shown.length, Math.max(all.length - first + 1, 0), label);
      }
    }
  });

  it("say how much of a long line is left out, and keep no more of it", () => {
    const lines = new NumberedLines({ first: 1, last: Infinity, budget: 100_000 });
    for (let n = 0; n < 1000; n += 1) lines.take("x".repeat(1000));
    lines.take("\nnext\n");
    assert.equal(
      lines.text,
      `     1\t${"x".repeat(2000)}[… 998000 more characters in this line …]\n     2\tnext\n`,
    );
    assert.equal(numberedLines(["a", "b"], 9, 100), "     9\ta\n    10\tb\n");
    assert.equal(numberedLines(["a", "b"], 9, 10), "     9\ta\n");
  });
});

describe("a text in a file", () => {
  it("is replaced at each of its places and nowhere else", () => {
    const random = new Random("match");
    for (let n = 0; n < CASES; n += 1) {
      const text = textOf(random, ["a", "b", "\n"], 30);
      const wanted = textOf(random, ["a", "b", "\n"], 3) || "a";
      const replacement = textOf(random, ["x", "\n", "$&"], 3);
      const places = placesOf(wanted, text);
      const expected = text.split(wanted).join(replacement);
      assert.equal(replacedAt(text, places, wanted.length, replacement), expected);
      const lines = places.map((place) => text.slice(0, place).split("\n").length);
      assert.deepEqual(lineNumbersOf(text, places), lines, JSON.stringify({ text, wanted }));
    }
  });

  it("has the line ends of the file, if those are all the same", () => {
    assert.equal(withLineEndsOf("a\r\nb\r\n", "x\ny\r\n"), "x\r\ny\r\n");
    assert.equal(withLineEndsOf("a\r\nb\n", "x\n"), "x\n");
    assert.equal(withLineEndsOf("\na\r\n", "x\n"), "x\n");
    assert.equal(withLineEndsOf("a", "x\n"), "x\n");
    assert.deepEqual(linesOf("a\r\nb\n"), ["a", "b"]);
    assert.deepEqual(linesOf(""), []);
  });
});

describe("the nearest lines", () => {
  const file = linesOf(`import a from "a";

export function first() {
  return 1;
}

export function second(x) {
  if (x > 1) {
    return x * 2;
  }
  return 0;
}
`);

  it("are those with the same words and other white space", () => {
    const wanted = ["export function second(x) {", "    if (x > 1) {", "        return x * 2;"];
    const found = { line: 7, count: 3, isSpaceOnly: true, differsAt: 8, wanted: wanted[1] };
    assert.deepEqual(nearest(file, wanted), found);
  });

  it("are those in which most lines are the same", () => {
    const wanted = ["export function second(x) {", "  if (x > 2) {", "    return x * 2;"];
    const found = { line: 7, count: 3, isSpaceOnly: false, differsAt: 8, wanted: wanted[1] };
    assert.deepEqual(nearest(file, wanted), found);
  });

  it("are those that look like it where no line is the same", () => {
    const found = nearest(file, ["export function frist() {"]);
    assert.equal(found?.line, 3);
  });

  it("are none where nothing is like it", () => {
    assert.equal(nearest(file, ["zzzzzz qqqqq"]), undefined);
    assert.equal(nearest([], ["a"]), undefined);
    assert.equal(nearest(file, ["", " "]), undefined);
  });

  it("are found in a long file in little time, whatever is looked for", () => {
    const long = Array.from({ length: 200_000 }, (_, n) => (n % 2 === 0 ? "  }" : `  call(${n});`));
    const wanted = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? "}" : `call(${n * 2});`));
    const start = process.cpuUsage().user;
    assert.ok(nearest(long, wanted));
    // In proportion to both lengths it is 60 million steps: seconds.
    assert.ok(process.cpuUsage().user - start < 20e6);
  });
});
