// @ts-check
/** Many short commands, against processes that Node.js starts itself. */

import { measured } from "../child.mjs";
import { openSsh } from "../openssh.mjs";

/** @returns {AsyncGenerator<import("../main.mjs").Row>} */
export async function* latencyRows() {
  const ssh = await openSsh();
  for (const [name, title] of Object.entries({
    warm: '200 × exec("true"), one after the other, real agent',
    burst: '1,000 × exec("true"), 100 at a time, real agent',
    cold: "from the import to the first result",
  })) {
    const columns = {
      spawn: () => measured("latency.mjs", ["spawn", name]),
      sandpipe: () => measured("latency.mjs", ["sandpipe", name]),
      ...(name !== "cold" && {
        "OpenSSH, shared connection": () =>
          measured("latency.mjs", ["openssh", name, ...ssh.command, "true"]),
      }),
    };
    yield { name, title, reference: "spawn", columns };
  }
  await ssh.stop();
}
