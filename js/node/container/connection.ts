// How this process reaches the agent in a container.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { connect } from "node:net";

import type { ConnectionKind } from "./options.js";
import { type Relay, relayTo } from "./relay.js";
import { makeSocketFolder, type TakenSocket } from "./socket-folder.js";
import { streamsOver } from "./stdio-streams.js";

/** Connection to an agent in a container. */
export interface Connection {
  /** The folder of this machine for the agent's socket; undefined where it listens on its stdio. */
  socketFolder: string | undefined;
  /** Relays a port to the agent, which listens now. */
  open(engineClient: ChildProcessWithoutNullStreams): Promise<Relay>;
  close(): Promise<void>;
}

/** Prepares the connection to an agent that is not there yet. */
export async function prepareConnection(kind: ConnectionKind): Promise<Connection> {
  if (kind === "stdio") {
    return {
      socketFolder: undefined,
      open: (engineClient) => relayTo(streamsOver(engineClient.stdout, engineClient.stdin)),
      close: () => Promise.resolve(),
    };
  }
  const folder = await makeSocketFolder();
  let socket: TakenSocket | undefined;
  return {
    socketFolder: folder.path,
    open: async (engineClient) => {
      // The agent says nothing more there.
      engineClient.stdout.resume();
      const { path } = (socket = await folder.take());
      return await relayTo(() => connect({ path, allowHalfOpen: true }).unref());
    },
    close: async () => {
      await Promise.all([socket?.close(), folder.remove()]);
    },
  };
}
