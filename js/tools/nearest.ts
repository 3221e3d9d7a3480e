// Which lines of a file are most like some that it does not have. Pure.

/** Where a file is most like lines that are looked for. */
export interface Nearest {
  /** The number of the first of these lines in the file, counted from 1. */
  line: number;
  /** How many there are. */
  count: number;
  /** The first line of the file that differs from what is looked for: its number; undefined where there is none. */
  differsAt?: number;
  /** What is looked for in its place; undefined where that has no such line. */
  wanted?: string;
  /** Whether nothing but white space is different. */
  isSpaceOnly: boolean;
}

/** How many places are looked at closely. */
const CANDIDATES = 20;

/** Of lines that are looked for and are all the same so many say where the others may be. */
const MAX_SAME = 8;

/** Lines that are less alike than this are not meant. */
const MIN_LIKENESS = 0.3;

/**
 * The place where a file's lines are most like those that are looked for; undefined where none is. It takes time in proportion to
 * the length of both.
 */
export function nearest(file: readonly string[], wanted: readonly string[]): Nearest | undefined {
  const best = candidates(file, wanted)
    .map((start) => ({ start, likeness: likenessAt(file, wanted, start) }))
    .sort((a, b) => b.likeness - a.likeness || a.start - b.start)[0];
  if (best === undefined || best.likeness < MIN_LIKENESS) return undefined;
  return described(file, wanted, best.start);
}

/** Where the lines may begin that are meant: first where most lines are the same but for white space. */
function candidates(file: readonly string[], wanted: readonly string[]): number[] {
  const numbers = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const key = normalized(line);
    const same = numbers.get(key) ?? [];
    if (key === "" || same.length === MAX_SAME) continue;
    same.push(index);
    numbers.set(key, same);
  }
  const votes = new Map<number, number>();
  for (const [at, line] of file.entries()) {
    for (const index of numbers.get(normalized(line)) ?? []) {
      votes.set(at - index, (votes.get(at - index) ?? 0) + 1);
    }
  }
  const voted = [...votes].sort(([, a], [, b]) => b - a).slice(0, CANDIDATES);
  if (voted.length > 0) return voted.map(([start]) => Math.max(start, 0));
  // No line is the same: those that are like the one that says most.
  const longest = wanted.reduce(
    (a, b) => (normalized(b).length > normalized(a).length ? b : a),
    "",
  );
  const index = wanted.indexOf(longest);
  const pairs = pairsOf(longest);
  return file
    .map((line, at) => ({ start: Math.max(at - index, 0), likeness: shared(pairs, pairsOf(line)) }))
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, CANDIDATES)
    .map(({ start }) => start);
}

/** How like the lines from `start` on are to those that are looked for, from 0 to 1. */
function likenessAt(file: readonly string[], wanted: readonly string[], start: number): number {
  let [sum, weight] = [0, 0];
  for (const [index, line] of wanted.entries()) {
    const found = file[start + index] ?? "";
    // A longer line says more.
    const own = normalized(line).length;
    weight += own;
    sum +=
      own * (normalized(found) === normalized(line) ? 1 : shared(pairsOf(line), pairsOf(found)));
  }
  return weight === 0 ? 0 : sum / weight;
}

function described(file: readonly string[], wanted: readonly string[], start: number): Nearest {
  const count = Math.min(wanted.length, file.length - start);
  const place = { line: start + 1, count };
  const isSpaceOnly = wanted.every(
    (line, index) => normalized(file[start + index] ?? "") === normalized(line),
  );
  const different = wanted.findIndex((line, index) => file[start + index] !== line);
  const line = wanted[different];
  // A part of a line is looked for at the first and the last.
  if (line === undefined) return { ...place, isSpaceOnly };
  return { ...place, isSpaceOnly, differsAt: start + different + 1, wanted: line };
}

/** A line without what differs in white space alone. */
function normalized(line: string): string {
  return line.replaceAll(/\s+/g, "");
}

/** The most of a line that is compared, in characters. */
const MAX_COMPARED = 400;

/** The pairs of characters that follow each other in a line, each with how often it does. */
function pairsOf(line: string): Map<string, number> {
  const text = normalized(line).slice(0, MAX_COMPARED);
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** The share of pairs that two lines have in common, from 0 to 1 (the coefficient of Sørensen and Dice). */
function shared(a: Map<string, number>, b: Map<string, number>): number {
  let [both, all] = [0, 0];
  for (const [pair, count] of a) {
    both += Math.min(count, b.get(pair) ?? 0);
    all += count;
  }
  for (const count of b.values()) all += count;
  return all === 0 ? 0 : (2 * both) / all;
}
