import { useEffect, useState } from "preact/hooks";
import type { Session, Sessions } from "sandpipe";
import { CreateForm } from "./create-form.js";
import { SessionPanel } from "./session-panel.js";

interface Open {
  number: number;
  name: string;
  session: Session;
}

/** The shells that this page has started. They end when they are closed, or at the sign-out. */
export function SessionsPage({ sessions }: { sessions: Sessions }) {
  const [open, setOpen] = useState<readonly Open[]>([]);
  const [started, setStarted] = useState(0);

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

  return (
    <div class="left">
      <h1>Sessions</h1>
      <CreateForm
        sessions={sessions}
        onCreate={(session, shell) => {
          const number = started + 1;
          setStarted(number);
          setOpen((before) => [...before, { number, name: `${number}: ${shell}`, session }]);
        }}
      />
      {open.length === 0 && (
        <p class="empty">
          A session is a shell that remembers its directory, variables and functions from run to
          run. It ends when it is closed, or when you sign out.
        </p>
      )}
      <div class="outputs">
        {open.map(({ number, name, session }) => (
          <SessionPanel
            key={number}
            session={session}
            name={name}
            onClosed={() => {
              setOpen((before) => before.filter((other) => other.number !== number));
            }}
          />
        ))}
      </div>
    </div>
  );
}
