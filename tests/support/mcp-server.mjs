// @ts-check
// `sandpipe mcp` with the official SDK's client at its stdin and stdout.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { Client } from "@modelcontextprotocol/client";
// A transport over two streams, whoever's they are.
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

import { dist } from "../../scripts/project.mjs";

/** @import { ClientOptions } from "@modelcontextprotocol/client" */

const program = join(dist, "cli", "sandpipe.js");

/**
 * Starts a server and connects to it.
 *
 * @param {NodeJS.ProcessEnv} env added to this process's
 * @param {{ args?: readonly string[], client?: ClientOptions, command?: readonly string[], cwd?: string }} [options]
 * `command`: the program, if it is another than the one that was built
 */
export async function startServer(env, options = {}) {
  const { args = [], cwd, command = [process.execPath, program] } = options;
  const [file = "", ...first] = command;
  const own = { ...process.env, SANDPIPE_URL: "", ...env };
  const child = spawn(file, [...first, "mcp", ...args], { env: own, cwd });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (piece) => (stdout += piece));
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const end = once(child, "close").then(([exitCode, signal]) => {
    return { exitCode, signal, stderr, noise: stdout.split("\n").filter(isNoise) };
  });
  // One that was killed takes no more.
  child.stdin.on("error", () => undefined);

  const client = new Client({ name: "test", version: "1" }, options.client);
  await client.connect(new StdioServerTransport(child.stdout, child.stdin));
  return {
    client,
    child,
    end,

    /**
     * The text of a tool's result, which is no error.
     *
     * @param {string} name
     * @param {Record<string, unknown>} input
     * @param {Parameters<Client["callTool"]>[1]} [callOptions]
     */
    async call(name, input, callOptions) {
      const result = await client.callTool({ name, arguments: input }, callOptions);
      if (result.isError) throw new Error(`It is an error: ${JSON.stringify(result.content)}`);
      return textOf(result);
    },

    /** Closes stdin, as clients do, and gives how the server ended. */
    async close() {
      child.stdin.end();
      return end;
    },
  };
}

/** What is no message of the protocol. @param {string} line */
function isNoise(line) {
  return line !== "" && !/^\{.*"jsonrpc":"2\.0".*\}$/.test(line);
}

/** @param {Awaited<ReturnType<Client["callTool"]>>} result */
export function textOf({ content }) {
  const [first] = content;
  if (content.length !== 1 || first?.type !== "text") throw new Error(JSON.stringify(content));
  return first.text;
}
