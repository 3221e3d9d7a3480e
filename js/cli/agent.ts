import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Execs } from "../execs.js";
import { connect } from "../node.js";
import type { AgentAddress } from "../node/agent-address.js";
import {
  type AgentProcess,
  endUnready,
  printFromAgent,
  spawnAgent,
} from "../node/agent-process.js";
import { type ContainerOptions, containerOptions } from "../node/container/options.js";
import { startContainer } from "../node/container/start.js";
import { policyFlags } from "../node/policy.js";
import { newToken, startAgent, type StartAgentOptions } from "../node/start-agent.js";
import { policyOf, type PolicySummary } from "../policy-summary.js";
import type { Sandbox } from "../sandbox.js";
import { grouped, type Options, UsageError, type Values } from "./command.js";
import { aborted, ExitDecision, killOverdue, type StandardOutput } from "./exit-decision.js";
import { folderOfTokens } from "./folder-of-tokens.js";
import { shellQuote } from "./format.js";
import { type Outcome, OWN_FAILURE } from "./outcome.js";
import { startConfined } from "./policy.js";
import { withProgress } from "./progress.js";

/** The options that name an agent. */
export const CONNECTION = grouped("Connection", {
  url: {
    value: "URL",
    help: "the agent's address [default: $SANDPIPE_URL]",
  },
  "token-file": {
    value: "FILE",
    help: "the file with the agent's token [default: the token itself in $SANDPIPE_TOKEN]",
  },
});

/** Flags of sandpipe-agent that are options here, too. */
export const LISTENER = {
  listen: { value: "IP:PORT", help: "the address to listen on [default: 127.0.0.1:57468]" },
  "state-dir": {
    value: "DIR",
    help: "where output and the token are kept [default: ~/.local/state/sandpipe-agent]",
  },
} as const satisfies Options;

/** The flags of sandpipe-agent that the options and operands ask for. */
export function agentFlags(values: Values<typeof LISTENER>, flags: readonly string[]): string[] {
  const { listen, "state-dir": stateDir } = values;
  return [
    ...(listen === undefined ? [] : [`--listen=${listen}`]),
    ...(stateDir === undefined ? [] : [`--state-dir=${stateDir}`]),
    ...flags,
  ];
}

/** Where an agent is, and the token to use it with. */
export interface NamedAgent {
  url: string;
  token: string | undefined;
}

/** The agent that the options or the environment name; undefined where none is named. */
export async function agentNamed(
  values: Values<typeof CONNECTION>,
): Promise<NamedAgent | undefined> {
  const { url = setting("SANDPIPE_URL"), "token-file": tokenFile } = values;
  if (url !== undefined) {
    checkAddress(values.url === undefined ? "SANDPIPE_URL" : "--url", url);
  }
  if (url === undefined) {
    if (tokenFile === undefined) return undefined;
    throw new UsageError(
      "--token-file needs the address of its agent: give --url too, or set SANDPIPE_URL",
    );
  }
  const token = tokenFile === undefined ? setting("SANDPIPE_TOKEN") : await readToken(tokenFile);
  return { url, token };
}

function checkAddress(option: string, url: string): void {
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) {
    const { origin, search, hash, username } = new URL(url);
    if (search === "" && hash === "" && username === "") return;
    // What is left out may be a token.
    const where = "the token goes into SANDPIPE_TOKEN, or into a file for --token-file";
    throw new UsageError(`${option} must be the agent's address alone, ${origin}: ${where}`);
  }
  const whole = `http://${url}`;
  const isBare = !url.includes("://") && URL.canParse(whole);
  const meant = isBare ? `: write ${whole}` : "";
  throw new UsageError(`${option} must be like http://127.0.0.1:57468, but is "${url}"${meant}`);
}

/** Connects to the agent that is named, if one is. */
export async function connectIfNamed(
  values: Values<typeof CONNECTION>,
): Promise<Sandbox | undefined> {
  const named = await agentNamed(values);
  if (named === undefined) return undefined;
  const { url, token } = named;
  return await connect(token === undefined ? { url } : { url, token });
}

/**
 * The same, for what needs an agent that exists.
 *
 * @throws {UsageError} None is named.
 */
