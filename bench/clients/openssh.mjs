// @ts-check
/** The same commands over OpenSSH, by a connection that is there. */

import { spawn } from "node:child_process";

/** @param {import("../targets.mjs").Target} target */
export async function connect({ ssh: [program = "", ...args] = [], command }) {
  const run = () => {
    const child = spawn(program, [...args, command.map((word) => `'${word}'`).join(" ")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return child.stdout.setEncoding("utf8");
  };
  return {
    exec: async () => (await run().toArray()).join(""),
    async stream() {
      let length = 0;
      for await (const output of run()) length += output.length;
      return length;
    },
  };
}
