import { useEffect, useState } from "preact/hooks";
import { isSandpipeError, type PortInfo, type Ports } from "sandpipe";
import { pause } from "../connection/pause.js";

/** The sockets that listen, live, while somebody looks; undefined until they are known. */
export function usePorts(ports: Ports, isWanted: boolean) {
  const [list, setList] = useState<readonly PortInfo[]>();
  const [error, setError] = useState<unknown>();

  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const follow = async () => {
      for (;;) {
        try {
          for await (const { ports: now } of ports.streamList({ signal })) {
            setList(now);
            setError(undefined);
          }
        } catch (error) {
          if (signal.aborted) return;
          setError(error);
          // It will not be another one.
          if (isSandpipeError(error, "unsupported")) return;
        }
        await pause(signal);
        if (leaving.signal.aborted) return;
      }
    };
    void follow();
    return () => {
      leaving.abort();
    };
  }, [ports, isWanted]);

  return { list, error };
}
