// One connection over one WebSocket: the extension `port-forward`.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

import { WebSocket } from "ws";

import { HttpError } from "../../core/errors.js";
import type { SocketRequest } from "../../node-parts.js";

/** The most of a binary message, in bytes. */
const MESSAGE_BYTES = 64 * 1024;

/** How much may wait to be sent before no more is read, in bytes. */
const MAX_BUFFERED = 1024 * 1024;

/** What says that a direction has ended. */
const EOF = JSON.stringify({ type: "eof" });

/** How long the agent may take to connect and to answer, in milliseconds. It gives the server in the sandbox 10 s. */
const HANDSHAKE_TIMEOUT_MS = 30_000;

/** How the agent closes a WebSocket when both directions have ended (RFC 6455, 7.4.1). */
const NORMAL = 1000;

/** The code of a WebSocket that ended without a close frame. */
const NO_CLOSE_FRAME = 1006;

/** The most that is read of an answer with an error, in bytes. */
const MAX_ANSWER = 64 * 1024;

/** Who is told what becomes of a connection. */
export interface Listeners {
  /** Called where it could not be made, or broke on the other side. */
  failed: (error: HttpError) => void;
  /** Called when nothing of it is left. */
  ended: () => void;
}

/**
 * Connects a socket, which is paused, with the agent's end of a WebSocket. Where that can't be opened, or breaks, the socket is reset, as
 * TCP does it; where the socket breaks, so does the WebSocket.
 *
 * @returns What ends both at once.
 */
export function connectSocket(
  socket: Socket,
  { url, headers }: SocketRequest,
  { failed, ended }: Listeners,
): () => void {
  const remote = new WebSocket(url, {
    headers,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    // What goes through may be compressed already, and an agent that is told of it need not be trusted with memory.
    perMessageDeflate: false,
    maxPayload: 1024 * 1024,
    // A redirect may lead to where the token must not go.
    followRedirects: false,
    autoPong: false,
  });
  let hasSentEnd = false;
  let hasReceivedEnd = false;
  let problem: HttpError | undefined;
  let open = 2;
  const close = (): void => {
    open -= 1;
    if (open === 0) ended();
  };

  remote.once("open", () => {
    socket.on("data", (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += MESSAGE_BYTES) {
        remote.send(bytes.subarray(at, at + MESSAGE_BYTES), () => {
          if (socket.isPaused() && remote.bufferedAmount < MAX_BUFFERED) socket.resume();
        });
      }
      if (remote.bufferedAmount >= MAX_BUFFERED) socket.pause();
    });
    socket.once("end", () => {
      remote.send(EOF);
      hasSentEnd = true;
    });
    socket.resume();
  });
  remote.on("message", (data, isBinary) => {
    if (!isBinary) {
      if (!isEof((data as Buffer).toString())) return;
      hasReceivedEnd = true;
      socket.end();
      return;
    }
    if (socket.destroyed || socket.write(data as Buffer) || remote.isPaused) return;
    remote.pause();
    socket.once("drain", () => {
      remote.resume();
    });
  });
  remote.on("ping", (data) => {
    // Behind what is not taken pongs would pile up; one for the last ping is enough (RFC 6455, 5.5.3).
    if (remote.bufferedAmount < MAX_BUFFERED) remote.pong(data);
  });
  remote.once("unexpected-response", (_, answer) => {
    void refusal(answer).then((error) => {
      problem = error;
      remote.terminate();
    });
  });
  remote.on("error", (cause) => {
    problem ??= failure(`no connection to ${new URL(url).host}: ${cause.message}`, { cause });
  });
  // The agent closes it when the server has all that was sent, however long that takes.
  remote.once("close", (code, reason) => {
    // To a reader that was slow its close frame may not have come.
    const isOver = hasSentEnd && hasReceivedEnd && [NORMAL, NO_CLOSE_FRAME].includes(code);
    if (!isOver && !socket.destroyed) {
      const why = reason.length > 0 ? `: ${reason.toString()}` : "";
      // Before it is told: the listener may throw.
      socket.resetAndDestroy();
      close();
      failed(problem ?? failure(`the connection broke${why}`));
      return;
    }
    close();
  });
  // The event that follows says it, too.
  socket.on("error", () => undefined);
  socket.once("close", (hadError) => {
    if (hadError || !hasSentEnd || !hasReceivedEnd) remote.terminate();
    close();
  });
  return () => {
    // A reader must not take what came so far for all there is.
    socket.resetAndDestroy();
    remote.terminate();
  };
}

function isEof(text: string): boolean {
  return (parsed(text) as { type?: unknown } | undefined)?.type === "eof";
}

/** The error of an answer that is no WebSocket. */
async function refusal(answer: IncomingMessage): Promise<HttpError> {
  let body = "";
  try {
    for await (const chunk of answer.setEncoding("utf8")) {
      body += String(chunk);
      if (body.length > MAX_ANSWER) break;
    }
  } catch {
    // It broke off: its status is all that there is.
  }
  const status = answer.statusCode ?? 0;
  const { message } = (parsed(body) ?? {}) as { message?: unknown };
  const why = typeof message === "string" ? `: ${message}` : "";
  return failure(`the agent answered ${status}${why}`, { status, body });
}

function failure(
  what: string,
  details: { status?: number; body?: string; cause?: unknown } = {},
): HttpError {
  const operation = "forward port";
  return new HttpError(`${operation}: ${what}`, { status: 0, operation, ...details });
}

/** What a text says in JSON; undefined where it says nothing, or nothing with fields. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
