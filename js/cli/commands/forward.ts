import { forwardPort, type ForwardedPort } from "../../node/forward-port.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command, UsageError } from "../command.js";
import { aborted, interruptible } from "../exit-decision.js";
import { factsOf } from "../../facts.js";
import { errorLine } from "../format.js";
import { path as address, portNumber } from "../option-values.js";

export const forward = command({
  name: "forward",
  summary: "reach ports of the sandbox from this machine",
  usage: "[OPTIONS] [LOCAL:]PORT...",
  about:
    "Listens on this machine, and connects whoever connects there to a port in the sandbox, up to Ctrl+C. PORT is the port in the " +
    "sandbox, LOCAL the one here, as with `ssh -L`: without it, the same number, or any that is free where that one is taken; 0 is any " +
    "that is free. stdout has a line for each, such as `127.0.0.1:8080 -> 80`, once it can be connected to.",
  options: {
    host: {
      value: "ADDRESS",
      help: "the address to listen on; other machines reach it, too, if it is 0.0.0.0 [default: 127.0.0.1]",
    },
    ...CONNECTION,
  },
  operands: "<PORT...>",
  notes: `
What begins to listen in the sandbox later is reached then. Where nothing listens the connection is reset; stderr says why.

Exit codes:
  2    the command line is wrong
  125  sandpipe itself failed, as where a port here is taken; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
  141  stdout or stderr was closed
`,
  examples: [
    "sandpipe forward 5173",
    "sandpipe forward 8080:80 5432",
    "sandpipe wait-port 5173 && sandpipe forward 5173",
  ],

  async run(values, operands) {
    const ports = operands.map(parsed);
    const host = address("--host", values.host);
    const sandbox = await connectToNamed(values);
    const forwarded: ForwardedPort[] = [];
    return await interruptible(
      async ({ stdout, stderr }, stopping) => {
        // It also says whether the token is right.
        const listening = new Set((await sandbox.ports.list()).map(({ port }) => port));
        for (const { local, port } of ports) {
          const one = await forwardPort(sandbox, port, {
            localPort: local,
            host,
            onConnectionError: (error) => void stderr.write(errorLine(factsOf(error))),
          });
          forwarded.push(one);
          const at = one.host.includes(":") ? `[${one.host}]` : one.host;
          await stdout.write(`${at}:${one.port} -> ${port}\n`);
          if (!listening.has(port)) {
            await stderr.write(errorLine(`nothing listens on port ${port} in the sandbox yet.`));
          }
        }
        await aborted(stopping);
        return undefined;
      },
      async () => {
        await Promise.all(forwarded.map((one) => one.close()));
        sandbox.close();
      },
    );
  },
});

function parsed(written: string): { local: number | undefined; port: number } {
  const [first = "", second, ...more] = written.split(":");
  if (more.length > 0) {
    throw new UsageError(`a port must be like 5173 or 8080:80, but is "${written}"`);
  }
  if (second === undefined) return { local: undefined, port: portNumber("PORT", first) };
  const local = first === "0" ? 0 : portNumber("LOCAL", first);
  return { local, port: portNumber("PORT", second) };
}
