/** How many command lines are kept. */
const MAX = 200;

/** The lines with another one at their end. A line that is there already moves to the end. */
export function withLine(lines: readonly string[], line: string): readonly string[] {
  return [...lines.filter((other) => other !== line), line].slice(-MAX);
}

/** Where one is in the lines that were run before: `index` counts from the newest, and -1 is what was typed. */
export interface Recall {
  index: number;
  draft: string;
}

/**
 * The line that an arrow key brings; undefined where there is none in that direction.
 *
 * @param text What stands in the field.
 */
export function recalled(
  lines: readonly string[],
  { index, draft }: Recall,
  text: string,
  step: 1 | -1,
): { recall: Recall; text: string } | undefined {
  const next = index + step;
  const typed = index === -1 ? text : draft;
  if (next === -1) return { recall: { index: -1, draft: typed }, text: typed };
  const line = next < -1 ? undefined : lines[lines.length - 1 - next];
  return line === undefined ? undefined : { recall: { index: next, draft: typed }, text: line };
}
