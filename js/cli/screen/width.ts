/** What takes no column: marks and Hangul that go on the character before, and what only formats. */
const NONE = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff\ud7b0-\ud7ff]$/u;

/** What takes two columns: wide and full-width characters (Unicode Standard Annex 11), and emoji. */
const TWO =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]$/u;

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columns(character);
  return width;
}

/** A text in at most so many columns; what was cut off leaves an ellipsis. */
export function cutTo(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let [kept, left] = ["", most - 1];
  for (const character of text) {
    left -= columns(character);
    if (left < 0) break;
    kept += character;
  }
  return most > 0 ? `${kept}…` : "";
}

function columns(character: string): 0 | 1 | 2 {
  // Most are ASCII.
  if (character <= "~") return 1;
  if (NONE.test(character)) return 0;
  return TWO.test(character) ? 2 : 1;
}
