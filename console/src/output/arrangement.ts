/** Which outputs are open, and which of them are in sight. */
export interface Arrangement {
  /** In the order of their tabs. */
  open: readonly string[];
  /** The one in sight. */
  active?: string;
  /** Another one in sight, beside it. */
  beside?: string;
}

export const NOTHING_OPEN: Arrangement = { open: [] };

/** How many outputs may be open; the first opened one makes room. */
export const MAX_OPEN = 200;

/** With an output open and in sight. */
export function withOpen(before: Arrangement, id: string): Arrangement {
  if (id === before.active || id === before.beside) return before;
  const open = before.open.includes(id) ? before.open : [...before.open, id].slice(-MAX_OPEN);
  return tidy({ ...before, open, active: id });
}

/** With an output beside the active one. */
export function withBeside(before: Arrangement, id: string): Arrangement {
  const opened = before.open.includes(id) ? before : { ...before, open: [...before.open, id] };
  if (id !== before.active) return tidy({ ...opened, beside: id });
  // It moves over, and a neighbour takes its place.
  const other = neighbour(
    opened.open.filter((open) => open !== opened.beside),
    id,
  );
  if (other === undefined) return before;
  return tidy({ ...opened, active: opened.beside ?? other, beside: id });
}

/** With one in sight, all the others behind tabs. */
export function withoutBeside(before: Arrangement): Arrangement {
  return tidy({
    open: before.open,
    ...(before.active === undefined ? {} : { active: before.active }),
  });
}

/** Without an output; the next tab takes its place. */
export function withoutOpen(before: Arrangement, ...ids: readonly string[]): Arrangement {
  let { active, beside } = before;
  const gone = new Set(ids);
  if (beside !== undefined && gone.has(beside)) beside = undefined;
  if (active !== undefined && gone.has(active)) {
    const rest = before.open.filter((id) => !gone.has(id) || id === active);
    [active, beside] =
      beside === undefined ? [neighbour(rest, active), undefined] : [beside, undefined];
  }
  const open = before.open.filter((id) => !gone.has(id));
  return tidy({
    open,
    ...(active === undefined ? {} : { active }),
    ...(beside === undefined ? {} : { beside }),
  });
}

/** The tab after one, or the one before it. */
function neighbour(open: readonly string[], id: string): string | undefined {
  const index = open.indexOf(id);
  return open[index + 1] ?? open[index - 1];
}

/** What is in sight is open, and only once. */
function tidy({ open, active, beside }: Arrangement): Arrangement {
  const shown = active !== undefined && open.includes(active) ? active : undefined;
  const second =
    beside !== undefined && open.includes(beside) && beside !== shown ? beside : undefined;
  if (shown === undefined) return second === undefined ? { open } : { open, active: second };
  return second === undefined ? { open, active: shown } : { open, active: shown, beside: second };
}

/** An arrangement that was kept, as far as it is one. */
export function readArrangement(value: unknown): Arrangement {
  if (typeof value !== "object" || value === null) return NOTHING_OPEN;
  const { open, active, beside } = value as Record<keyof Arrangement, unknown>;
  if (!Array.isArray(open)) return NOTHING_OPEN;
  const ids = open.filter((id): id is string => typeof id === "string");
  return tidy({
    open: [...new Set(ids)].slice(-MAX_OPEN),
    ...(typeof active === "string" ? { active } : {}),
    ...(typeof beside === "string" ? { beside } : {}),
  });
}
