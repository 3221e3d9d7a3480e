// Requests by `node:http`. Node's own `fetch` takes twice as long for the same bytes: its bodies are the
// streams of the web.
import { lookup } from "node:dns";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { DirectAgent, directBody, type DirectBody } from "./direct-bodies.js";
import { isLoopback } from "./loopback.js";

/** How long it may take to be connected, in milliseconds: as with Node's `fetch`. */
const CONNECT_TIMEOUT_MS = 10_000;

const unlimited = { maxSockets: Infinity, maxTotalSockets: Infinity };
const { options } = http.globalAgent as http.Agent & { options: http.AgentOptions };
/** Deno and Bun have HTTP of their own, whose bodies do not come from the socket. */
const HttpAgent = "Deno" in globalThis || "Bun" in globalThis ? http.Agent : DirectAgent;
/**
 * These keep connections for the next request as the global agents do. But they have no limit: a request that stops a
 * command must not wait for the stream of its output.
 */
const agentsWith = (more: object): { http: http.Agent; https: https.Agent } => ({
  http: new HttpAgent({ ...options, ...unlimited, ...more }),
  https: new https.Agent({ ...https.globalAgent.options, ...unlimited, ...more }),
});
/** These go through the same proxies as the global agents. */
const platformAgents = agentsWith({});
/** Looks up the address of version 4 first: an agent listens on `127.0.0.1`, and on `[::1]` somebody else may. */
const lookupLocalhost: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, verbatim: false }, callback);
};
/** These go through none: `proxyEnv` is where runtimes look for the variables that name one. */
const loopbackAgents = agentsWith({ proxyEnv: {}, lookup: lookupLocalhost });

/** The part of `RequestInit` that the core uses. */
export interface Init {
  method: string;
  headers: Record<string, string>;
  /** A stream is one of Node.js's, which `fetch` takes as well. */
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  signal: AbortSignal;
  redirect?: "follow" | "manual";
}

/** The part of `Response` that the core reads. */
export interface Answer {
  status: number;
  headers: { get(name: string): string | null };
  body: { getReader(): Reader; cancel(): unknown } | null;
}

/** The part of `ReadableStreamDefaultReader` that the core uses. */
export interface Reader {
  /** A chunk stays as it is up to the next call. */
  read(): Promise<IteratorResult<Uint8Array>>;
  /** Lets a process of Node.js end although the rest has not come. */
  unref?(): void;
}

/** `fetch`, as far as the core uses it. It follows no redirects. */
export async function httpFetch(url: string, init: Init): Promise<Answer> {
  const { message, direct } = await send(url, init);
  const encoding = message.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    throw new Error(`the answer was to come as it is, and comes encoded: ${encoding}`);
  }
  return {
    status: message.statusCode ?? 0,
    headers: { get: (name) => message.headers[name]?.toString() ?? null },
    body: {
      getReader: () => readerOf(message, direct),
      cancel() {
        direct?.drop();
        message.resume();
      },
    },
  };
}

/** An answer, and what comes of its body before its message has the rest. */
interface Begun {
  message: IncomingMessage;
  direct: DirectBody | undefined;
}

/** Sends a request; resolves the beginning of the answer. */
function send(url: string, { method, headers, body, signal }: Init): Promise<Begun> {
  return new Promise((resolve, reject) => {
    const scheme = url.startsWith("https:") ? "https" : "http";
    const request = { http, https }[scheme].request(url, {
      method,
      // Output that is compressed on its way may wait there for more.
      headers: { "user-agent": "sandpipe", ...headers, "accept-encoding": "identity" },
      agent: (isLoopback(url) ? loopbackAgents : platformAgents)[scheme],
    });
    let isConnected = false;
    const giveUp = setTimeout(() => {
      request.destroy(new Error(`not made within ${CONNECT_TIMEOUT_MS / 1000} s`));
    }, CONNECT_TIMEOUT_MS);
    const connected = (): void => {
      isConnected = true;
      clearTimeout(giveUp);
    };
    request.once("socket", (socket) => {
      // Who goes through a proxy may hand it over when all of that is done.
      const isInHandshake = "secureConnecting" in socket && socket.secureConnecting === true;
      if (isInHandshake) socket.once("secureConnect", connected);
      else if (socket.connecting) socket.once("connect", connected);
      else connected();
    });
    let answer: IncomingMessage | undefined;
    request.once("response", (message) => {
      answer = message;
      const direct = directBody(message);
      // A reader gets the error; who reads no more needs none.
      message.on("error", () => undefined);
      resolve({ message, direct });
    });
    request.on("error", (error) => {
      reject(isConnected ? error : noConnection(error));
      if (answer?.complete === false) answer.destroy(error);
    });
    request.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the server wants to speak another protocol"));
    });
    const abort = (): void => {
      const isDone = request.writableFinished && answer?.complete === true;
      if (!isDone) return void request.destroy();
      // Once all has been read the connection is free for the next request.
      while (answer?.read() !== null);
    };
    signal.addEventListener("abort", abort, { once: true });
    request.once("close", () => {
      clearTimeout(giveUp);
      // A request that is sent elsewhere, by a redirect, has the same signal.
      signal.removeEventListener("abort", abort);
    });
    if (isStream(body)) {
      // Its failure ends the request, and the other way round; the request's error is told above.
      pipeline(body, request, () => undefined);
    } else {
      request.end(body);
    }
  });
}

function isStream(body: unknown): body is Readable {
  return body instanceof Readable;
}

/** The server can't have seen the request: the core knows it by the system call's name. */
function noConnection(cause: NodeJS.ErrnoException): Error {
  const isPlain = NO_TLS.test(`${cause.code} ${cause.message}`);
  // What OpenSSL says beside that helps nobody.
  const error = isPlain
    ? new Error("it does not speak TLS: an agent without TLS has an address with http://")
    : new Error("no connection", { cause });
  return Object.assign(error, { syscall: "connect" });
}

/** OpenSSL's errors where a server answers a TLS handshake in another protocol. */
const NO_TLS = /wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long/i;

function readerOf(message: IncomingMessage, direct: DirectBody | undefined): Reader {
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return {
    unref() {
      // One that is complete has given its connection back, or is about to.
      if (!message.complete) message.socket.unref();
    },
    async read() {
      try {
        const chunk = await direct?.next();
        return chunk === undefined ? await chunks.next() : { done: false, value: chunk };
      } catch (cause) {
        // Node says "aborted" of one that the server has closed.
        const isClosed = cause instanceof Error && cause.message === "aborted";
        throw new Error("the connection was lost", isClosed ? {} : { cause });
      }
    },
  };
}
