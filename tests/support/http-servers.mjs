// @ts-check
import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach } from "node:test";

/** @typedef {import("node:http").RequestListener} RequestListener */

/** Servers on free ports of the loopback, for the tests of a `describe`: each test's end when it does. */
export function httpServers() {
  /** @type {Array<() => void>} */
  const begun = [];
  afterEach(() => {
    for (const end of begun.splice(0)) end();
  });

  /** @param {import("node:net").Server} server @param {string} scheme */
  const listen = async (server, scheme = "http") => {
    server.listen(0, "127.0.0.1");
    begun.push(() => void server.close());
    await once(server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    return `${scheme}://127.0.0.1:${port}`;
  };

  /** @param {RequestListener} answer */
  const serve = (answer) => {
    const server = createServer(answer);
    begun.push(() => server.closeAllConnections());
    return listen(server);
  };

  return { begun, listen, serve };
}

/** @type {RequestListener} */
export function noExecs(_, response) {
  response.writeHead(200, { "content-type": "application/json" }).end('{"execs":[]}');
}
