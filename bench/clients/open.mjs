// @ts-check

/**
 * Runs a command; resolves the answer that is the stream of its output.
 *
 * @param {import("../targets.mjs").Target} target
 */
export async function open({ url, token, command: [command, ...args] }) {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const created = await fetch(`${url}/api/v1/execs`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json" },
    body: JSON.stringify({ command, args }),
  });
  const { id } = await created.json();
  const response = await fetch(`${url}/api/v1/stream/execs/${id}/io`, { headers: authorization });
  if (!response.ok) throw new Error(`The agent answered ${response.status}.`);
  return /** @type {ReadableStream<Uint8Array>} */ (response.body);
}
