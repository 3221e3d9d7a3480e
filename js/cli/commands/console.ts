import { setTimeout as delay } from "node:timers/promises";

import type { AgentAddress } from "../../node/agent-address.js";
import {
  agentFlags,
  agentNamed,
  CONNECTION,
  exportLines,
  LISTENER,
  type NamedAgent,
  serveAgent,
  tokenOf,
} from "../agent.js";
import { command, UsageError } from "../command.js";
import { interruptible, type StandardOutput } from "../exit-decision.js";
import { type OpenedPage, openInBrowser } from "../open-in-browser.js";
import { agentWithWalls, startConfined, WALLS } from "../policy.js";

/** How long a browser that is only started now may take to read the page, in milliseconds. */
const BROWSER_START_MS = 30_000;

export const browserConsole = command({
  name: "console",
  summary: "open the console of an agent in the browser",
  usage: "[OPTIONS] [-- FLAGS...]",
  about:
    "Runs an agent whose commands the policy `workspace` confines, or takes the one that is named, prints the address of its " +
    "console and opens it in the browser. The address has the agent's token in it: who knows it can run " +
    "commands there.",
  options: {
    "no-open": { help: "only print the address" },
    ...LISTENER,
    ...WALLS,
    ...CONNECTION,
  },
  operands: "[FLAGS...]",
  endsAtOperand: true,
  passesFlags: true,
  notes: `
Exit codes: as of \`sandpipe agent\`.
`,
  examples: ["sandpipe console", "sandpipe console --no-open --workspace /srv/app"],

  async run(values, operands) {
    const flags = agentFlags(values, operands);
    const named = await agentNamed(values);
    const own = agentWithWalls(values);
    if (named !== undefined && (flags.length > 0 || own !== undefined)) {
      throw new UsageError(
        "a policy, an image, a workspace and flags are for an agent that is started here, and another one is named",
      );
    }
    let page: Promise<OpenedPage> | undefined;
    const show = async (agent: NamedAgent, { stdout }: StandardOutput): Promise<void> => {
      const address = addressOf(agent);
      await stdout.write(`The console is at ${address}\n`);
      if (!values["no-open"]) page = openInBrowser(address);
    };
    try {
      if (named === undefined) {
        const announce = async (address: AgentAddress, output: StandardOutput): Promise<void> => {
          await show({ url: address.url, token: await tokenOf(address) }, output);
          await output.stdout.write(directions(address));
        };
        const options = { ...own, args: [...(own?.args ?? []), ...flags] };
        return await startConfined(options, ({ args = [], ...walls }) =>
          serveAgent(args, announce, walls),
        );
      }
      return await interruptible(async (output, stopping) => {
        await show(named, output);
        if ((await page)?.opened === true)
          await delay(BROWSER_START_MS, undefined, { signal: stopping });
        return undefined;
      });
    } finally {
      await (await page)?.remove();
    }
  },
});

/** Says how to use the agent of the console beside the page. */
function directions(address: AgentAddress): string {
  return `To use the agent from another terminal:
${exportLines(address)}Ctrl+C stops the agent with all that it runs.
`;
}

/** The page takes the token from the fragment, which is sent to no server. */
function addressOf({ url, token }: NamedAgent): string {
  const address = new URL(url);
  if (!address.pathname.endsWith("/")) address.pathname += "/";
  if (token !== undefined) address.hash = `token=${encodeURIComponent(token)}`;
  return address.href;
}
