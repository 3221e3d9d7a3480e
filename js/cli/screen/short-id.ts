import type { Column, Screen } from "./table.js";

/** How much of an id a screen shows, at least: as of a container's. */
const LENGTH = 12;

/** The column of ids: as much of each as a person needs, and elsewhere than on a screen all. */
export function idColumn<T extends { id: string }>(
  items: readonly T[],
  { width }: Screen,
): Column<T> {
  const shown = width === undefined ? Infinity : shortLength(items.map(({ id }) => id));
  return { title: "ID", text: ({ id }) => id.slice(0, shown) };
}

/** How much of each id has to be shown for none to be taken for another. */
function shortLength(ids: readonly string[]): number {
  const sorted = [...ids].sort();
  const shared = sorted.map((id, index) => sharedLength(id, sorted[index + 1] ?? ""));
  return shared.reduce((most, length) => Math.max(most, length + 1), LENGTH);
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
