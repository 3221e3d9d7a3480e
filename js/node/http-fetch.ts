// Requests by `node:http`, over the connections that it keeps. Node's own `fetch` takes twice as long for the
// same bytes: its bodies are the streams of the web.
import http, { type IncomingMessage } from "node:http";
import https from "node:https";

/** How long it may take to be connected, in milliseconds: as with Node's `fetch`. */
const CONNECT_MS = 10_000;

/** The part of `RequestInit` that the core uses. */
export interface Init {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** The part of `Response` that the core reads. */
export interface Answer {
  status: number;
  headers: { get(name: string): string | null };
  body: { getReader(): { read(): Promise<IteratorResult<Uint8Array>> } };
}

/** `fetch`, as far as the core uses it. A failure that is Node's is rejected with as it is. */
export async function httpFetch(url: string, init: Init): Promise<Answer | Response> {
  const message = await send(url, init);
  const status = message.statusCode ?? 0;
  if (leadsElsewhere(status, init.method)) {
    message.resume();
    // It knows how to follow, and what must not be taken along.
    return fetch(url, init);
  }
  return {
    status,
    headers: { get: (name) => message.headers[name]?.toString() ?? null },
    body: { getReader: () => readerOf(message) },
  };
}

/** Whether an answer is a redirect that the request can be made again for: it has done nothing. */
function leadsElsewhere(status: number, method: string): boolean {
  return status === 307 || status === 308 || (method === "GET" && /^30[123]$/.test(String(status)));
}

/** Sends a request; resolves the beginning of the answer. */
function send(url: string, { method, headers, body, signal }: Init): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const scheme = url.startsWith("https:") ? "https" : "http";
    const request = { http, https }[scheme].request(url, {
      method,
      // Output that is compressed on its way may wait there for more.
      headers: { "accept-encoding": "identity", ...headers },
    });
    let isConnected = false;
    request.once("socket", (socket) => {
      isConnected = !socket.connecting;
      if (isConnected) return;
      const late = new Error(`not within ${CONNECT_MS / 1000} s`);
      const giveUp = setTimeout(() => request.destroy(late), CONNECT_MS);
      socket.once("close", () => {
        clearTimeout(giveUp);
      });
      socket.once(scheme === "https" ? "secureConnect" : "connect", () => {
        isConnected = true;
        clearTimeout(giveUp);
      });
    });
    request.on("error", (error) => {
      reject(isConnected ? error : notConnected(error));
    });
    request.once("close", () => {
      reject(new Error("the connection was closed without an answer"));
    });

    let answer: IncomingMessage | undefined;
    request.once("response", (message) => {
      answer = message;
      // Who reads is told; who reads no more need not be.
      message.on("error", () => undefined);
      resolve(message);
    });
    const abort = (): void => {
      if (answer?.complete !== true) return void request.destroy();
      // All of it is here. Once it has been read the connection is free for the next request.
      while (answer.read() !== null);
    };
    signal.addEventListener("abort", abort, { once: true });
    request.end(body);
  });
}

/** The server can't have seen the request: the core knows it by the system call's name. */
function notConnected(cause: Error): Error {
  return Object.assign(new Error("not connected", { cause }), { syscall: "connect" });
}

function readerOf(message: IncomingMessage): { read(): Promise<IteratorResult<Uint8Array>> } {
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return {
    async read() {
      try {
        return await chunks.next();
      } catch (cause) {
        // Node's says "aborted", although nobody did.
        throw new Error("the connection was lost", { cause });
      }
    },
  };
}
