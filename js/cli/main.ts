import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { parseArguments } from "./arguments.js";
import { failed } from "./ending.js";
import { MAIN_HELP, RUN_HELP } from "./help.js";
import { Outlet } from "./outlet.js";
import { run } from "./run.js";
import { UsageError } from "./usage-error.js";

/** How long the reader of stderr may take to take the last line, in milliseconds. */
const LAST_LINE_MS = 1000;

/** What a wrong command line ends with. */
const WRONG_USAGE = 2;

/** Does what the command line says, and gives the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const asked = parseArguments(args);
    switch (asked.action) {
      case "help":
        return await print(asked.topic === "run" ? RUN_HELP : MAIN_HELP);
      case "version":
        return await print(`sandpipe ${version()}\n`);
      case "run": {
        const { exitCode, message } = await run(asked.options);
        if (message !== undefined) await complain(message);
        return exitCode;
      }
    }
  } catch (error) {
    const { exitCode, message } = failed(error);
    await complain(message);
    return error instanceof UsageError ? WRONG_USAGE : exitCode;
  }
}

async function print(text: string): Promise<number> {
  await new Outlet(process.stdout).write(text);
  return 0;
}

/** Says on stderr, on one line, what went wrong and what to do. */
async function complain(message: string): Promise<void> {
  const line = `sandpipe: ${message.replaceAll(/\s*[\r\n]+\s*/g, " ").trim()}\n`;
  await Promise.race([new Outlet(process.stderr).write(line), delay(LAST_LINE_MS)]);
}

function version(): string {
  const path = new URL("../package.json", import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
