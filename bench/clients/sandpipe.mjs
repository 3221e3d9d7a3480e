// @ts-check
import { connect as connectSandbox } from "sandpipe";

/** @param {import("../targets.mjs").Target} target */
export async function connect({ command: [command, ...args], ...agent }) {
  const { execs } = await connectSandbox(agent);
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
