/** A value as JSON, for people to read as well. */
export function json(value: unknown): string {
  return `${inert(JSON.stringify(value, undefined, 2))}\n`;
}

/** The same on one line. */
export function jsonLine(value: unknown): string {
  return `${inert(JSON.stringify(value))}\n`;
}

/** What JSON leaves as it is, and a terminal may act upon: C1 controls, and changes of direction. */
const ACTIVE = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

function inert(text: string): string {
  return text.replaceAll(ACTIVE, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
