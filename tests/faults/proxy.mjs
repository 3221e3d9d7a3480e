// @ts-check
/** A proxy before an agent that does to requests and answers what a plan says. */

import { once } from "node:events";
import { createServer, request as sendRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { carryOn } from "./stream-faults.mjs";

/**
 * @typedef {object} Struck a fault that has taken place
 * @property {import("./plan.mjs").Kind} kind what it befell
 * @property {string} name
 * @property {boolean} forwarded the agent has seen the request
 *
 * @typedef {{ next(asked: import("./plan.mjs").Asked): import("./plan.mjs").Fault | undefined }} Planned
 */

/**
 * A receiver that has not read what came before a reset is told of a mere end: it is given the time.
 */
const BEFORE_RESET_MS = 5;

const PAGE = "<html><head><title>502 Bad Gateway</title></head><body>é€😀</body></html>\n";

/** @type {[RegExp, import("./plan.mjs").Kind][]} */
const KINDS = [
  [/^GET \/health$/, "health"],
  [/^POST \/api\/v1\/execs$/, "create"],
  [/^GET \/api\/v1\/execs\/[^/]+$/, "get"],
  [/^POST \/api\/v1\/execs\/[^/]+\/signal$/, "signal"],
  [/^GET \/api\/v1\/stream\/execs\/[^/]+\/io$/, "stream"],
];

export class Proxy {
  #target;
  #plan;
  #server = createServer((request, response) => void this.#take(request, response));
  /** What is under way. @type {Set<Promise<void>>} */
  #exchanges = new Set();
  /** The faults that have taken place, in order. @type {Struck[]} */
  struck = [];
  /** What went wrong with the proxy itself. @type {unknown[]} */
  errors = [];

  /**
   * @param {string} target the agent's address
   * @param {Planned} plan
   */
  constructor(target, plan) {
    this.#target = new URL(target);
    this.#plan = plan;
    // A connection that is closed because it idles would be a fault that nobody planned.
    this.#server.keepAliveTimeout = 0;
  }

  /** Begins to listen; resolves the address. */
  async listen() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}`;
  }

  /** Resolves when the agent has answered all that was forwarded to it. */
  async close() {
    this.#server.close();
    this.#server.closeAllConnections();
    while (this.#exchanges.size > 0) await Promise.all(this.#exchanges);
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   */
  async #take(request, response) {
    const exchange = this.#exchange(request, response).catch((error) => {
      // The client may leave whenever it likes.
      if (!response.destroyed) this.errors.push(error);
      response.destroy();
    });
    this.#exchanges.add(exchange);
    await exchange;
    this.#exchanges.delete(exchange);
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   */
  async #exchange(request, response) {
    const body = await wholeBody(request);
    const url = new URL(request.url ?? "/", this.#target);
    const what = `${request.method} ${url.pathname}`;
    const kind = KINDS.find(([pattern]) => pattern.test(what))?.[1] ?? "other";
    const lastSequence = Number(url.searchParams.get("lastSequence") ?? 0);
    const streams = request.headers.accept?.includes("text/event-stream") ?? false;
    const fault = this.#plan.next({ kind, streams, lastSequence });
    const strike = (/** @type {boolean} */ forwarded) => {
      if (fault === undefined) return;
      const befell = kind === "create" && fault.carry !== undefined ? "create-stream" : kind;
      this.struck.push({ kind: befell, name: fault.name, forwarded });
    };

    switch (fault?.answer) {
      case "refused":
        strike(false);
        return reset(response);
      case "502 page, not forwarded":
        strike(false);
        return badGateway(response);
      case "503, Retry-After":
        strike(false);
        return refuse(response, 503);
      case "429, Retry-After":
        strike(false);
        return refuse(response, 429);
      default:
    }
    if (fault?.earlier !== undefined && lastSequence > 0) {
      url.searchParams.set("lastSequence", String(Math.max(0, lastSequence - fault.earlier)));
      strike(true);
    }
    const answering = forward(url, request, body);
    if (fault?.answer === "answer not awaited") {
      strike(true);
      reset(response);
      return drain(await answering);
    }
    const answer = await answering;
    switch (fault?.answer) {
      case "answer lost":
        await drain(answer);
        strike(true);
        return reset(response);
      case "502 page, forwarded":
        await drain(answer);
        strike(true);
        return badGateway(response);
      case "answer cut": {
        const whole = await wholeBody(answer);
        strike(true);
        copyHead(answer, response);
        await send(response, whole.subarray(0, whole.length / 2));
        await pause(BEFORE_RESET_MS);
        return reset(response);
      }
      default:
    }
    // A client that is gone reads no more: the agent is told.
    response.once("close", () => answer.destroy());
    copyHead(answer, response);
    const carry = fault?.carry ?? carryOn;
    await carryOut(
      carry(answer, () => strike(true)),
      response,
    );
  }
}

/**
 * @param {AsyncGenerator<import("./stream-faults.mjs").Step, void>} steps
 * @param {import("node:http").ServerResponse} response
 */
async function carryOut(steps, response) {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  for await (const step of steps) {
    if (response.destroyed) return;
    if ("send" in step) {
      await send(response, step.send);
    } else if ("wait" in step) {
      await pauseUnless(gone.signal, step.wait);
    } else if (step.end === "reset") {
      await pause(BEFORE_RESET_MS);
      return reset(response);
    } else if (step.end === "abort") {
      response.socket?.destroy();
      return;
    } else {
      break;
    }
  }
  response.end();
}

/**
 * @param {AbortSignal} signal
 * @param {number} milliseconds Infinity: until the signal is aborted
 */
async function pauseUnless(signal, milliseconds) {
  if (milliseconds !== Infinity) {
    await pause(milliseconds, undefined, { signal }).catch(() => undefined);
  } else if (!signal.aborted) {
    await once(signal, "abort");
  }
}

/**
 * Resolves when the system has the bytes, so that a reset after it does not take them back.
 *
 * @param {import("node:http").ServerResponse} response
 * @param {Buffer} bytes
 * @returns {Promise<void>}
 */
function send(response, bytes) {
  if (bytes.length === 0 || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off("close", done);
      resolve();
    };
    response.once("close", done);
    response.write(bytes, done);
  });
}

/** @param {import("node:http").ServerResponse} response */
function reset(response) {
  response.socket?.resetAndDestroy();
}

/** @param {import("node:http").ServerResponse} response */
function badGateway(response) {
  response.writeHead(502, { "content-type": "text/html; charset=utf-8" }).end(PAGE);
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {number} status
 */
function refuse(response, status) {
  const headers = { "content-type": "text/plain", "retry-after": "0" };
  response.writeHead(status, headers).end("not now");
}

/**
 * Sends a request on to the agent and gives its answer.
 *
 * @param {URL} url
 * @param {import("node:http").IncomingMessage} request
 * @param {Buffer} body
 * @returns {Promise<import("node:http").IncomingMessage>}
 */
async function forward(url, request, body) {
  const { host: _host, connection: _connection, ...headers } = request.headers;
  // A connection each: none that is kept can break by itself.
  const onwards = sendRequest(url, { method: request.method ?? "GET", headers, agent: false });
  onwards.end(body);
  const [answer] = await once(onwards, "response");
  return answer;
}

/**
 * @param {import("node:http").IncomingMessage} answer
 * @param {import("node:http").ServerResponse} response
 */
function copyHead(answer, response) {
  const { connection: _connection, "transfer-encoding": _encoding, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 500, headers);
  response.flushHeaders();
}

/** @param {import("node:http").IncomingMessage} message */
async function wholeBody(message) {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** @param {import("node:http").IncomingMessage} message */
async function drain(message) {
  await wholeBody(message);
}