export async function connectToNamed(values: Values<typeof CONNECTION>): Promise<Sandbox> {
  const sandbox = await connectIfNamed(values);
  if (sandbox !== undefined) return sandbox;
  throw new UsageError(
    "no agent is named: start one with `sandpipe agent`, then give --url or set SANDPIPE_URL",
  );
}

async function readToken(path: string): Promise<string> {
  let text;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the token file can't be read: ${reason}`, { cause });
  }
  const token = text.trim();
  if (token === "") throw new Error(`the token file ${path} is empty: put the agent's token in it`);
  return token;
}

/** What the environment says; empty is unset. */
function setting(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}

/** The agent that runs a command. */
export interface Agent {
  execs: Execs;
  /** Whether it is this process's own, and ends with it. */
  own: boolean;
  /** Its policy, where it is known. */
  policy?: PolicySummary | undefined;
  /** Hosts with ports that its policy has refused, as its log names them. */
  refusedHosts?: ReadonlySet<string>;
  /**
   * Ends the connection, and an agent of its own with all that it runs; that at once when `forced` is aborted.
   * Rejects where the agent is still there some time after that.
   */
  close(forced: AbortSignal): Promise<void>;
}

/**
 * Connects to the agent that the options or the environment name, else to one that it starts.
 *
 * @param own It is to be one of its own, like this.
 */
export async function reachAgent(
  values: Values<typeof CONNECTION>,
  own?: StartAgentOptions,
): Promise<Agent> {
  const sandbox = own === undefined ? await connectIfNamed(values) : undefined;
  if (sandbox === undefined) return await startConfined(own ?? {}, startOwnAgent);
  return {
    execs: sandbox.execs,
    own: false,
    close: async () => {
      sandbox.close();
    },
  };
}

/**
 * How far a command may be ahead of its reader. The agent never makes it wait and drops what is
 * beyond this, which is then an error here: more than most commands write, less than most disks have.
 */
const SPOOL_LIMIT = "4GiB";

async function startOwnAgent(options: StartAgentOptions): Promise<Agent> {
  const args = [...(options.args ?? []), "--spool-limit", SPOOL_LIMIT];
  const refusedHosts = new Set<string>();
  const onLog = (line: string): void => {
    const refused = REFUSED_HOST.exec(line)?.[1];
    if (refused === undefined) showOwnLog(line);
    else refusedHosts.add(refused);
  };
  const agent = await startAgent({ ...options, args, onLog });
  const sandbox = await connect({ url: agent.url, token: agent.token });
  const end = async (forceSignal: AbortSignal): Promise<void> => {
    sandbox.close();
    const overdue = killOverdue(forceSignal).then(() => {
      throw new Error("the command's own agent has not ended: the command may still run.");
    });
    await Promise.race([agent.stop({ forceSignal }), overdue]);
  };
  let ending: Promise<void> | undefined;
  const policy = policyOf(agent);
  const close = (forced: AbortSignal): Promise<void> => (ending ??= end(forced));
  return { execs: sandbox.execs, own: true, policy, refusedHosts, close };
}

/** Host and port in the log of a connection that the policy refused: `run` names all at its end. */
const REFUSED_HOST = /no rule of the policy's network\.allow names (\S+)(?: left_out=\d+)?$/;

/** Shows a line of the log of an agent that belongs to this program. */
export function showOwnLog(line: string): void {
  process.stderr.write(`${line.replace(/^sandpipe-agent: /, "sandpipe: ")}\n`);
}

/** The agent's flags with which it does something else than listen, and ends. */
const ONE_SHOT_FLAGS = new Set(["--help", "-h", "--version", "-V", "--health-check"]);

/**
 * Runs an agent in the foreground: a signal stops it with all that it runs, a second one kills that. One that
 * does not come to listen has 2 s to end.
 *
 * @param args Flags for `sandpipe-agent`.
 * @param announce Called when it listens.
 * @param walls What is to be around what it runs.
 */
