/** Rows that are drawn beyond those in sight, so that scrolling finds them there. */
const OVERSCAN = 6;

/** Which rows of a list of rows of one height are drawn: from `first` up to, not including, `end`. */
export function visibleRows(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
): { first: number; end: number } {
  const first = Math.floor(scrollTop / rowHeight) - OVERSCAN;
  const end = Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN;
  return {
    first: Math.max(0, Math.min(first, count)),
    end: Math.max(0, Math.min(end, count)),
  };
}
