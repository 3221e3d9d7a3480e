// @ts-check
import { connect as connectSandbox } from "sandpipe";

/** @param {string} url */
export async function connect(url) {
  const { execs } = await connectSandbox({ url });
  return {
    exec: async () => (await execs.exec("x")).output,
    async stream() {
      let events = 0;
      for await (const { output } of execs.streamOutput("1"))
        events += output === undefined ? 0 : 1;
      return events;
    },
  };
}
