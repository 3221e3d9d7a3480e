import { setTimeout as delay } from "node:timers/promises";

import { CLIENT_NAMES, clientConfig } from "../../mcp/client-config.js";
import { background } from "../../node.js";
import { policyOf } from "../../policy-summary.js";
import { policyText } from "../../tools/policy-text.js";
import { toolsWith } from "../../tools/tools.js";
import { agentNamed } from "../agent.js";
import { command, type Options, UsageError, type Values } from "../command.js";
import { aborted, ExitDecision } from "../exit-decision.js";
import type { Outcome } from "../outcome.js";
import {
  type ReachedRuntime,
  reachOwnAgent,
  reachRuntime,
  RUNTIME,
  runtimeArguments,
} from "../machine.js";
import { OutputWriter } from "../output-writer.js";
import { agentWithWalls, startConfined, WALLS, wallsArguments } from "../policy.js";
import { ownProgramOutsideOf, workspaceHere } from "../own-program.js";
import { version } from "../version.js";

/** How long a connection may take to close when the end is forced, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/** The options that say where the commands run, and what they may touch. */
const PLACE = {
  ...RUNTIME,
  local: { help: "on this machine, without a policy" },
  ...WALLS,
} as const satisfies Options;

export const mcp = command({
  name: "mcp",
  summary: "serve shell and file tools to an AI agent over the Model Context Protocol",
  usage: "[OPTIONS]",
  about:
    "Serves the tools bash, bash_background_list, bash_background_output, bash_background_terminate, " +
    "file_read, file_write, file_edit and file_list over stdin and stdout, to the client that starts it. " +
    "Commands run on this machine under the policy `workspace`, unless a machine, a policy or an image is named.",
  options: {
    ...PLACE,
    "print-config": {
      value: "CLIENT",
      offers: CLIENT_NAMES,
      help: `print what to paste into a client's configuration, with the other options: ${CLIENT_NAMES.join(", ")}`,
    },
  },
  notes: `
--print-config fills in --workspace with the current directory: clients start servers elsewhere.

Under a policy or in an image, background processes end with the server. With --local, --ssh or an agent they outlive it, and the
next server finds them.

It ends, with exit code 0, when stdin ends or on SIGTERM, SIGHUP or SIGQUIT; after Ctrl+C it dies of
SIGINT. What runs in the foreground is stopped first: SIGTERM to its process group, SIGKILL after 10
seconds. A second signal has it die of the first within a second: what it could not stop goes on up to
its timeout.
`,
  examples: [
    "sandpipe mcp --print-config claude",
    "sandpipe mcp --policy offline --workspace ~/app --print-config claude",
    "sandpipe mcp --image node:22 --workspace . --print-config claude",
    "sandpipe mcp --ssh build.example.com --print-config codex >> ~/.codex/config.toml",
  ],

  async run({ "print-config": client, ...values }) {
    const own = agentWithWalls(values);
    const machine = runtimeArguments(values);
    if (own !== undefined && machine.length > 0) {
      const asking = values.image === undefined ? "a policy" : "--image";
      const message = `${machine[0]} names a machine, and ${asking} asks for an agent of its own`;
      throw new UsageError(`${message}: give one of them`);
    }
    if (client !== undefined) {
      const isElsewhere = values.ssh !== undefined || values.url !== undefined;
      const directory = isElsewhere ? undefined : (values.workspace ?? workspaceHere());
      const program = ownProgramOutsideOf(directory === undefined ? [] : [directory]);
      // Clients start servers in `/`, or in the home.
      const isConfined = machine.length === 0 && values.image === undefined;
      if (isConfined && directory === undefined && values.policy !== "open") {
        throw new UsageError(NO_WORKSPACE);
      }
      const workspace = isConfined ? directory : values.workspace;
      const options = [...machine, ...wallsArguments({ ...values, workspace })];
      return printConfig(client, program, options);
    }
    const exit = new ExitDecision();
    exit.listenToSignals();
    const runtime = await (own === undefined
      ? reachPlace(values)
      : startConfined(own, reachOwnAgent));
    // It is large, and no other command needs it.
    const { serve } = await import("../../mcp/serve.js");
    const log = new OutputWriter(process.stderr);
    const onError = ({ message }: Error): void => void log.write(`sandpipe: ${message}\n`);
    // The program has V8 match so (sandpipe.ts).
    const tools = toolsWith(background, "linear")(runtime);
    const policy = policyOf(runtime);
    const instructions = policy === undefined ? undefined : policyText(policy);
    const served = { tools, instructions, version: version(), signal: exit.decided, onError };
    const forced = aborted(exit.forced);
    try {
      await Promise.race([serve(served), forced]);
    } finally {
      await Promise.race([runtime.close(), forced.then(() => delay(CLOSE_TIMEOUT_MS))]);
    }
    if (exit.forced.aborted) {
      const message =
        "there was no answer yet: what ran in the foreground may go on, up to its timeout.";
      return { ...(await exit.wait()), message };
    }
    // To end at another signal is what it waits for, as at the end of stdin.
    return exit.signal === "SIGINT" ? await exit.wait() : { exitCode: 0 };
  },
});

const NO_WORKSPACE =
  "no policy confines commands in the home, or above it: give --workspace DIR, or run this in the directory of the project";

/**
 * The machine that is named; where none is, this one under the policy `workspace`: the caller is a model.
 *
 * @throws {AgentError} The policy can't be held here.
 */
async function reachPlace(values: Values<typeof RUNTIME>): Promise<ReachedRuntime> {
  const isNamed = runtimeArguments(values).length > 0 || (await agentNamed(values)) !== undefined;
  return await (isNamed ? reachRuntime(values) : startConfined({}, reachOwnAgent));
}

async function printConfig(
  client: string,
  program: readonly [string, ...string[]],
  options: readonly string[],
): Promise<Outcome> {
  const config = clientConfig(client, program, options);
  if (config === undefined) {
    const known = CLIENT_NAMES.join(", ");
    throw new UsageError(`--print-config must be one of ${known}, but is "${client}"`);
  }
  await new OutputWriter(process.stdout).write(config.text);
  const why =
    "a project's configuration can be changed by commands, and what it names runs unconfined";
  return { exitCode: 0, message: `it belongs in ${config.file}: ${why}.` };
}
