import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A port of the loopback address whose connections go on to a socket. */
export interface Relay {
  /** The address of what listens on the socket. */
  url: string;
  /** Cuts all connections, and takes no more. */
  close(): void;
}

/** Relays connections to the Unix domain socket at a path. It does not keep this process alive. */
export async function relayTo(path: string): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const agent = connect({ path, allowHalfOpen: true });
    for (const [from, to] of [
      [client, agent],
      [agent, client],
    ] as const) {
      open.add(from);
      // Who waits for something holds a connection of its own.
      from.unref();
      from.pipe(to);
      // It is closed after that, and the other end has to be told.
      from.on("error", () => undefined);
      from.once("close", () => {
        open.delete(from);
        const isDone = from.readableEnded && from.writableFinished;
        if (!isDone) to.destroy();
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
