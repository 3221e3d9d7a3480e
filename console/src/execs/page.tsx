import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ExecItem, Sandbox } from "sandpipe";
import { Failure } from "../message.js";
import { OutputPanel } from "../output/panel.js";
import { seen, type FirstSeen } from "./age.js";
import { KINDS, passes, type Filter, type Kind } from "./filter.js";
import { RunForm } from "./run-form.js";
import { isRunning } from "./status.js";
import { useStops } from "./stopping.js";
import { ExecTable } from "./table.js";

/** How many rows are shown before the rest is asked for. */
const ROWS = 200;

/** The execs, live, and the outputs that have been opened. */
export function ExecsPage({
  sandbox,
  items,
}: {
  sandbox: Sandbox;
  items: readonly ExecItem[] | undefined;
}) {
  const { execs } = sandbox;
  const [filter, setFilter] = useState<Filter>({ kind: "all", text: "" });
  const [rows, setRows] = useState(ROWS);
  const [error, setError] = useState<unknown>();
  /** As they were when they were opened: a run's may come before the list has it. */
  const [opened, setOpened] = useState<ReadonlyMap<string, ExecItem>>(new Map());
  const stops = useStops(execs);
  const firstSeen = useFirstSeen(items);
  const now = useNow();

  const byId = useMemo(() => new Map(items?.map((item) => [item.id, item])), [items]);
  const shown = useMemo(() => items?.filter((item) => passes(item, filter)), [items, filter]);
  const closed = shown?.filter((item) => isRunning(item) && !opened.has(item.id)) ?? [];

  const open = (...added: ExecItem[]) => {
    // The newest first, as in the list.
    setOpened((before) => new Map([...added.map((item) => [item.id, item] as const), ...before]));
  };
  const close = (id: string) => {
    setOpened((before) => new Map([...before].filter(([other]) => other !== id)));
  };
  const remove = (item: ExecItem) => {
    setError(undefined);
    execs.delete(item.id).then(() => {
      close(item.id);
    }, setError);
  };

  return (
    <div class="execs">
      <div class="left">
        <h1>Execs</h1>
        <RunForm execs={execs} onRun={open} />
        <section class="card" aria-label="List of execs">
          <div class="toolbar">
            <label>
              <span class="unseen">Search commands, ids and pids</span>
              <input
                type="search"
                placeholder="Search"
                onInput={(event) => {
                  setFilter({ ...filter, text: event.currentTarget.value });
                }}
              />
            </label>
            <label>
              <span class="unseen">Show</span>
              <select
                onChange={(event) => {
                  setFilter({ ...filter, kind: event.currentTarget.value as Kind });
                }}
              >
                {Object.entries(KINDS).map(([kind, name]) => (
                  <option key={kind} value={kind}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <button
              disabled={closed.length === 0}
              onClick={() => {
                open(...closed);
              }}
            >
              Open running ({closed.length})
            </button>
            <span class="count">
              {shown === undefined ? "" : `${shown.length} of ${items?.length ?? 0}`}
            </span>
          </div>
          <Failure error={error} />
          {items === undefined ? (
            <p class="empty">Waiting for the agent…</p>
          ) : shown === undefined || shown.length === 0 ? (
            <p class="empty">{items.length === 0 ? "No commands yet." : "None matches."}</p>
          ) : (
            // What is wider than a narrow window scrolls in here.
            <div class="scroller">
              <ExecTable
                items={shown.slice(0, rows)}
                firstSeen={firstSeen}
                now={now}
                opened={new Set(opened.keys())}
                stops={stops}
                onToggle={(item) => {
                  if (opened.has(item.id)) close(item.id);
                  else open(item);
                }}
                onRemove={remove}
              />
            </div>
          )}
          {shown !== undefined && shown.length > rows && (
            <button
              onClick={() => {
                setRows(rows + ROWS);
              }}
            >
              Show more
            </button>
          )}
        </section>
      </div>
      <div class="outputs">
        {opened.size === 0 && (
          <p class="empty">Run a command, or choose one of the list, to see its output here.</p>
        )}
        {[...opened].map(([id, asOpened]) => (
          <OutputPanel
            key={id}
            execs={execs}
            item={byId.get(id) ?? asOpened}
            stops={stops}
            onClose={() => {
              close(id);
            }}
          />
        ))}
      </div>
    </div>
  );
}

function useFirstSeen(items: readonly ExecItem[] | undefined): ReadonlyMap<string, FirstSeen> {
  const known = useRef<ReadonlyMap<string, FirstSeen>>(undefined);
  return useMemo(() => {
    if (items === undefined) return new Map();
    const ids = items.map(({ id }) => id);
    return (known.current = seen(known.current, ids, Date.now()));
  }, [items]);
}

/** The time, each second, in milliseconds. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, 1000);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return now;
}
