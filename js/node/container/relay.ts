import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Duplex } from "node:stream";

/** A port of the loopback address whose connections go on to an agent. */
export interface Relay {
  /** The address of the agent for its clients. */
  url: string;
  /** Cuts all connections, and takes no more. */
  close(): void;
}

/**
 * Relays connections to an agent. It does not keep this process alive.
 *
 * @param connect Opens a connection to the agent.
 */
export async function relayTo(connect: () => Duplex): Promise<Relay> {
  const open = new Set<Duplex>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    // Who waits for something holds a connection of its own.
    client.unref();
    const agent = connect();
    for (const [from, to] of [
      [client, agent],
      [agent, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      // It is closed after that, and the other end has to be told.
      from.on("error", () => undefined);
      from.once("close", () => {
        open.delete(from);
        const isDone = from.readableEnded && from.writableFinished;
        if (!isDone) to.destroy(new Error("the other end of the connection was cut"));
      });
    }
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
