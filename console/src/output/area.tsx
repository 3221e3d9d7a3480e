import { FileQuestionMark, PanelRight } from "lucide";
import { useState } from "preact/hooks";
import type { ExecItem } from "sandpipe";
import { Divider } from "../design/divider.js";
import { Empty } from "../design/empty.js";
import type { RunActions } from "../runs/row.js";
import type { Runs } from "../runs/runs.js";
import { useStore } from "../store.js";
import { keep, kept } from "../tab-storage.js";
import { withBeside, withoutBeside, withoutOpen, type Arrangement } from "./arrangement.js";
import type { Outputs } from "./outputs.js";
import { Pane } from "./pane.js";
import { Tabs } from "./tabs.js";
import "./area.css";

/** The open outputs: their tabs, and one or two of them. */
export function OutputArea({
  runs,
  outputs,
  byId,
  isShown,
  isNarrow,
  actions,
  onBack,
}: {
  runs: Runs;
  outputs: Outputs;
  /** The runs that there are; undefined while that is not known. */
  byId: ReadonlyMap<string, ExecItem> | undefined;
  /** Nothing is read while another page is looked at. */
  isShown: boolean;
  isNarrow: boolean;
  actions: RunActions;
  onBack: () => void;
}) {
  const arrangement = useStore(outputs.arrangement);
  const connection = useStore(runs.list.connection);
  const stops = useStore(runs.stops.store);
  const [split, setSplit] = useState(() => Number(kept("split") ?? 50));
  const { open, active, beside } = arrangement;

  const close = (id: string) => {
    outputs.change((before) => withoutOpen(before, id));
  };
  const pane = (id: string) => {
    const item = byId?.get(id);
    if (item === undefined) {
      return <NoRun key={id} id={id} isKnown={byId !== undefined} onClose={close} />;
    }
    return (
      <Pane
        key={id}
        execs={runs.execs}
        item={item}
        output={outputs.of(item)}
        connection={connection}
        stopping={stops.get(id)}
        actions={actions}
        onBack={onBack}
      />
    );
  };
  if (active === undefined) {
    return (
      <div class="outputs">
        <Empty icon={PanelRight} title="No output is open">
          Choose a run of the list, or run a command. Several outputs are tabs here, and two can be
          beside each other.
        </Empty>
      </div>
    );
  }
  const second = isNarrow ? undefined : beside;
  return (
    <div class="outputs">
      {!isNarrow && (
        <Tabs
          arrangement={arrangement}
          itemOf={(id) => byId?.get(id)}
          isLive={connection.state === "live"}
          stops={stops}
          onSelect={(id) => {
            const item = byId?.get(id);
            if (item !== undefined && id !== beside) actions.open(item);
            if (item === undefined) outputs.change((before) => ({ ...before, active: id }));
          }}
          onClose={close}
          onSplit={() => {
            outputs.change((before) =>
              before.beside === undefined
                ? withBeside(before, lastOther(before))
                : withoutBeside(before),
            );
          }}
          onCloseAll={() => {
            outputs.change(() => ({ open: [] }));
          }}
        />
      )}
      <div
        class={`panes${second === undefined ? "" : " split"}`}
        style={{ "--split": `${split}%` }}
        data-open={open.length}
      >
        {isShown && pane(active)}
        {isShown && second !== undefined && (
          <>
            <Divider
              label="Divide the outputs"
              value={split}
              min={20}
              max={80}
              onChange={(value) => {
                keep("split", value);
                setSplit(value);
              }}
            />
            {pane(second)}
          </>
        )}
      </div>
    </div>
  );
}

/** The tab after the active one, or the one before it. */
function lastOther({ open, active = "" }: Arrangement): string {
  const index = open.indexOf(active);
  return open[index + 1] ?? open[index - 1] ?? active;
}

function NoRun({
  id,
  isKnown,
  onClose,
}: {
  id: string;
  isKnown: boolean;
  onClose: (id: string) => void;
}) {
  return (
    <section class="pane" role="tabpanel" id={`pane-${id}`} aria-label="Output">
      {isKnown ? (
        <Empty
          icon={FileQuestionMark}
          title="This run is not there"
          action={
            <button
              onClick={() => {
                onClose(id);
              }}
            >
              Close the tab
            </button>
          }
        >
          The agent has no run <code>{id}</code>: it was removed, or the link is to another agent.
        </Empty>
      ) : (
        <p class="list-note">Waiting for the agent…</p>
      )}
    </section>
  );
}
