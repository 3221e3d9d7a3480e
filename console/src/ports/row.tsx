import type { PortInfo } from "sandpipe";
import { reachOf, socketText } from "./reach.js";

/** A port in the list: its number, and below who listens. */
export function PortRow({
  port,
  run,
  isShown,
  isCurrent,
  onOpen,
}: {
  port: PortInfo;
  /** The command line of the run that it belongs to. */
  run: string | undefined;
  isShown: boolean;
  isCurrent: boolean;
  onOpen: () => void;
}) {
  const facts = [
    port.command ?? "a process that the agent can’t see",
    reachOf(port.address) === "loopback" ? "" : port.address,
    run ?? "",
  ].filter((fact) => fact !== "");
  return (
    <div class={`run-row${isShown ? " shown" : ""}`} data-port={socketText(port)}>
      <button
        class="run-main"
        data-main
        tabIndex={isCurrent ? 0 : -1}
        aria-current={isShown ? "true" : undefined}
        onClick={onOpen}
      >
        <span class="run-command">{port.port}</span>
        <span class="run-facts">
          <span class="run-more">{facts.join(" · ")}</span>
        </span>
      </button>
    </div>
  );
}
