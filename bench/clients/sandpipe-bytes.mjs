// @ts-check
/** As sandpipe.mjs, with the bytes as they are. */

import { connect as connectSandbox } from "sandpipe";

/** @param {import("../targets.mjs").Target} target */
export async function connect({ url, token, command: [command, ...args] }) {
  const { execs } = await connectSandbox({ url, ...(token !== undefined && { token }) });
  const encoding = /** @type {const} */ ("bytes");
  return {
    exec: async () => (await execs.exec(command, args, { encoding })).output,
    async stream() {
      const { id } = await execs.create({ command, args });
      let length = 0;
      for await (const { output } of execs.streamOutput(id, 0, { encoding }))
        length += output.length;
      return length;
    },
  };
}
