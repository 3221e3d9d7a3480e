// @ts-check
/** Clients that drink the output of a command: from prepared bytes, and end to end. */

import { measured } from "../child.mjs";
import { openAgent, openPrepared } from "../targets.mjs";
import { WORKLOADS } from "../workloads.mjs";

/**
 * @typedef {import("../targets.mjs").Target} Target
 * @typedef {import("../main.mjs").Sample & { hash?: string, length?: number }} Result
 */

const CALLS = { exec: "exec", stream: "streamOutput" };

const peer = process.env["PEER_MODULE"] === undefined ? [] : ["peer"];

export const preparedRows = rows("", "", {
  open: (workload) => openPrepared(workload),
  clients: ["bare", "bare-http", "plain", "sandpipe", ...peer],
  measure: inProcess,
});

export const framesRows = rows("frames-", "in frames: ", {
  workloads: ["ascii", "mixed", "cjk"],
  open: (workload) => openPrepared(workload, "frames"),
  clients: ["bare", "sandpipe"],
  measure: inProcess,
});

export const endToEndRows = rows("e2e-", "real agent: ", {
  open: openAgent,
  clients: ["bare", "plain", "sandpipe", ...peer, "openssh"],
  measure: inProcess,
});

export const bytesRows = rows("bytes-", "real agent, in bytes: ", {
  workloads: ["ascii"],
  reference: "wc",
  open: openAgent,
  clients: ["wc", "sandpipe-bytes"],
  measure: inProcess,
});

/**
 * A row for each workload and call.
 *
 * @param {string} name what the rows' names begin with
 * @param {string} title what their titles begin with
 * @param {object} how
 * @param {(workload: string) => Promise<import("../targets.mjs").OpenTarget>} how.open
 * @param {string[]} how.clients
 * @param {(client: string, call: string, target: Target) => Promise<Result>} how.measure
 * @param {string[]} [how.workloads] all of them, unless told
 * @param {string} [how.reference]
 * @returns {import("../main.mjs").Row[]}
 */
export function rows(
  name,
  title,
  { open, clients, measure, workloads = Object.keys(WORKLOADS), reference = "bare" },
) {
  return workloads.flatMap((workload) =>
    Object.entries(CALLS).map(([call, called]) => ({
      name: `${name}${call}-${workload}`,
      title: `${title}${called}, ${WORKLOADS[workload]?.title}`,
      reference,
      async open() {
        const { target, expected, tidy, end } = await open(workload);
        const column = (/** @type {string} */ client) => async () => {
          const result = await measure(client, call, target);
          await tidy?.();
          const { hash = expected.hash, length = expected.length } = result;
          // The bare clients count what they read, which is more than the text in it.
          const isBare = client.startsWith("bare");
          const isWhole = isBare ? length > expected.length : length === expected.length;
          if (hash === expected.hash && isWhole) return result;
          throw new Error(`${client} did not give what was sent: ${JSON.stringify(result)}`);
        };
        const columns = Object.fromEntries(clients.map((client) => [client, column(client)]));
        return { columns, end };
      },
    })),
  );
}

/** @type {(client: string, call: string, target: Target) => Promise<Result>} */
function inProcess(client, call, target) {
  return measured("measure.mjs", [client, call, JSON.stringify(target)]);
}
