// @ts-check
/** Clients that drink a prepared stream: what the client itself costs. */

import { begin, measured } from "../child.mjs";
import { WORKLOADS } from "../workloads.mjs";

const CLIENTS = ["bare", "plain", "sandpipe"];

/** @returns {AsyncGenerator<import("../main.mjs").Row>} */
export async function* preparedRows() {
  const peer = process.env["PEER_MODULE"];
  const clients = peer === undefined ? CLIENTS : [...CLIENTS, "peer"];
  for (const [name, workload] of Object.entries(WORKLOADS)) {
    for (const what of ["exec", "stream"]) {
      const { child, answer } = await begin("server.mjs", [name]);
      const columns = Object.fromEntries(
        clients.map((client) => [
          client,
          async () =>
            checked(client, await measured("measure.mjs", [client, what, answer.url]), answer),
        ]),
      );
      const title = `${what === "exec" ? "exec" : "streamOutput"}, ${workload().title}`;
      const end = async () => void child.kill();
      yield { name: `${what}-${name}`, title, reference: "bare", columns, end };
    }
  }
}

/**
 * @param {string} client
 * @param {{ ms: number, hash?: string, events?: number }} result
 * @param {{ hash: string, events: number }} expected
 */
export function checked(client, result, { hash, events }) {
  const wrong = (result.hash ?? hash) !== hash || (result.events ?? events) !== events;
  if (wrong) throw new Error(`${client} did not give what was sent: ${JSON.stringify(result)}`);
  return result;
}
