import type { BackgroundProcess, BackgroundStatus } from "sandpipe";
import { ageText } from "../execs/age.js";
import { ListHead } from "../list-head.js";

/** How a status is to look; as that of an exec. */
function look({ status, exitCode }: BackgroundProcess): "running" | "good" | "bad" {
  if (status === "running") return "running";
  return status === "exited" && exitCode === 0 ? "good" : "bad";
}

const NAMES: Record<BackgroundStatus, string> = {
  running: "RUNNING",
  exited: "EXITED",
  killed: "KILLED",
  failed: "FAILED",
};

/** The processes, a row each. */
export function BackgroundTable({
  processes,
  busy,
  opened,
  onOpen,
  onTerminate,
  onRemove,
}: {
  processes: readonly BackgroundProcess[];
  /** Those with something under way. */
  busy: ReadonlySet<string>;
  opened: string | undefined;
  onOpen: (process: BackgroundProcess) => void;
  onTerminate: (process: BackgroundProcess) => void;
  onRemove: (process: BackgroundProcess) => void;
}) {
  return (
    <table class="list">
      <ListHead what="Name or script" />
      <tbody>
        {processes.map((process) => {
          const name = process.name ?? process.script;
          const [act, label] =
            process.status === "running" ? [onTerminate, "Terminate"] : [onRemove, "Remove"];
          return (
            <tr key={process.id} class={process.id === opened ? "opened" : ""}>
              <td>
                <span class={`status ${look(process)}`}>{NAMES[process.status]}</span>
              </td>
              <td class="command">
                <button
                  class={process.name === undefined ? "code" : ""}
                  title={process.script}
                  aria-pressed={process.id === opened}
                  onClick={() => {
                    onOpen(process);
                  }}
                >
                  {name}
                </button>
              </td>
              <td class="number exit-code">{process.exitCode ?? "–"}</td>
              <td class="number">
                <time dateTime={process.startedAt} title={new Date(process.startedAt).toString()}>
                  {ageText({ at: Date.parse(process.startedAt), orOlder: false }, Date.now())}
                </time>
              </td>
              <td class="number">{process.pid}</td>
              <td class="actions">
                <button
                  class={label === "Terminate" ? "danger" : ""}
                  disabled={busy.has(process.id)}
                  aria-label={`${label}: ${name}`}
                  onClick={() => {
                    act(process);
                  }}
                >
                  {label}
                </button>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
