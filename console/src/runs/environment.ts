/**
 * Environment variables, a NAME=VALUE a line. Empty lines are left out.
 *
 * @throws {Error} A line has no name.
 */
export function environmentOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const equals = line.indexOf("=");
      if (equals < 1) throw new Error(`An environment variable is NAME=VALUE, not “${line}”.`);
      return [line.slice(0, equals).trim(), line.slice(equals + 1)];
    }),
  );
}
