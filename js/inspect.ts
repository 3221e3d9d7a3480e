/** What Node.js, Bun and Deno ask for when they print an object. */
export const INSPECT = Symbol.for("nodejs.util.inspect.custom");

type Inspect = (value: unknown, options: unknown) => string;

/** What is printed of an object: the name of its class, and these of its facts. Secrets are left out. */
export function inspected(
  name: string,
  facts: Readonly<Record<string, unknown>>,
  options: unknown,
  inspect: Inspect | undefined,
): string {
  const known = Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined));
  return `${name} ${inspect?.(known, options) ?? JSON.stringify(known)}`;
}
