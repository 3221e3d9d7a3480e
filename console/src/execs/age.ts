/** When an exec was first seen, in milliseconds; it may be older if it was there before the page. */
export interface FirstSeen {
  at: number;
  orOlder: boolean;
}

/**
 * When each exec of a list was first seen. The agent does not tell when one was created.
 *
 * @param before what was known of the list before; undefined for the first list
 */
export function seen(
  before: ReadonlyMap<string, FirstSeen> | undefined,
  ids: readonly string[],
  now: number,
): Map<string, FirstSeen> {
  const orOlder = before === undefined;
  return new Map(ids.map((id) => [id, before?.get(id) ?? { at: now, orOlder }]));
}

const UNITS: [unit: string, seconds: number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** An age in its largest unit: `42 s`, `> 3 h`. */
export function ageText(first: FirstSeen, now: number): string {
  const age = Math.max(0, Math.floor((now - first.at) / 1000));
  const [unit, seconds] = UNITS.find(([, seconds]) => age >= seconds) ?? ["s", 1];
  return `${first.orOlder ? "> " : ""}${Math.floor(age / seconds)} ${unit}`;
}
