import { onAbort, throwIfAborted } from "../abort.js";
import type { Background } from "../background.js";
import type { BackgroundProcess, BackgroundWaitOptions } from "../core/sandpipe.js";
import { BackgroundError, isSandpipeError } from "../core/errors.js";
import { explained } from "./failure.js";
import { inputSchema } from "./input.js";
import { statusLine, keepNewest } from "./processes.js";
import { readExcerpt } from "./read-excerpt.js";
import { binaryText, isBinary, lastOf, oneLine, plainText } from "./text.js";
import { defineTool, type Tool, type ToolCallOptions } from "./tool.js";

/** How often there is progress, in milliseconds. */
const PROGRESS_MS = 1000;

/** How much of the newest output is reported, in characters, and in bytes that hold as many of most texts. */
const NEWEST = 1000;
const NEWEST_BYTES = 4096;

/** The longest timeout, in seconds: a week. */
export const MAX_TIMEOUT_SECS = 604_800;

/**
 * Has bash run the script where there is one, though the target's `sh` is another: a model writes bash.
 *
 * It is a line of its own, as another shell may not be able to read the script's first; and bash is given
 * the script without it, so that the numbers of lines in messages are the script's own.
 */
const IN_BASH =
  'tail -n +2 "$0" >"$0.bash" && exec "$(command -v bash || command -v sh)" "$0.bash"; exit 126\n';

/** Has stdout and stderr in one file, in order of arrival. */
const JOINED = "exec 2>&1; ";

/** The tool that runs a script, in the foreground or in the background. */
export function bashTool(
  processes: Background,
  { maxOutputChars, timeoutSecs }: { maxOutputChars: number; timeoutSecs: number },
): Tool<"bash"> {
  return defineTool({
    name: "bash",
    description: `Runs a script with bash (sh where there is none) and gives its exit code and its output, stdout and stderr in order of arrival. Each call is a shell of its own: directory and variables do not stay. Its stdin is empty. Output of more than ${maxOutputChars} characters is cut in the middle, and of binary output there is only its length; all of it is in a file that the result names. What runs for long or for ever, such as a server, belongs in the background: run_in_background returns at once with a process_id for the tools bash_background_output, bash_background_list and bash_background_terminate.`,
    inputSchema: inputSchema(
      {
        script: { type: "string", minLength: 1, description: "The script, of any length." },
        timeout_secs: {
          type: "number",
          minimum: 0.001,
          maximum: MAX_TIMEOUT_SECS,
          description: `After so many seconds it is stopped with all that it started. Default: ${timeoutSecs}; in the background: none.`,
        },
        run_in_background: {
          type: "boolean",
          description: "Return at once and let it run. Default: false.",
        },
        display_name: {
          type: "string",
          description: "A short name for people and lists. Default: the script's beginning.",
        },
      },
      ["script"],
    ),
    annotations: {
      title: "Run a shell script",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    run: async (input, options) => {
      const name = input.display_name ?? oneLine(input.script.trim().split("\n", 1)[0] ?? "");
      const script = IN_BASH + input.script;
      if (input.run_in_background === true) {
        const timeout = input.timeout_secs;
        const limit = timeout === undefined ? {} : { timeoutMs: timeout * 1000 };
        const process = await processes.spawn(script, { name, ...limit });
        await keepNewest(processes);
        // Nobody would learn of it.
        if (options.signal?.aborted === true) await processes.terminate(process.id);
        throwIfAborted(options.signal);
        return started(process);
      }
      const timeoutMs = (input.timeout_secs ?? timeoutSecs) * 1000;
      const process = await processes.spawn(JOINED + script, { name, timeoutMs });
      try {
        const ended = await untilTheEnd(processes, process.id, options);
        return await report(processes, ended, maxOutputChars);
      } catch (cause) {
        throw lost(process.id, cause);
      }
    },
  });
}

function started({ id, stdoutPath, stderrPath }: BackgroundProcess): string {
  const fields = [`process_id: ${id}`, `stdout_path: ${stdoutPath}`, `stderr_path: ${stderrPath}`];
  return `${fields.join("\n")}\n\nIt runs in the background.`;
}

/** A process that has ended. */
interface Ended {
  process: BackgroundProcess;
  wasInterrupted: boolean;
}

/** Waits until a process has ended, or `signal` is aborted and it has been stopped. */
async function untilTheEnd(
  processes: Background,
  id: string,
  options: ToolCallOptions,
): Promise<Ended> {
  let stopping: Promise<BackgroundProcess> | undefined;
  const stop = (): void => {
    stopping = processes.terminate(id);
    // It is awaited below, later.
    stopping.catch(() => undefined);
  };
  const { signal } = options;
  const endListening = onAbort(signal, stop);
  if (signal?.aborted === true) stop();
  try {
    const process = await follow(processes, id, options);
    return { process: (await stopping) ?? process, wasInterrupted: stopping !== undefined };
  } catch (error) {
    // The wait ended because of the signal.
    if (stopping === undefined) throw error;
    return { process: await stopping, wasInterrupted: true };
  } finally {
    endListening();
  }
}

async function follow(
  processes: Background,
  id: string,
  { signal, onProgress }: ToolCallOptions,
): Promise<BackgroundProcess> {
  const waiting: BackgroundWaitOptions = {};
  if (signal !== undefined) waiting.signal = signal;
  if (onProgress !== undefined) waiting.timeoutMs = PROGRESS_MS;
  let outputBytes = 0;
  for (;;) {
    const process = await processes.wait(id, waiting);
    if (process.status !== "running") return process;
    const read = { stream: "stdout", tailBytes: NEWEST_BYTES } as const;
    const { output, nextOffset } = await processes.readOutput(id, read);
    if (nextOffset === outputBytes) continue;
    outputBytes = nextOffset;
    const newest = isBinary(output) ? binaryText(outputBytes) : lastOf(plainText(output), NEWEST);
    onProgress?.({ outputBytes, newest });
  }
}

/** Says what became of a process, and removes its files unless there is more in them. */
async function report(
  processes: Background,
  { process, wasInterrupted }: Ended,
  budget: number,
): Promise<string> {
  const { id, stdoutPath } = process;
  const { text, isCut, nextOffset } = await readExcerpt(processes, id, "stdout", 0, budget);
  const head = [statusLine(process)];
  if (wasInterrupted) head.push("interrupted: it was told to stop, with all that it had started");
  const left = isCut
    ? `full output: ${stdoutPath} (${nextOffset} bytes)`
    : await whyNotRemoved(processes, id);
  if (left !== undefined) {
    head.push(left);
    await keepNewest(processes);
  }
  return `${head.join("\n")}\n\n${text === "" ? "(no output)" : text}`;
}

/** Removes a process. Where something that it started still runs, it stays, so that this can be stopped. */
async function whyNotRemoved(processes: Background, id: string): Promise<string | undefined> {
  try {
    await processes.remove(id);
    return undefined;
  } catch (error) {
    const isRunning = isSandpipeError(error, "background") && error.reason === "running";
    const why = isRunning
      ? "something that it started still runs; bash_background_terminate stops it"
      : `it could not be removed: ${explained(error)}`;
    return `still there: ${why} (process_id: ${id})`;
  }
}

/** The command may have been started, and can't be asked any more. */
function lost(id: string, cause: unknown): BackgroundError {
  return new BackgroundError(
    `${explained(cause)}. The command may still run: its process_id is ${id}, for bash_background_output and bash_background_terminate`,
    { operation: "bash", output: "", id, cause },
  );
}
