// @ts-check
import { connect as connectSandbox } from "sandpipe";

/** @param {import("../targets.mjs").Target} target */
export async function connect({ url, token, command: [command, ...args] }) {
  const { execs } = await connectSandbox({ url, ...(token !== undefined && { token }) });
  return {
    exec: async () => (await execs.exec(command, args)).output,
    async stream() {
      const { id } = await execs.create({ command, args });
      let length = 0;
      for await (const { output } of execs.streamOutput(id)) length += output.length;
      return length;
    },
  };
}
