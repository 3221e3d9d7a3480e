import { useEffect, useState } from "preact/hooks";
import type { ExecItem, Sandbox } from "sandpipe";
import { pause } from "./pause.js";
import { stateAfter, type Connection } from "./state.js";

/** All execs, newest first, as the agent lists them; undefined until then. */
export function useLiveList(sandbox: Sandbox): {
  execs: readonly ExecItem[] | undefined;
  connection: Connection;
} {
  const [execs, setExecs] = useState<readonly ExecItem[]>();
  const [connection, setConnection] = useState<Connection>({ state: "connecting" });

  useEffect(() => {
    const leaving = new AbortController();
    void follow(sandbox, leaving.signal, setExecs, setConnection);
    return () => {
      leaving.abort();
    };
  }, [sandbox]);

  return { execs, connection };
}

async function follow(
  sandbox: Sandbox,
  signal: AbortSignal,
  onList: (execs: readonly ExecItem[]) => void,
  onConnection: (connection: Connection) => void,
): Promise<void> {
  let connection = { state: "connecting" } as Connection;
  const change = (next: Connection) => {
    if (next.state !== connection.state) onConnection((connection = next));
  };
  while (connection.state !== "refused") {
    try {
      for await (const { execs } of sandbox.execs.streamList({ signal })) {
        onList(execs);
        change({ state: "live" });
      }
    } catch (error) {
      if (signal.aborted) return;
      change(stateAfter(error));
    }
    await pause(signal);
  }
}
