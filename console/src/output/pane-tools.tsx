import { Copy, Download, RotateCw, Search, Skull, Square } from "lucide";
import type { Ref } from "preact";
import type { ExecItem } from "sandpipe";
import { Icon } from "../design/icon.js";
import { Menu } from "../design/menu.js";
import { lineOf } from "../runs/command-line.js";
import { actionsOf, type RunActions } from "../runs/row.js";
import { isRunning } from "../runs/status.js";
import { stopButton, type Stopping } from "../runs/stopping.js";

/** The buttons of a pane. */
export function PaneTools({
  place,
  item,
  stopping,
  isSearching,
  onSearch,
  onCopy,
  onDownload,
  actions,
}: {
  place: Ref<HTMLDivElement>;
  item: ExecItem;
  stopping: Stopping | undefined;
  isSearching: boolean;
  onSearch: () => void;
  onCopy: () => void;
  onDownload: () => void;
  actions: RunActions;
}) {
  const stop = stopButton(stopping);
  const name = lineOf(item);
  return (
    <div class="pane-tools" ref={place}>
      {isRunning(item) ? (
        <button
          class="danger"
          disabled={stop.disabled}
          aria-label={`${stop.name}: ${name}`}
          onClick={() => {
            actions.stop(item);
          }}
        >
          <Icon of={stop.name === "Stop" ? Square : Skull} size={14} />
          {stop.name}
        </button>
      ) : (
        <button
          aria-label={`Run again: ${name}`}
          onClick={() => {
            actions.again(item);
          }}
        >
          <Icon of={RotateCw} size={14} />
          <span class="wide-only">Run again</span>
        </button>
      )}
      <button
        class="quiet square"
        data-find
        aria-label="Find"
        title="Find in this output"
        aria-pressed={isSearching}
        onClick={onSearch}
      >
        <Icon of={Search} />
      </button>
      <button class="quiet square" aria-label="Copy" title="Copy all of it" onClick={onCopy}>
        <Icon of={Copy} />
      </button>
      <button
        class="quiet square"
        aria-label="Download"
        title="Download, byte for byte"
        onClick={onDownload}
      >
        <Icon of={Download} />
      </button>
      <Menu label={`More actions: ${name}`} items={() => actionsOf(item, stopping, actions)} />
    </div>
  );
}
