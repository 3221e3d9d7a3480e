import { ListX, Search, SquareTerminal, X } from "lucide";
import { useMemo, useRef, useState } from "preact/hooks";
import type { ExecItem } from "sandpipe";
import { useNow } from "../clock.js";
import { Empty } from "../design/empty.js";
import { Icon } from "../design/icon.js";
import { Rows } from "../design/rows.js";
import { PURPOSES } from "../frame/descriptions.js";
import { Failure } from "../message.js";
import type { Arrangement } from "../output/arrangement.js";
import { useStore } from "../store.js";
import { lineAt } from "./command-line.js";
import { filtered, KINDS, type Filter, type Kind } from "./filter.js";
import { RunRow, type RunActions } from "./row.js";
import type { Runs } from "./runs.js";
import { searchOutputs, type SearchProgress } from "./search-outputs.js";
import { hasEnded, isRunning } from "./status.js";
import "./list.css";

/** The height of a row, in pixels; list.css has it, too. */
const ROW = 56;

/** The runs of the agent, live: searched, filtered, and what can be done with each. */
export function RunList({
  runs,
  url,
  arrangement,
  actions,
  onRunExample,
}: {
  runs: Runs;
  /** The agent's. */
  url: string;
  arrangement: Arrangement;
  actions: RunActions;
  onRunExample: () => void;
}) {
  const items = useStore(runs.list.items);
  const isLive = useStore(runs.list.connection).state === "live";
  const hidden = useStore(runs.removals.hidden);
  const stops = useStore(runs.stops.store);
  const error = useStore(runs.removals.error);
  const policy = useStore(runs.policy);
  const now = useNow();
  const [filter, setFilter] = useState<Filter>({ kind: "all", text: "" });
  const [current, setCurrent] = useState<string>();
  const outputSearch = useOutputSearch(runs);
  const { progress } = outputSearch;

  const kept = useMemo(
    () => (hidden.size === 0 ? items : items?.filter(({ id }) => !hidden.has(id))),
    [items, hidden],
  );
  const found = progress?.found;
  const shown = useMemo(
    () => (kept === undefined ? undefined : filtered(kept, filter, found)),
    [kept, filter, found],
  );
  const ended = useMemo(() => shown?.filter(hasEnded) ?? [], [shown]);
  const open = new Set(arrangement.open);
  const text = filter.text.trim();

  const change = (changed: Partial<Filter>) => {
    outputSearch.end();
    setFilter({ ...filter, ...changed });
  };
  return (
    <section class="list" aria-label="Runs">
      <div class="list-head">
        <div class="search-field">
          <Icon of={Search} size={14} />
          <input
            type="search"
            aria-label="Search commands"
            placeholder="Search commands and outputs"
            spellcheck={false}
            data-shortcut="/"
            value={filter.text}
            onInput={(event) => {
              change({ text: event.currentTarget.value });
            }}
            onKeyDown={(event) => {
              if (event.key === "Escape") change({ text: "" });
              if (event.key === "Enter" && text !== "" && kept !== undefined) {
                outputSearch.begin(filtered(kept, { ...filter, text: "" }), text);
              }
            }}
          />
          {text === "" ? <kbd aria-hidden="true">/</kbd> : <kbd aria-hidden="true">↵ outputs</kbd>}
        </div>
        <div class="list-kinds" role="group" aria-label="Show">
          {Object.entries(KINDS).map(([kind, name]) => (
            <button
              key={kind}
              class="segment"
              aria-pressed={filter.kind === kind}
              onClick={() => {
                change({ kind: kind as Kind });
              }}
            >
              {name}
            </button>
          ))}
        </div>
        {text !== "" && (
          <OutputSearch
            progress={progress}
            onBegin={() => {
              if (kept !== undefined)
                outputSearch.begin(filtered(kept, { ...filter, text: "" }), text);
            }}
            onEnd={outputSearch.end}
          />
        )}
        <Failure error={error} />
      </div>
      {shown === undefined ? (
        <p class="list-note">Waiting for the agent…</p>
      ) : kept?.length === 0 ? (
        <Empty
          icon={SquareTerminal}
          title="No runs yet"
          command={lineAt(url, ["uname", "-a"])}
          action={
            <button class="primary" onClick={onRunExample}>
              Run “uname -a”
            </button>
          }
        >
          {PURPOSES.runs}
        </Empty>
      ) : shown.length === 0 ? (
        <p class="list-note">
          No run matches. Search looks in commands, ids and pids; ↵ in outputs, too.
        </p>
      ) : (
        <Rows
          label="Runs"
          items={shown}
          idOf={idOf}
          rowHeight={ROW}
          current={current ?? arrangement.active}
          onCurrent={setCurrent}
          onKey={(event, item) => {
            if (event.key === "Delete" && hasEnded(item)) actions.remove(item);
            return undefined;
          }}
        >
          {(item, isCurrent) => (
            <RunRow
              item={item}
              isLive={isLive}
              isOpen={open.has(item.id)}
              isShown={item.id === arrangement.active || item.id === arrangement.beside}
              isCurrent={isCurrent}
              stopping={stops.get(item.id)}
              policy={policy}
              place={progress?.found.get(item.id)}
              now={now}
              actions={actions}
            />
          )}
        </Rows>
      )}
      <div class="list-foot">
        <span role="status">{countText(shown?.length, kept, isLive)}</span>
        <button
          class="quiet small"
          disabled={ended.length === 0}
          onClick={() => {
            runs.removals.remove(countOf(ended.length), ended.map(idOf));
          }}
        >
          <Icon of={ListX} size={14} />
          Clear ended
        </button>
      </div>
    </section>
  );
}

function idOf({ id }: ExecItem): string {
  return id;
}

function countText(
  shown: number | undefined,
  all: readonly ExecItem[] | undefined,
  isLive: boolean,
): string {
  if (shown === undefined || all === undefined) return "";
  const running = all.filter(isRunning).length;
  const count = shown === all.length ? countOf(all.length) : `${shown} of ${countOf(all.length)}`;
  return running === 0 ? count : `${count}, ${running} ${isLive ? "running" : "unknown"}`;
}

function countOf(runs: number): string {
  return runs === 1 ? "1 run" : `${runs} runs`;
}

function OutputSearch({
  progress,
  onBegin,
  onEnd,
}: {
  progress: SearchProgress | undefined;
  onBegin: () => void;
  onEnd: () => void;
}) {
  if (progress === undefined) {
    return (
      <button class="small" onClick={onBegin}>
        <Icon of={Search} size={14} />
        Search the outputs, too
      </button>
    );
  }
  const { done, total, found, isOver } = progress;
  return (
    <p class="output-search" role="status">
      <span>
        {isOver
          ? `${found.size} of ${total} outputs have it near their end`
          : `Searching outputs: ${done} of ${total}, found in ${found.size}`}
      </span>
      <button class="quiet square" aria-label="End the search in outputs" onClick={onEnd}>
        <Icon of={X} size={14} />
      </button>
    </p>
  );
}

/** The search through outputs that is under way, if there is one. */
function useOutputSearch(runs: Runs) {
  const [progress, setProgress] = useState<SearchProgress>();
  const searching = useRef<AbortController>(undefined);
  const end = () => {
    searching.current?.abort();
    searching.current = undefined;
    setProgress(undefined);
  };
  const begin = (items: readonly ExecItem[], text: string) => {
    end();
    const controller = new AbortController();
    searching.current = controller;
    void searchOutputs(runs.execs, items, text, controller.signal, setProgress);
  };
  return { progress, begin, end };
}
