import { Layers, PanelRight } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Background, BackgroundProcess } from "sandpipe";
import { useNow } from "../clock.js";
import type { Connection } from "../connection/state.js";
import { Empty } from "../design/empty.js";
import { Rows } from "../design/rows.js";
import { PURPOSES } from "../frame/descriptions.js";
import { NARROW, useMedia } from "../media.js";
import { Failure } from "../message.js";
import { lineAt } from "../runs/command-line.js";
import { ProcessRow } from "./row.js";
import { SpawnForm } from "./spawn-form.js";
import { TailPanel } from "./tail-panel.js";

/** How often the list is asked for while it is looked at, in milliseconds: each time runs a script. */
const REFRESH = 3_000;

/** The height of a row, in pixels. */
const ROW = 56;

/** Processes that outlive whoever started them. */
export function BackgroundPage({
  background,
  url,
  connection,
  isShown,
}: {
  background: Background;
  /** The agent's. */
  url: string;
  connection: Connection;
  /** Nothing is asked for while another page is looked at. */
  isShown: boolean;
}) {
  const { processes, error: listError, refresh } = useProcesses(background, isShown);
  const [opened, setOpened] = useState<string>();
  const [current, setCurrent] = useState<string>();
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<unknown>();
  const isNarrow = useMedia(NARROW);
  const isLive = connection.state === "live";
  const now = useNow();

  async function act(id: string, action: () => Promise<unknown>) {
    setBusy((before) => new Set([...before, id]));
    setError(undefined);
    try {
      await action();
    } catch (error) {
      setError(error);
    }
    await refresh();
    setBusy((before) => new Set([...before].filter((other) => other !== id)));
  }

  const process = processes?.find(({ id }) => id === opened);
  const isOutputView = isNarrow && process !== undefined;
  return (
    <div class="runs-page">
      {!isOutputView && (
        <SpawnForm
          background={background}
          onSpawn={({ id }) => {
            setOpened(id);
            void refresh();
          }}
        />
      )}
      <div class="columns">
        {!isOutputView && (
          <section class="list" aria-label="Processes">
            <Failure error={error ?? listError} />
            {processes === undefined ? (
              <p class="list-note">{listError === undefined ? "Waiting for the agent…" : ""}</p>
            ) : processes.length === 0 ? (
              <Empty
                icon={Layers}
                title="No processes yet"
                command={lineAt(url, ["npm", "run", "dev"], ["bg", "start"])}
              >
                {PURPOSES.background}
              </Empty>
            ) : (
              <Rows
                label="Processes"
                items={processes}
                idOf={({ id }) => id}
                rowHeight={ROW}
                current={current ?? opened}
                onCurrent={setCurrent}
              >
                {(process, isCurrent) => (
                  <ProcessRow
                    process={process}
                    isLive={isLive && listError === undefined}
                    isShown={process.id === opened}
                    isCurrent={isCurrent}
                    isBusy={busy.has(process.id)}
                    now={now}
                    onOpen={() => {
                      setOpened(process.id);
                    }}
                    onTerminate={() => void act(process.id, () => background.terminate(process.id))}
                    onRemove={() => void act(process.id, () => background.remove(process.id))}
                  />
                )}
              </Rows>
            )}
          </section>
        )}
        {(!isNarrow || isOutputView) && (
          <div class="outputs">
            {process === undefined ? (
              <Empty icon={PanelRight} title="No process is selected">
                Start a process, or choose one of the list, to see its output here.
              </Empty>
            ) : (
              isShown && (
                <TailPanel
                  key={process.id}
                  background={background}
                  process={process}
                  isLive={isLive}
                  onClose={() => {
                    setOpened(undefined);
                  }}
                />
              )
            )}
          </div>
        )}
      </div>
    </div>
  );
}

function useProcesses(background: Background, shown: boolean) {
  const [processes, setProcesses] = useState<readonly BackgroundProcess[]>();
  const [error, setError] = useState<unknown>();
  /** Which request is the newest: an older one's answer is not to come after its. */
  const newest = useRef(0);

  async function refresh() {
    const request = ++newest.current;
    try {
      const processes = await background.list();
      if (request !== newest.current) return;
      setProcesses(processes);
      setError(undefined);
    } catch (error) {
      if (request === newest.current) setError(error);
    }
  }

  useEffect(() => {
    if (!shown) return;
    let timer: ReturnType<typeof setTimeout>;
    let left = false;
    const goOn = async () => {
      if (document.visibilityState === "visible") await refresh();
      if (!left) timer = setTimeout(() => void goOn(), REFRESH);
    };
    void goOn();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [background, shown]);

  return { processes, error, refresh };
}
