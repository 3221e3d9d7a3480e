// Which files a tree is packed without. Pure: the agent has the same rules for trees that it packs.
import { InvalidArgumentError } from "../../core/errors.js";

/** Says whether a path, relative to the tree's directory and with slashes, is left out. */
export type IsExcluded = (path: string) => boolean;

/**
 * What some patterns exclude: `*` and `?` stand for characters of one name, `**` for any number of names. A pattern without a slash
 * fits a name at any depth. What is below a directory that is left out is left out, too.
 */
export function excludedBy(patterns: readonly string[]): IsExcluded {
  const expressions = patterns.map(expressionOf);
  return (path) => expressions.some((expression) => expression.test(path));
}

/** @throws {InvalidArgumentError} They are no patterns. */
export function checkPatterns(patterns: unknown): asserts patterns is readonly string[] {
  const isRight =
    Array.isArray(patterns) && patterns.every((one) => typeof one === "string" && one !== "");
  if (isRight) return;
  throw new InvalidArgumentError(
    '`options.exclude` must be an array of patterns such as "node_modules", but is ' +
      (Array.isArray(patterns) ? "one with something else in it" : typeof patterns),
  );
}

function expressionOf(pattern: string): RegExp {
  // A slash at the beginning or the end says no more than one within does.
  const path = pattern.replace(/^\/+|\/+$/g, "");
  const anywhere = pattern.includes("/") ? "" : "(?:.*/)?";
  const parts = path.split("/").map((name) => (name === "**" ? name : nameExpression(name)));
  const whole = parts
    .map((part, index) => {
      const isLast = index === parts.length - 1;
      if (part !== "**") return isLast ? part : `${part}/`;
      return isLast ? ".*" : "(?:.*/)?";
    })
    .join("");
  return new RegExp(`^${anywhere}${whole}$`, "su");
}

function nameExpression(name: string): string {
  const escaped = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return escaped.replaceAll(/(?:\\\*)+/g, "[^/]*").replaceAll("\\?", "[^/]");
}
