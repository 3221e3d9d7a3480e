import { Columns2, Copy, Link, RotateCw, Skull, Square, Trash2 } from "lucide";
import type { ExecItem } from "sandpipe";
import { Icon } from "../design/icon.js";
import { Menu, type MenuItem } from "../design/menu.js";
import { lineOf } from "./command-line.js";
import { CommandText } from "./command-text.js";
import { detailOf, stateOf } from "./state.js";
import { StateBadge } from "./state-badge.js";
import { durationOf, hasEnded, isRunning } from "./status.js";
import { stopButton, type Stopping } from "./stopping.js";
import { ageText, durationText, elapsedText } from "./time-text.js";

/** What can be done with a run. */
export interface RunActions {
  open: (item: ExecItem) => void;
  /** Undefined where there is room for one output alone. */
  openBeside: ((item: ExecItem) => void) | undefined;
  stop: (item: ExecItem) => void;
  again: (item: ExecItem) => void;
  copyLink: (item: ExecItem) => void;
  copyCommand: (item: ExecItem) => void;
  remove: (item: ExecItem) => void;
}

/** The actions of a run, for its menu. */
export function actionsOf(
  item: ExecItem,
  stopping: Stopping | undefined,
  actions: RunActions,
): readonly MenuItem[] {
  const stop = stopButton(stopping);
  const all: (MenuItem & { if?: boolean })[] = [
    {
      label: stop.name,
      icon: stop.name === "Stop" ? Square : Skull,
      if: isRunning(item),
      isDanger: true,
      isDisabled: stop.disabled,
      onSelect: () => {
        actions.stop(item);
      },
    },
    {
      label: "Run again",
      icon: RotateCw,
      onSelect: () => {
        actions.again(item);
      },
    },
    {
      label: "Open beside",
      icon: Columns2,
      if: actions.openBeside !== undefined,
      onSelect: () => {
        actions.openBeside?.(item);
      },
    },
    {
      label: "Copy link",
      icon: Link,
      onSelect: () => {
        actions.copyLink(item);
      },
    },
    {
      label: "Copy command",
      icon: Copy,
      onSelect: () => {
        actions.copyCommand(item);
      },
    },
    {
      label: "Remove",
      icon: Trash2,
      if: hasEnded(item),
      isDanger: true,
      onSelect: () => {
        actions.remove(item);
      },
    },
  ];
  return all.filter((action) => action.if !== false);
}

/** The end of a path: the directory, and the one that it is in. */
function shortPath(path: string): string {
  const parts = path.split("/");
  return parts.length <= 3 ? path : `…/${parts.slice(-2).join("/")}`;
}

/** A run in the list: its command, and below what became of it. */
export function RunRow({
  item,
  isLive,
  isOpen,
  isShown,
  isCurrent,
  stopping,
  policy,
  place,
  now,
  actions,
}: {
  item: ExecItem;
  isLive: boolean;
  /** It has a tab. */
  isOpen: boolean;
  /** Its output is in sight. */
  isShown: boolean;
  /** Tab goes to it. */
  isCurrent: boolean;
  stopping: Stopping | undefined;
  /** The agent's. */
  policy: string | undefined;
  /** The line of its output that a search has found. */
  place: string | undefined;
  now: number;
  actions: RunActions;
}) {
  const state = stateOf(item, isLive, stopping);
  const duration = durationOf(item, now);
  const name = lineOf(item);
  const stop = stopButton(stopping);
  const time = isRunning(item) && duration !== undefined && isLive ? elapsedText(duration) : "";
  const facts = [
    state.kind === "stopping" || state.kind === "stopped" ? detailOf(state, now) : "",
    // What all have the page's head says.
    item.policy === policy ? "" : (item.policy ?? ""),
    hasEnded(item) && duration !== undefined ? `took ${durationText(duration)}` : "",
    item.createdAt === undefined ? "" : ageText(Date.parse(item.createdAt), now),
    // It may be long: what has no room is cut at the end.
    item.cwd === undefined ? "" : shortPath(item.cwd),
  ].filter((fact) => fact !== "");
  return (
    <div class={`run-row${isShown ? " shown" : ""}${isOpen ? " opened" : ""}`} data-run={item.id}>
      <button
        class="run-main"
        data-main
        tabIndex={isCurrent ? 0 : -1}
        aria-current={isShown ? "true" : undefined}
        title={name}
        onClick={() => {
          actions.open(item);
        }}
      >
        <span class="run-command">
          <CommandText item={item} />
        </span>
        <span class="run-facts">
          <StateBadge state={state} more={state.kind === "running" ? time : ""} />
          {place === undefined ? (
            <span class="run-more">{facts.join(" · ")}</span>
          ) : (
            <span class="run-more run-place">{place}</span>
          )}
        </span>
      </button>
      <span class="run-actions">
        {isRunning(item) && (
          <button
            class={`small danger${stop.name === "Stop" ? " quiet" : ""}`}
            tabIndex={isCurrent ? undefined : -1}
            disabled={stop.disabled}
            aria-label={`${stop.name}: ${name}`}
            title={stop.name}
            onClick={() => {
              actions.stop(item);
            }}
          >
            {stop.name === "Stop" ? <Icon of={Square} size={14} /> : stop.name}
          </button>
        )}
        <Menu
          label={`Actions: ${name}`}
          isReachable={isCurrent}
          items={() => actionsOf(item, stopping, actions)}
        />
      </span>
    </div>
  );
}
