/** What stands for the middle that was left out. */
export const CUT_MARK = "\n[… the middle is left out …]\n";

/**
 * A text of at most `budget` characters (UTF-16 code units, at least as many as {@link CUT_MARK} has): the
 * beginning of one text and the end of another, which may be the same. No character is cut in two.
 */
export function cutMiddle(beginning: string, end: string, budget: number): string {
  const room = budget - CUT_MARK.length;
  const head = Math.ceil(room / 2);
  return firstOf(beginning, head) + CUT_MARK + lastOf(end, room - head);
}

/** The last characters of a text, at most so many. */
export function lastOf(text: string, most: number): string {
  const begin = Math.max(text.length - most, 0);
  return text.slice(begin + (isInPair(text, begin) ? 1 : 0));
}

/** The first characters of a text, at most so many. */
export function firstOf(text: string, most: number): string {
  return text.slice(0, most - (isInPair(text, most) ? 1 : 0));
}

/** Whether a surrogate pair is cut there. */
function isInPair(text: string, index: number): boolean {
  const isHigh = /^[\ud800-\udbff]$/.test(text.charAt(index - 1));
  return isHigh && /^[\udc00-\udfff]$/.test(text.charAt(index));
}
