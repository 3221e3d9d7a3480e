import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visibleRows } from "./visible-rows.js";
import "./rows.css";

interface DrawnRow {
  isCurrent: boolean;
  row: VNode;
}

/**
 * A list of rows of one height, of which only those in sight are drawn. ↑, ↓, Page up, Page down, Home and End go from row to
 * row, also to those that are not drawn; other keys are `onKey`'s. The rows of a tree say by themselves what they are.
 */
export function Rows<T>({
  role = "list",
  label,
  items,
  idOf,
  rowHeight,
  current,
  onCurrent,
  onKey,
  children,
}: {
  role?: "list" | "tree";
  label: string;
  items: readonly T[];
  idOf: (item: T) => string;
  /** In pixels. */
  rowHeight: number;
  /** The id of the row that Tab goes to. */
  current: string | undefined;
  onCurrent: (id: string) => void;
  /** What it returns is the id of a row to go to. */
  onKey?: (event: KeyboardEvent, item: T) => string | undefined;
  children: (item: T, isCurrent: boolean) => ComponentChildren;
}) {
  const list = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  /** The rows as they were drawn, by their places. */
  const cache = useRef<{ children: unknown; items: unknown; rows: Map<number, DrawnRow> }>({
    children,
    items,
    rows: new Map(),
  });
  /** The row that is to have the keyboard when it is drawn. */
  const wanted = useRef<string>(undefined);

  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const measure = () => {
      setView({ top: element.scrollTop, height: element.clientHeight });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => {
      observer.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const row = list.current?.querySelector<HTMLElement>(
      `[data-row="${CSS.escape(wanted.current)}"]`,
    );
    row?.querySelector<HTMLElement>("[data-main]")?.focus({ preventScroll: true });
    if (row !== null && row !== undefined) wanted.current = undefined;
  });

  const index = Math.max(
    0,
    items.findIndex((item) => idOf(item) === current),
  );
  const goTo = (to: number) => {
    const element = list.current;
    const next = Math.max(0, Math.min(items.length - 1, to));
    const item = items[next];
    if (element === null || item === undefined) return;
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
    wanted.current = idOf(item);
    setView({ top: element.scrollTop, height: element.clientHeight });
    onCurrent(idOf(item));
  };

  // What is scrolled is not drawn anew.
  if (cache.current.children !== children || cache.current.items !== items) {
    cache.current = { children, items, rows: new Map() };
  }
  const before = cache.current.rows;
  const rows = new Map<number, DrawnRow>();
  cache.current.rows = rows;
  const { first, end } = visibleRows(items.length, rowHeight, view.top, view.height);
  const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
  const drawn = items.slice(first, end).map((item, offset) => ({ item, at: first + offset }));
  // Tab finds it also where it is not in sight.
  const at = items[index];
  if (at !== undefined && (index < first || index >= end)) drawn.push({ item: at, at: index });
  return (
    <div
      ref={list}
      class="rows"
      role={role}
      aria-label={label}
      onScroll={(event) => {
        const { scrollTop: top, clientHeight: height } = event.currentTarget;
        setView({ top, height });
      }}
      onFocusIn={(event) => {
        // A pointer may have brought it there.
        const focused = (event.target as Element).closest<HTMLElement>("[data-row]");
        const id = focused?.dataset["row"];
        if (id !== undefined && id !== current) onCurrent(id);
      }}
      onKeyDown={(event) => {
        const to = {
          ArrowDown: index + 1,
          ArrowUp: index - 1,
          PageDown: index + page,
          PageUp: index - page,
          Home: 0,
          End: items.length - 1,
        }[event.key];
        if (to !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          goTo(to);
          return;
        }
        const id = at === undefined ? undefined : onKey?.(event, at);
        if (id !== undefined) goTo(items.findIndex((item) => idOf(item) === id));
      }}
    >
      <div class="rows-all" style={{ height: `${items.length * rowHeight}px` }}>
        {drawn.map(({ item, at }) => {
          const known = before.get(at);
          const isCurrent = at === index;
          if (known?.isCurrent === isCurrent) {
            rows.set(at, known);
            return known.row;
          }
          const id = idOf(item);
          const row = (
            <div
              key={id}
              class="row-place"
              data-row={id}
              {...(role === "tree"
                ? { role: "presentation" }
                : { role: "listitem", "aria-setsize": items.length, "aria-posinset": at + 1 })}
              style={{ height: `${rowHeight}px`, transform: `translateY(${at * rowHeight}px)` }}
            >
              {children(item, isCurrent)}
            </div>
          );
          rows.set(at, { isCurrent, row });
          return row;
        })}
      </div>
    </div>
  );
}
