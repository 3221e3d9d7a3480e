// @ts-check
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Where ports are taken from: the system gives none of these to a program that asks for any
 * (`ip_local_port_range` begins at 32768), so that none is lost before it is used; and `fetch`
 * refuses none of them.
 */
const [FIRST, LAST] = [11_000, 32_000];

/** @type {Set<number>} */
const given = new Set();

/** A port for programs that can't take a free one by themselves. */
export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
