import { Square, Trash2 } from "lucide";
import type { BackgroundProcess } from "sandpipe";
import { Icon } from "../design/icon.js";
import { StateBadge } from "../runs/state-badge.js";
import { ageText, durationText } from "../runs/time-text.js";
import { stateOf } from "./state.js";

/** A process in the list: its name or script, and below what became of it. */
export function ProcessRow({
  process,
  isLive,
  isShown,
  isCurrent,
  isBusy,
  now,
  onOpen,
  onTerminate,
  onRemove,
}: {
  process: BackgroundProcess;
  isLive: boolean;
  isShown: boolean;
  isCurrent: boolean;
  /** Something is under way with it. */
  isBusy: boolean;
  now: number;
  onOpen: () => void;
  onTerminate: () => void;
  onRemove: () => void;
}) {
  const { name, script, status, startedAt, exitedAt, exitCode } = process;
  const title = name ?? script;
  const isRunning = status === "running";
  const started = Date.parse(startedAt);
  const took = exitedAt === undefined ? undefined : Date.parse(exitedAt) - started;
  const facts = [
    name === undefined ? "" : script.split("\n", 1)[0],
    status === "killed" && exitCode !== undefined ? `exit code ${exitCode}` : "",
    took === undefined ? "" : `took ${durationText(took)}`,
    ageText(started, now),
  ].filter((fact) => fact !== "");
  return (
    <div class={`run-row${isShown ? " shown" : ""}`} data-process={process.id}>
      <button
        class="run-main"
        data-main
        tabIndex={isCurrent ? 0 : -1}
        aria-current={isShown ? "true" : undefined}
        title={script}
        onClick={onOpen}
      >
        <span class={name === undefined ? "run-command" : "run-command named"}>{title}</span>
        <span class="run-facts">
          <StateBadge state={stateOf(process, isLive)} />
          <span class="run-more">{facts.join(" · ")}</span>
        </span>
      </button>
      <span class="run-actions">
        <button
          class={`quiet small${isRunning ? " danger" : ""}`}
          disabled={isBusy}
          tabIndex={isCurrent ? undefined : -1}
          aria-label={`${isRunning ? "Terminate" : "Remove"}: ${title}`}
          title={isRunning ? "Terminate" : "Remove"}
          onClick={isRunning ? onTerminate : onRemove}
        >
          <Icon of={isRunning ? Square : Trash2} size={14} />
        </button>
      </span>
    </div>
  );
}
