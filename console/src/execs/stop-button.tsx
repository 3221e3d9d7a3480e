import type { ExecItem } from "sandpipe";
import { lineOf } from "./command-line.js";
import { stopButton, type Stops } from "./stopping.js";

export function StopButton({ item, stops }: { item: ExecItem; stops: Stops }) {
  const { name, disabled } = stopButton(stops.stoppingOf(item.id));
  return (
    <button
      class="danger"
      disabled={disabled}
      aria-label={`${name}: ${lineOf(item)}`}
      onClick={() => {
        stops.press(item.id);
      }}
    >
      {name}
    </button>
  );
}
