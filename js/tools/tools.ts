import { checkAwaited, checkFields } from "../arguments.js";
import type { MakeBackground } from "../background.js";
import type { BackgroundOptions } from "../core/sandpipe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { policyOf } from "../policy-summary.js";
import type { Runtime } from "../runtime.js";
import { bashBackgroundListTool } from "./bash-background-list.js";
import { bashBackgroundOutputTool, type Matching } from "./bash-background-output.js";
import { bashBackgroundTerminateTool } from "./bash-background-terminate.js";
import { bashTool, MAX_TIMEOUT_SECS } from "./bash.js";
import { fileEditTool } from "./file-edit.js";
import { fileListTool } from "./file-list.js";
import { fileReadTool } from "./file-read.js";
import { fileWriteTool } from "./file-write.js";
import { filesOf } from "./files-of.js";
import { OneAtATime } from "./one-at-a-time.js";
import type { Tool } from "./tool.js";
import { underPolicy } from "./under-policy.js";

/** How the tools work, and where their processes have their directories. */
export interface ToolsOptions extends BackgroundOptions {
  /**
   * The most output in a result, in characters (UTF-16 code units), from 100 to 16 million. A longer one is cut
   * in the middle. Default: 30 000.
   */
  maxOutputChars?: number;
  /** The timeout of a command in the foreground that names none, in seconds, up to a week. Default: 120. */
  timeoutSecs?: number;
  /**
   * A name that keeps the tools' processes apart from others in the same `baseDir`. Of those in it that have
   * ended, all but the newest 50 are removed, with their output. Default: `tools`.
   */
  namespace?: string;
}

/** The tools, in this order; their types have their names. */
export type Tools = [
  Tool<"bash">,
  Tool<"bash_background_list">,
  Tool<"bash_background_output">,
  Tool<"bash_background_terminate">,
  Tool<"file_read">,
  Tool<"file_write">,
  Tool<"file_edit">,
  Tool<"file_list">,
];

/**
 * The tools that an AI agent needs to work with a shell and with files, over a sandbox, a session, this machine,
 * one over SSH or another runtime of yours. Files are a sandbox's `files`; where there are none, the shell reads
 * and writes them. It makes no request. Where the policy is known without one, as of a sandbox that `createSandbox` has
 * started, the descriptions name it, and results say what it has refused.
 *
 * @example
 * const [bash] = tools(sandbox);
 * console.log(await bash.execute({ script: "ls" }));
 *
 * @throws {InvalidArgumentError} An option is wrong. A wrong runtime, `baseDir` or `namespace` shows with the
 * first call of a tool.
 */
export type MakeTools = (runtime: Runtime, options?: ToolsOptions) => Tools;

const OPTIONS = ["baseDir", "namespace", "maxOutputChars", "timeoutSecs"];

/** More than the mark of a cut has. */
const MIN_CHARS = 100;

/** What can be read at once, in characters of up to four bytes each. */
const MAX_CHARS = 16_000_000;

/**
 * `tools` for a JavaScript runtime, which has its own way to get at the WebAssembly module.
 *
 * @param matching How that runtime matches regular expressions.
 * @internal
 */
export function toolsWith(
  background: MakeBackground,
  matching: Matching = "backtracking",
): MakeTools {
  return (runtime, options = {}) => {
    checkAwaited("runtime", runtime);
    checkFields(options, OPTIONS);
    const { maxOutputChars = 30_000, timeoutSecs = 120, namespace = "tools", ...place } = options;
    check("maxOutputChars", maxOutputChars, MIN_CHARS, MAX_CHARS);
    check("timeoutSecs", timeoutSecs, 1, MAX_TIMEOUT_SECS);
    const processes = background(runtime, { ...place, namespace });
    const limits = { maxOutputChars, timeoutSecs };
    const files = filesOf(runtime);
    const changes = new OneAtATime();
    const made: Tools = [
      bashTool(processes, limits),
      bashBackgroundListTool(processes, limits),
      bashBackgroundOutputTool(processes, { ...limits, matching }),
      bashBackgroundTerminateTool(processes),
      fileReadTool(files, limits),
      fileWriteTool(files, changes),
      fileEditTool(files, changes, limits),
      fileListTool(files, limits),
    ];
    const policy = policyOf(runtime);
    return policy === undefined
      ? made
      : (made.map((tool) => underPolicy<string>(tool, policy)) as Tools);
  };
}

function check(name: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
  const shown = typeof value === "number" ? String(value) : typeof value;
  throw new InvalidArgumentError(
    `\`options.${name}\` must be a whole number from ${least} to ${most}, but is ${shown}`,
  );
}
