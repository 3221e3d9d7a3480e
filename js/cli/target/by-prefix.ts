/** What was written is the id of none, or the beginning of several. The message has it. */
export class WrongIdError extends Error {
  override readonly name = "WrongIdError";
}

/**
 * The one thing whose id is, or begins with, what was written.
 *
 * @param kind What the things are, for people.
 * @param list The command that lists them.
 * @throws {WrongIdError} There is none, or more than one.
 */
export function byPrefix<T extends { id: string }>(
  things: readonly T[],
  written: string,
  { kind, list }: { kind: string; list: string },
): T {
  const exact = things.find(({ id }) => id === written);
  if (exact !== undefined) return exact;
  const [found, ...others] = things.filter(({ id }) => written !== "" && id.startsWith(written));
  if (found === undefined) {
    throw new WrongIdError(
      `no ${kind} has the id "${written}": \`${list}\` lists those that there are.`,
    );
  }
  if (others.length === 0) return found;
  const count = others.length + 1;
  throw new WrongIdError(
    `"${written}" is ambiguous: the ids of ${count} ${kind}s begin so. Write more.`,
  );
}
