// @ts-check

/** What asks for output in frames, if the agent has them. */
export const FRAMES = "application/vnd.sandpipe.output, text/event-stream";

/**
 * Runs a command; resolves the answer that is the stream of its output.
 *
 * @param {import("../targets.mjs").Target} target
 * @param {string} [accept] the form that it is to have
 */
export async function open(target, accept = "text/event-stream") {
  const id = await create(target);
  const headers = { ...authorization(target), accept };
  const response = await fetch(`${target.url}/api/v1/stream/execs/${id}/io`, { headers });
  if (!response.ok) throw new Error(`The agent answered ${response.status}.`);
  return /** @type {ReadableStream<Uint8Array>} */ (response.body);
}

/**
 * Runs a command; resolves its ID.
 *
 * @param {import("../targets.mjs").Target} target
 * @returns {Promise<string>}
 */
export async function create(target) {
  const [command, ...args] = target.command;
  const created = await fetch(`${target.url}/api/v1/execs`, {
    method: "POST",
    headers: { ...authorization(target), "content-type": "application/json" },
    body: JSON.stringify({ command, args }),
  });
  const { id } = await created.json();
  return id;
}

/** @param {import("../targets.mjs").Target} target */
function authorization({ token }) {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
