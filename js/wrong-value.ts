// What errors say of wrong arguments, those of the core too.

/** The most characters of a string that an error shows. */
const SHOWN = 60;

/** Describes a value that is no right argument. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string": {
      const characters = Array.from(value);
      const excerpt = characters.slice(0, SHOWN).join("");
      return `the string ${JSON.stringify(characters.length > SHOWN ? `${excerpt}…` : excerpt)}`;
    }
    case "number":
      return `the number ${value}`;
    case "boolean":
    case "undefined":
      return String(value);
    case "object":
      return value === null ? "null" : describeObject(value);
    default:
      return `a ${typeof value}`;
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return "an array";
  if (isPromise(value)) return "a Promise: `await` it first";
  if ("signal" in value && "abort" in value) return "an AbortController: pass its `signal`";
  return "an object";
}

/** Returns whether somebody has forgotten to await a value. */
export function isPromise(value: unknown): boolean {
  return typeof (Object(value) as { then?: unknown }).then === "function";
}

/** Asks whether one of the known names was meant; empty where none is like it. */
export function suggest(name: string, known: readonly string[]): string {
  const likely = known
    .map((one) => ({ one, difference: difference(plain(name), plain(one)) }))
    .sort((a, b) => a.difference - b.difference)[0];
  if (likely === undefined || likely.difference > MAX_DIFFERENCE) return "";
  return `: did you mean \`${likely.one}\`?`;
}

/** How many letters may be wrong. */
const MAX_DIFFERENCE = 2;

/** The fewest letters that say which name is meant where the other has more. */
const MIN_PART = 3;

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z\d]/g, "");
}

/** How many letters have to be inserted, left out or exchanged; 1 where one name is a part of the other. */
function difference(a: string, b: string): number {
  if (a === b) return 0;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (short.length >= MIN_PART && long.includes(short)) return 1;
  // Of short names others are as near.
  if (short.length <= MAX_DIFFERENCE + 1) return Infinity;
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of Array.from(a).entries()) {
    const next = [row + 1];
    for (const [column, other] of Array.from(b).entries()) {
      const exchanged = (above[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(exchanged, (above[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    above = next;
  }
  return above.at(-1) ?? 0;
}
