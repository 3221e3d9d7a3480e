import { useEffect, useRef, useState } from "preact/hooks";
import type { Background, BackgroundProcess } from "sandpipe";
import { Failure } from "../message.js";
import { SpawnForm } from "./spawn-form.js";
import { BackgroundTable } from "./table.js";
import { TailPanel } from "./tail-panel.js";

/** How often the list is asked for while it is looked at, in milliseconds: each time runs a script. */
const REFRESH = 3_000;

/** Processes that outlive whoever started them. */
export function BackgroundPage({
  background,
  shown,
}: {
  background: Background;
  /** Nothing is asked for while another page is looked at. */
  shown: boolean;
}) {
  const { processes, error: listError, refresh } = useProcesses(background, shown);
  const [opened, setOpened] = useState<string>();
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<unknown>();

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
  return (
    <div class="execs">
      <div class="left">
        <h1>Background</h1>
        <SpawnForm
          background={background}
          onSpawn={({ id }) => {
            setOpened(id);
            void refresh();
          }}
        />
        <section class="card" aria-label="List of processes">
          <Failure error={error ?? listError} />
          {processes === undefined ? (
            <p class="empty">Waiting for the agent…</p>
          ) : processes.length === 0 ? (
            <p class="empty">No processes yet.</p>
          ) : (
            <div class="scroller">
              <BackgroundTable
                processes={processes}
                busy={busy}
                opened={opened}
                onOpen={({ id }) => {
                  setOpened(id === opened ? undefined : id);
                }}
                onTerminate={({ id }) => void act(id, () => background.terminate(id))}
                onRemove={({ id }) => void act(id, () => background.remove(id))}
              />
            </div>
          )}
        </section>
      </div>
      <div class="outputs">
        {process === undefined ? (
          <p class="empty">Start a process, or choose one of the list, to see its output here.</p>
        ) : (
          <TailPanel
            key={process.id}
            background={background}
            process={process}
            onClose={() => {
              setOpened(undefined);
            }}
          />
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
