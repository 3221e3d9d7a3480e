import { useEffect, useState } from "preact/hooks";
import type { ExecItem, Sandbox } from "sandpipe";
import { pause } from "./pause.js";
import { delayAfter } from "./retry.js";
import { afterFailure, type Connection } from "./state.js";

/** All execs, newest first, as the agent tells of them; undefined before it has. */
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
  for (;;) {
    try {
      for await (const { execs } of sandbox.execs.streamList({ signal })) {
        onList(execs);
        if (connection.state !== "live") onConnection((connection = { state: "live" }));
      }
    } catch (error) {
      if (signal.aborted) return;
      connection = afterFailure(connection, error);
      onConnection(connection);
    }
    if (connection.state === "refused") return;
    const failures = connection.state === "lost" ? connection.failures : 1;
    await pause(delayAfter(failures), signal);
  }
}
