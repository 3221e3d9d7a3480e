import { useEffect, useMemo, useState } from "preact/hooks";
import type { ExecItem } from "sandpipe";
import { Divider } from "../design/divider.js";
import { Toast } from "../design/toast.js";
import { NARROW, useMedia } from "../media.js";
import { Failure } from "../message.js";
import { OutputArea } from "../output/area.js";
import { withBeside, withOpen, withoutOpen } from "../output/arrangement.js";
import type { Outputs } from "../output/outputs.js";
import { hashOf, routeOf } from "../route.js";
import { useStore } from "../store.js";
import { keep, kept } from "../tab-storage.js";
import { goTo, settleAt } from "../use-route.js";
import { lineOf, shortLineOf } from "./command-line.js";
import { RunList } from "./list.js";
import type { RunActions } from "./row.js";
import { RunBar } from "./run-bar.js";
import type { Runs } from "./runs.js";

/** The runs of the agent, and the outputs that are open. */
export function RunsPage({
  runs,
  outputs,
  url,
  id,
  isShown,
}: {
  runs: Runs;
  outputs: Outputs;
  /** The agent's. */
  url: string;
  /** The run that the address names. */
  id: string | undefined;
  isShown: boolean;
}) {
  const items = useStore(runs.list.items);
  const hidden = useStore(runs.removals.hidden);
  const pending = useStore(runs.removals.pending);
  const arrangement = useStore(outputs.arrangement);
  const isNarrow = useMedia(NARROW);
  const [width, setWidth] = useState(() => Number(kept("list-width") ?? 30));
  const [error, setError] = useState<unknown>();
  const byId = useMemo(
    () => items && new Map(items.map((item) => [item.id, item] as const)),
    [items],
  );

  // The address says what is in sight, and what is in sight is in the address.
  useEffect(() => {
    if (isShown && id !== undefined) outputs.change((before) => withOpen(before, id));
  }, [isShown, id]);
  const { active, beside } = arrangement;
  useEffect(() => {
    if (!isShown || id === active || id === beside) return;
    // The reader may have gone elsewhere since this was drawn.
    const addressed = routeOf(location.hash);
    if (addressed.page !== "runs" || addressed.id !== id) return;
    const { active: now } = outputs.arrangement.value;
    // In a narrow window the list is a view of its own.
    if (now !== undefined && id === undefined && isNarrow) return;
    settleAt({ page: "runs", ...(now === undefined ? {} : { id: now }) });
  }, [isShown, id, active, beside, isNarrow]);

  const open = ({ id }: ExecItem) => {
    goTo({ page: "runs", id });
    outputs.change((before) => withOpen(before, id));
  };
  const actions: RunActions = {
    open,
    openBeside: isNarrow
      ? undefined
      : ({ id }) => {
          outputs.change((before) =>
            before.active === undefined ? withOpen(before, id) : withBeside(before, id),
          );
        },
    stop: ({ id }) => {
      runs.stops.press(id);
    },
    again: (item) => {
      setError(undefined);
      runs.again(item).then(open, setError);
    },
    copyLink: ({ id }) => {
      const address = new URL(hashOf({ page: "runs", id }), location.href).href;
      void navigator.clipboard.writeText(address).catch(setError);
    },
    copyCommand: (item) => {
      void navigator.clipboard.writeText(lineOf(item)).catch(setError);
    },
    remove: (item) => {
      runs.removals.remove(`“${shortLineOf(item)}”`, [item.id]);
    },
  };

  useEffect(() => {
    outputs.change((before) => withoutOpen(before, ...hidden));
  }, [hidden]);

  const isOutputView = isNarrow && id !== undefined;
  return (
    <div class="runs-page" data-view={isOutputView ? "output" : "list"}>
      {!isOutputView && <RunBar runs={runs} onRun={open} />}
      <Failure error={error} />
      <div class="columns" style={{ "--list-width": `${width}%` }}>
        {!isOutputView && (
          <RunList
            runs={runs}
            url={url}
            arrangement={arrangement}
            actions={actions}
            onRunExample={() => {
              const request = { command: "uname", args: ["-a"], interactive: false };
              runs.create(request).then(open, setError);
            }}
          />
        )}
        {!isNarrow && (
          <Divider
            label="Divide list and outputs"
            value={width}
            min={20}
            max={60}
            onChange={(value) => {
              keep("list-width", value);
              setWidth(value);
            }}
          />
        )}
        {(!isNarrow || isOutputView) && (
          <OutputArea
            runs={runs}
            outputs={outputs}
            byId={byId}
            isShown={isShown}
            isNarrow={isNarrow}
            actions={actions}
            onBack={() => {
              goTo({ page: "runs" });
            }}
          />
        )}
      </div>
      {pending !== undefined && (
        <Toast>
          <span>Removed {pending.name}</span>
          <button
            class="small"
            onClick={() => {
              runs.removals.undo();
            }}
          >
            Undo
          </button>
        </Toast>
      )}
    </div>
  );
}
