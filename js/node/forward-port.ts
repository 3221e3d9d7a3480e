// So that the types compile for users whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />

import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

import { checkFields } from "../arguments.js";
import { type HttpError, InvalidArgumentError } from "../core/errors.js";
import { FORWARDS, PORT_SOCKET } from "../node-parts.js";
import type { Sandbox } from "../sandbox.js";
import { partsOf } from "./parts.js";
import { systemError } from "./system-error.js";

/** How to forward a port. */
export interface ForwardPortOptions {
  /** The port here; 0: any that is free. Default: the same as there, or any that is free where that one is taken. */
  localPort?: number | undefined;
  /** The address to listen on here. Default: `127.0.0.1`, which nothing but this machine reaches. */
  host?: string | undefined;
  /**
   * Called for each connection that could not be made (nothing listens in the sandbox: `status` 502; the token is wrong: 401), or broke on
   * the agent's side, with the reason. Default: nobody is told; the connection here is reset all the same.
   */
  onConnectionError?: ((error: HttpError) => void) | undefined;
}

/** A port of a sandbox that can be reached here. */
export interface ForwardedPort extends AsyncDisposable {
  /** The port that is listened on here. */
  readonly port: number;
  /** The address that it is listened on. */
  readonly host: string;
  /** Ends it: nothing is listened on any more, and its connections are reset. */
  close(): Promise<void>;
}

const TAKEN = { hint: "Choose another `localPort`, or 0 for one that is free." };

const FIELDS = ["localPort", "host", "onConnectionError"];

/**
 * Listens here, and connects whoever connects to a port in the sandbox: over one WebSocket for each connection, both ways, byte for byte.
 * Each direction ends by itself, as with TCP, and neither is read faster than the other side takes it, however long that is. What listens
 * on the port may be any process in the sandbox, on a loopback address, and may begin to listen later: where nothing does, a connection
 * here is reset. It needs the agent's admin token. `close()` ends it, `await using`, and the end of the sandbox.
 *
 * @param port The port in the sandbox.
 * @throws {UnsupportedError} The agent lacks the extension `port-forward`.
 * @throws {InvalidArgumentError} An argument is wrong.
 * @throws {HttpError} There is no agent.
 * @throws {SystemError} This machine can't listen: `errno` is `EADDRINUSE` for a `localPort` that is taken.
 */
export async function forwardPort(
  sandbox: Sandbox,
  port: number,
  options: ForwardPortOptions = {},
): Promise<ForwardedPort> {
  const parts = partsOf(sandbox);
  const { localPort, host = "127.0.0.1", onConnectionError } = checked(options);
  const request = await parts[PORT_SOCKET](port);
  // No other call needs it.
  const { connectSocket } = await import("./forward/connection.js");
  const connections = new Set<() => void>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    const end = connectSocket(socket, request, {
      failed: (error) => onConnectionError?.(error),
      ended: () => connections.delete(end),
    });
    connections.add(end);
  });
  await listen(localPort ?? port).catch((error: unknown) => {
    const isTaken = ["EADDRINUSE", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (!isTaken || localPort !== undefined) throw systemError(error, isTaken ? TAKEN : {});
    return listen(0).catch((another: unknown) => {
      throw systemError(another);
    });
  });
  // Such as that a connection could not be taken for want of descriptors: the next one may be.
  server.on("error", () => undefined);
  const { port: listening } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    parts[FORWARDS].delete(close);
    const closed = server.listening ? once(server, "close") : undefined;
    server.close();
    for (const end of connections) end();
    await closed;
  };
  parts[FORWARDS].add(close);
  return { port: listening, host, close, [Symbol.asyncDispose]: close };

  function listen(at: number): Promise<unknown> {
    const listened = once(server, "listening");
    server.listen(at, host);
    return listened;
  }
}

/** @throws {InvalidArgumentError} Something is wrong with them. */
function checked(options: ForwardPortOptions): ForwardPortOptions {
  checkFields(options, FIELDS);
  const { localPort, host, onConnectionError } = options;
  const isPort =
    Number.isInteger(localPort) && Number(localPort) >= 0 && Number(localPort) < 65_536;
  if (localPort !== undefined && !isPort) {
    throw new InvalidArgumentError(
      `\`options.localPort\` must be a port from 0 to 65535, but is ${JSON.stringify(localPort)}`,
    );
  }
  if (host !== undefined && (typeof host !== "string" || host === "")) {
    throw new InvalidArgumentError("`options.host` must be an address to listen on");
  }
  if (onConnectionError !== undefined && typeof onConnectionError !== "function") {
    throw new InvalidArgumentError("`options.onConnectionError` must be a function");
  }
  return options;
}