export async function serveAgent(
  args: readonly string[],
  announce: (address: AgentAddress, output: StandardOutput) => Promise<void>,
  walls: StartAgentOptions = {},
): Promise<Outcome> {
  if (args.some((arg) => ONE_SHOT_FLAGS.has(arg))) {
    const exitCode = printFromAgent(args);
    if (exitCode !== null) return { exitCode };
    return { exitCode: OWN_FAILURE, message: "the agent was ended by a signal." };
  }
  const exit = new ExitDecision();
  exit.stopAtSignals();
  const container = containerOptions(walls);
  const agent =
    container === undefined
      ? spawnAgent([...flagsOf(walls), ...args], showLog)
      : await spawnIn(container, args);
  const { child, listening, ended } = agent;
  const stopRequested = aborted(exit.decided).then(() => undefined);
  let address: AgentAddress | undefined;
  try {
    address = await Promise.race([
      withProgress("starting", listening.catch(withSecondAgent), exit.decided),
      stopRequested,
    ]);
    if (address !== undefined) {
      await Promise.race([announce(address, exit.output), stopRequested]);
      await Promise.race([ended, stopRequested]);
    }
  } finally {
    const stopping = stop();
    await withProgress("stopping what it runs", stopping, exit.forced);
  }
  const { outcome = { exitCode: OWN_FAILURE }, signal, unwritable } = exit;
  if (address === undefined) return { ...outcome, message: "the agent did not come to listen." };
  const { exitCode } = child;
  if (exitCode === 0) {
    if (unwritable) return outcome;
    if (signal === undefined) return { exitCode };
    const message = "the agent has ended, and all that it ran.";
    // To end at another signal is what it waits for.
    return signal === "SIGINT" ? { ...outcome, message } : { exitCode, message };
  }
  return { exitCode: exitCode ?? OWN_FAILURE, message: "the agent did not end as it should." };

  async function stop(): Promise<void> {
    if (address === undefined) return endUnready(agent, exit.forced);
    if (child.exitCode === null && child.signalCode === null) agent.signal("SIGTERM");
    // The agent takes a second one for "now"; of two that are the same one may be lost in the other.
    void aborted(exit.forced).then(() => {
      agent.signal("SIGINT");
    });
    await ended;
  }
}

/** Shows a line of the log of an agent that the user runs as such. */
function showLog(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Rejects with the error of an agent that did not start, and how it could beside another one. */
function withSecondAgent(error: unknown): never {
  const isTaken = /another agent uses|Address in use/i;
  if (!(error instanceof Error) || !isTaken.test(error.message)) throw error;
  error.message += ". For a second agent give both --listen 127.0.0.1:0 and --state-dir DIR";
  throw error;
}

/** The flags of an agent on this machine. */
function flagsOf({ workspace, policy, args = [] }: StartAgentOptions): string[] {
  const place = workspace === undefined ? [] : [`--workspace=${workspace}`];
  return [...place, ...policyFlags(policy), ...args];
}

/** Starts an agent in a container. Its token is in the environment, else in a file that is removed when it has ended. */
async function spawnIn(
  container: ContainerOptions,
  args: readonly string[],
): Promise<AgentProcess> {
  const given = process.env["SANDPIPE_ADMIN_TOKEN"];
  if (given !== undefined) return await startContainer(container, given, args, showLog);
  const token = newToken();
  const agent = await startContainer(container, token, args, showLog);
  // Only this user may enter it.
  const folder = mkdtemp(join(folderOfTokens(), "sandpipe-token-"));
  const write = async (): Promise<AgentAddress> => {
    const [address, path] = await Promise.all([agent.listening, folder]);
    const adminTokenFile = join(path, "admin-token");
    await writeFile(adminTokenFile, `${token}\n`, { mode: 0o600 });
    return { ...address, adminTokenFile };
  };
  const remove = async (): Promise<void> => rm(await folder, { recursive: true, force: true });
  return { ...agent, listening: write(), ended: agent.ended.then(remove) };
}

/** Says how another terminal uses an agent: two lines for its shell. */
export function exportLines({ url, adminTokenFile }: AgentAddress): string {
  const file = adminTokenFile === undefined ? undefined : shellQuote([adminTokenFile]);
  const token = file === undefined ? '"$SANDPIPE_ADMIN_TOKEN"' : `"$(cat ${file})"`;
  return `  export SANDPIPE_URL=${url}\n  export SANDPIPE_TOKEN=${token}\n`;
}

/** The token of an agent, for who may read it. */
export async function tokenOf({ adminTokenFile }: AgentAddress): Promise<string | undefined> {
  if (adminTokenFile === undefined) return process.env["SANDPIPE_ADMIN_TOKEN"];
  return (await readFile(adminTokenFile, "utf8")).trim();
}
