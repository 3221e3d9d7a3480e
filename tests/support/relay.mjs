// @ts-check
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** The first line of a request: what is sent at once comes at once. */
const REQUEST = /^([A-Z]+ \S+) HTTP\/1\.1\r$/gm;

/** Carries connections to an agent, byte for byte, and breaks them when it is told to. */
export class Relay {
  #target;
  #server = createServer((client) => this.#carry(client));
  /** @type {Set<import("node:net").Socket>} */
  #clients = new Set();
  /** What is carried to a client before its connection breaks, in bytes. */
  breakAfter = Infinity;
  /** The same of what is carried from a client. */
  breakAfterSent = Infinity;
  /** How many connections it has broken. */
  broken = 0;
  /** How many bytes of the agent it has taken, over all connections. */
  carried = 0;
  /**
   * The requests that it has carried, each as `GET /path`.
   *
   * @type {string[]}
   */
  requests = [];

  /** @param {string} target the agent's address */
  constructor(target) {
    this.#target = new URL(target);
  }

  /** Begins to listen; resolves the address. */
  async listen() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    return `http://127.0.0.1:${port}`;
  }

  /** Breaks every connection that there is. */
  breakAll() {
    for (const client of this.#clients) {
      this.broken++;
      client.destroy();
    }
  }

  async close() {
    this.#server.close();
    for (const client of this.#clients) client.destroy();
    await once(this.#server, "close");
  }

  /** @param {import("node:net").Socket} client */
  #carry(client) {
    const agent = connect(Number(this.#target.port), this.#target.hostname);
    this.#clients.add(client);
    let carried = 0;
    agent.on("data", (bytes) => {
      carried += bytes.length;
      this.carried += bytes.length;
      if (carried <= this.breakAfter) {
        if (!client.write(bytes)) agent.pause();
        return;
      }
      this.broken++;
      client.end(bytes.subarray(0, bytes.length - (carried - this.breakAfter)));
      agent.destroy();
    });
    client.on("drain", () => agent.resume());
    let sent = 0;
    client.on("data", (bytes) => {
      for (const [, request] of bytes.toString("latin1").matchAll(REQUEST)) {
        this.requests.push(request ?? "");
      }
      sent += bytes.length;
      if (sent <= this.breakAfterSent) {
        if (!agent.write(bytes)) client.pause();
        return;
      }
      this.broken++;
      agent.end(bytes.subarray(0, bytes.length - (sent - this.breakAfterSent)));
      client.destroy();
    });
    agent.on("drain", () => client.resume());
    for (const [one, other] of [
      [client, agent],
      [agent, client],
    ]) {
      one?.on("error", () => undefined);
      one?.on("end", () => other?.end());
      one?.on("close", () => other?.destroy());
    }
    client.on("close", () => this.#clients.delete(client));
  }
}
