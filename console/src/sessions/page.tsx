import { MessageSquareCode } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { Session, Sessions } from "sandpipe";
import type { Connection } from "../connection/state.js";
import { Empty } from "../design/empty.js";
import { PURPOSES } from "../frame/descriptions.js";
import { CreateForm } from "./create-form.js";
import { SessionPanel } from "./session-panel.js";
import "./sessions.css";

interface Open {
  number: number;
  name: string;
  session: Session;
}

/** The shells that this page has started. They end when they are closed, or at the sign-out. */
export function SessionsPage({
  sessions,
  connection,
}: {
  sessions: Sessions;
  connection: Connection;
}) {
  const [open, setOpen] = useState<readonly Open[]>([]);
  const [started, setStarted] = useState(0);
  const [selected, setSelected] = useState(0);

  useEffect(() => {
    if (open.length === 0) return;
    // The browser asks whether to leave: the shells would be left behind.
    const ask = (event: BeforeUnloadEvent) => {
      event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => {
      removeEventListener("beforeunload", ask);
    };
  }, [open]);

  const shown = open.find(({ number }) => number === selected) ?? open.at(-1);
  return (
    <div class="runs-page">
      <CreateForm
        sessions={sessions}
        onCreate={(session, shell) => {
          const number = started + 1;
          setStarted(number);
          setSelected(number);
          setOpen((before) => [...before, { number, name: `${number}: ${shell}`, session }]);
        }}
      />
      {open.length === 0 ? (
        <Empty icon={MessageSquareCode} title="No session is open">
          {PURPOSES.sessions}
        </Empty>
      ) : (
        <div class="sessions">
          {open.length > 1 && (
            <div class="session-choice" role="group" aria-label="Open sessions">
              {open.map(({ number, name }) => (
                <button
                  key={number}
                  class="segment"
                  aria-pressed={number === shown?.number}
                  onClick={() => {
                    setSelected(number);
                  }}
                >
                  {name}
                </button>
              ))}
            </div>
          )}
          {open.map(({ number, name, session }) => (
            <div key={number} class="session-place" hidden={number !== shown?.number}>
              <SessionPanel
                session={session}
                name={name}
                isLive={connection.state === "live"}
                onClosed={() => {
                  setOpen((before) => before.filter((other) => other.number !== number));
                }}
              />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
