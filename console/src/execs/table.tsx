import type { ExecItem } from "sandpipe";
import { ListHead } from "../list-head.js";
import { ageText, type FirstSeen } from "./age.js";
import { CommandText } from "./command-text.js";
import { lineOf } from "./command-line.js";
import { exitCodeOf, hasEnded, isRunning, look } from "./status.js";
import { StopButton } from "./stop-button.js";
import type { Stops } from "./stopping.js";

/** The execs, a row each. The arrow keys go from command to command. */
export function ExecTable({
  items,
  firstSeen,
  now,
  opened,
  stops,
  onToggle,
  onRemove,
}: {
  items: readonly ExecItem[];
  firstSeen: ReadonlyMap<string, FirstSeen>;
  now: number;
  opened: ReadonlySet<string>;
  stops: Stops;
  onToggle: (item: ExecItem) => void;
  onRemove: (item: ExecItem) => void;
}) {
  return (
    <table class="list">
      <ListHead what="Command" />
      <tbody onKeyDown={moveByArrow}>
        {items.map((item) => {
          const first = firstSeen.get(item.id);
          return (
            <tr key={item.id} class={opened.has(item.id) ? "opened" : ""} data-exec={item.id}>
              <td>
                <span class={`status ${look(item)}`}>{item.status}</span>
              </td>
              <td class="command">
                <button
                  class="code"
                  title={lineOf(item)}
                  aria-pressed={opened.has(item.id)}
                  onClick={() => {
                    onToggle(item);
                  }}
                >
                  <CommandText item={item} />
                </button>
              </td>
              <td class="number exit-code">{exitCodeOf(item) ?? "–"}</td>
              <td class="number age">{first === undefined ? "" : ageText(first, now)}</td>
              <td class="number pid">{item.pid === 0 ? "–" : item.pid}</td>
              <td class="actions">
                {isRunning(item) && <StopButton item={item} stops={stops} />}
                {hasEnded(item) && (
                  <button
                    aria-label={`Remove: ${lineOf(item)}`}
                    onClick={() => {
                      onRemove(item);
                    }}
                  >
                    Remove
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function moveByArrow(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const body = event.currentTarget as HTMLElement;
  const commands = [...body.querySelectorAll<HTMLButtonElement>("td.command button")];
  const index = commands.findIndex((command) => command === document.activeElement);
  if (step === 0 || index < 0) return;
  event.preventDefault();
  commands[index + step]?.focus();
}
