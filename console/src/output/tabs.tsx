import { Columns2, X } from "lucide";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ExecItem } from "sandpipe";
import { Icon } from "../design/icon.js";
import { shortLineOf } from "../runs/command-line.js";
import { stateOf, wordOf } from "../runs/state.js";
import { StateIcon } from "../runs/state-badge.js";
import type { Stopping } from "../runs/stopping.js";
import type { Arrangement } from "./arrangement.js";
import "./tabs.css";

/** The open outputs. ← and → go from tab to tab, Delete closes one. */
export function Tabs({
  arrangement,
  itemOf,
  isLive,
  stops,
  onSelect,
  onClose,
  onSplit,
  onCloseAll,
}: {
  arrangement: Arrangement;
  itemOf: (id: string) => ExecItem | undefined;
  isLive: boolean;
  stops: ReadonlyMap<string, Stopping>;
  onSelect: (id: string) => void;
  onClose: (id: string) => void;
  onSplit: () => void;
  onCloseAll: () => void;
}) {
  const { open, active, beside } = arrangement;
  const strip = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    strip.current
      ?.querySelector("[aria-selected=true]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [active]);

  return (
    <div class="tabs">
      <div
        ref={strip}
        class="tab-strip"
        role="tablist"
        aria-label="Open outputs"
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          const index = active === undefined ? -1 : open.indexOf(active);
          const next = step === undefined ? undefined : open[index + step];
          if (next !== undefined) {
            event.preventDefault();
            onSelect(next);
            focusTab(strip.current, next);
          } else if (event.key === "Delete" && active !== undefined) onClose(active);
        }}
      >
        {open.map((id) => {
          const item = itemOf(id);
          const name = item === undefined ? id.slice(0, 8) : shortLineOf(item);
          const state = item === undefined ? undefined : stateOf(item, isLive, stops.get(id));
          const isInSight = id === active || id === beside;
          return (
            <button
              key={id}
              class={`tab${id === active ? " active" : ""}${id === beside ? " beside" : ""}`}
              role="tab"
              data-tab={id}
              aria-selected={isInSight}
              aria-controls={isInSight ? `pane-${id}` : undefined}
              tabIndex={id === active ? 0 : -1}
              title={name}
              onClick={() => {
                onSelect(id);
              }}
              onAuxClick={(event) => {
                if (event.button === 1) onClose(id);
              }}
            >
              {state !== undefined && (
                <>
                  <StateIcon state={state} />
                  <span class="unseen">{wordOf(state)}: </span>
                </>
              )}
              <span class="tab-name">{name}</span>
              {/* For the pointer: a tab has no controls of its own, and Delete closes it. */}
              <span
                class="tab-close"
                aria-hidden="true"
                title="Close (Delete)"
                onClick={(event) => {
                  event.stopPropagation();
                  onClose(id);
                }}
              >
                <Icon of={X} size={13} />
              </span>
            </button>
          );
        })}
      </div>
      <button
        class="quiet square"
        aria-label={beside === undefined ? "Show two outputs beside each other" : "Show one output"}
        aria-pressed={beside !== undefined}
        title="Split"
        disabled={open.length < 2}
        onClick={onSplit}
      >
        <Icon of={Columns2} />
      </button>
      <button
        class="quiet square"
        aria-label="Close all tabs"
        title="Close all"
        onClick={onCloseAll}
      >
        <Icon of={X} />
      </button>
    </div>
  );
}

function focusTab(strip: HTMLElement | null, id: string): void {
  strip?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(id)}"]`)?.focus();
}
