import { mkdir, stat } from "node:fs/promises";
import { basename } from "node:path";

import { isSandpipeError } from "../../core/errors.js";
import { downloadTo } from "../../node/download.js";
import { orAborted } from "../../node/or-aborted.js";
import { ExchangedDirectoryError } from "../../node/trees/held-directory.js";
import { safeName, UnsafeNameError } from "../../node/trees/safe-name.js";
import { upload, type TransferOptions, type TransferProgress } from "../../node/upload.js";
import type { Sandbox } from "../../sandbox.js";
import { CONNECTION, connectToNamed } from "../agent.js";
import { command, UsageError } from "../command.js";
import { aborted, ExitDecision, type StandardOutput } from "../exit-decision.js";
import { failed } from "../failure.js";
import { shellQuote, sizeText } from "../format.js";
import type { Outcome } from "../outcome.js";
import { withProgress } from "../progress.js";
import { checkStdin, readStdin } from "../stdin.js";

/** What stands before a path in the sandbox. */
const PREFIX = "sandbox:";

/** What stands for stdin, or for stdout. */
const STANDARD = "-";

/** The exit code where a file could not be read or written, as `cp` has it. */
const NOT_COPIED = 1;

export const cp = command({
  name: "cp",
  summary: "copy files and directories into the sandbox, or out of it",
  usage: "[OPTIONS] SOURCE TARGET",
  about:
    "Copies a file, or a directory with all that is in it, into the sandbox or out of it: the side that begins with sandbox: is " +
    "a path there, absolute or relative to the agent's workspace. A TARGET that is a directory gets it under SOURCE's name, one that " +
    "ends with a slash is made where it is missing. - is stdin or stdout.",
  options: {
    exclude: {
      value: "PATTERN",
      multiple: true,
      help: "what to leave out of a directory, such as node_modules or 'src/**/*.log'; repeatable",
    },
    quiet: { short: "q", help: "show no progress on a terminal" },
    ...CONNECTION,
  },
  operands: "<SOURCE> <TARGET>",
  notes: `
Each file is there whole or as it was before, whatever happens. Modes are kept; times and symbolic links, which are not followed, are kept of
what is in directories. A directory that is there is kept, with what else is in it.

Exit codes:
  0    all is copied
  1    something could not be read or written; stderr says what
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; no file is there in part
  141  stdout or stderr was closed
`,
  examples: [
    "sandpipe cp src sandbox:",
    "sandpipe cp --exclude node_modules --exclude .git . sandbox:/work/app/",
    "sandpipe cp sandbox:report.html .",
    "tar c data | sandpipe cp - sandbox:data.tar",
    "sandpipe cp sandbox:data.tar - | tar x",
  ],

  async run({ exclude, quiet, ...values }, [from = "", to = ""]) {
    const copy = plan(from, to);
    if (from === STANDARD) checkStdin();
    if (exclude.length > 0 && (from === STANDARD || to === STANDARD)) {
      throw new UsageError("--exclude is for directories: leave it out with -");
    }
    const sandbox = await connectToNamed(values);
    const exit = new ExitDecision();
    exit.listenToSignals();
    let done: TransferProgress = { files: 0, bytes: 0 };
    const options: TransferOptions = {
      exclude,
      signal: exit.decided,
      onProgress: (progress) => (done = progress),
    };
    const what = (): string => `copying: ${counted(done.files, "file")}, ${sizeText(done.bytes)}`;
    const copying = copy(sandbox, options, exit.output).then(
      () => ({ exitCode: 0 }),
      (error: unknown) => failureOf(error),
    );
    // When a signal has come, what was written in part is still removed; of what goes to stdout there is nothing to remove.
    const over = to === STANDARD ? exit.decided : exit.forced;
    const outcome = await Promise.race([
      quiet ? copying : withProgress(what, copying, exit.decided),
      aborted(over).then(() => exit.wait()),
    ]);
    sandbox.close();
    return exit.outcome ?? outcome;
  },
});

type Copy = (sandbox: Sandbox, options: TransferOptions, output: StandardOutput) => Promise<void>;

/**
 * What is to be done.
 *
 * @throws {UsageError} It is nothing that can be.
 */
function plan(from: string, to: string): Copy {
  const [source, target] = [remotePath(from), remotePath(to)];
  if (from === "" || to === "") throw new UsageError("SOURCE and TARGET must not be empty");
  if (source === undefined && target === undefined) {
    const meant = shellQuote(isElsewhere(from) ? [meantBy(from), to] : [from, meantBy(to)]);
    throw new UsageError(
      `one side must be in the sandbox: write ${PREFIX}PATH, as in \`sandpipe cp ${meant}\``,
    );
  }
  if (source !== undefined && target !== undefined) {
    throw new UsageError("one side must be here: both are in the sandbox");
  }
  if (source !== undefined) {
    return to === STANDARD
      ? (sandbox, options, output) => writeTo(output, sandbox, source, options)
      : (sandbox, options) => copyHere(sandbox, source, to, options);
  }
  const remote = target ?? "";
  if (from === STANDARD && remote.endsWith("/")) {
    throw new UsageError(`stdin has no name: TARGET must be that of a file, but is ${to}`);
  }
  return from === STANDARD
    ? (sandbox, options) => writeStdin(sandbox, remote, options)
    : (sandbox, options) => copyThere(sandbox, from, remote, options);
}

/** What stands before a path in a container or on another machine, as other programs have it. */
const ELSEWHERE = /^[\w.@-]*:/;

function isElsewhere(operand: string): boolean {
  return ELSEWHERE.test(operand);
}

/** A path that may be meant in the sandbox, as it is written. */
function meantBy(operand: string): string {
  return PREFIX + operand.replace(ELSEWHERE, "");
}

function remotePath(operand: string): string | undefined {
  return operand.startsWith(PREFIX) ? operand.slice(PREFIX.length) || "." : undefined;
}

async function copyThere(
  sandbox: Sandbox,
  from: string,
  to: string,
  options: TransferOptions,
): Promise<void> {
  const stats = await stat(from);
  if (!stats.isFile() && !stats.isDirectory()) {
    throw new UsageError(`SOURCE must be a file, a directory or -, but is something else: ${from}`);
  }
  const isInto = to.endsWith("/") || (await isDirectoryThere(sandbox, to, options.signal));
  await upload(sandbox, from, isInto ? `${to.replace(/\/+$/, "")}/${nameOf(from)}` : to, options);
}

async function copyHere(
  sandbox: Sandbox,
  from: string,
  to: string,
  options: TransferOptions,
): Promise<void> {
  // What is not there makes no directory here.
  await orAborted(sandbox.files.stat(from), options.signal);
  if (to.endsWith("/")) await mkdir(to, { recursive: true });
  const stats = await stat(to).catch(() => undefined);
  const isInto = stats?.isDirectory() === true;
  if (stats !== undefined && !isInto && !stats.isFile()) {
    throw new UsageError(
      `TARGET must be a file, a directory, a new name or -, but is something else: ${to}`,
    );
  }
  const name = isInto ? safeName(nameOf(from)) : "";
  const path = name === "" ? to : `${to.replace(/\/+$/, "")}/${name}`;
  await downloadTo(sandbox, from, path, options, name === "");
}

async function writeStdin(sandbox: Sandbox, to: string, options: TransferOptions): Promise<void> {
  const { signal, onProgress } = options;
  await sandbox.files.write(to, readStdin(), {
    ...(signal === undefined ? {} : { signal }),
    onProgress: ({ bytes }) => onProgress?.({ files: 0, bytes }),
  });
}

async function writeTo(
  { stdout }: StandardOutput,
  sandbox: Sandbox,
  from: string,
  { signal, onProgress }: TransferOptions,
): Promise<void> {
  const stream = sandbox.files.readStream(from, signal === undefined ? {} : { signal });
  let bytes = 0;
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    await stdout.write(chunk);
    bytes += chunk.length;
    onProgress?.({ files: 0, bytes });
  }
}

async function isDirectoryThere(
  sandbox: Sandbox,
  path: string,
  signal: TransferOptions["signal"],
): Promise<boolean> {
  try {
    return (await orAborted(sandbox.files.stat(path), signal)).isDir;
  } catch (error) {
    if (isSandpipeError(error, "http") && error.status === 404) return false;
    throw error;
  }
}

/** The name that a file or a directory keeps; `.` where it has none: its content is meant then. */
function nameOf(path: string): string {
  const name = basename(path);
  return name === "." || name === ".." ? "." : name;
}

/** Whether a file or the agent is what failed. */
function failureOf(error: unknown): Outcome {
  if (error instanceof UsageError) throw error;
  const isOfNode = error instanceof Error && "syscall" in error && "code" in error;
  const isOfSystem = isOfNode || isSandpipeError(error, "system");
  // What has a hint is of the agent, such as its address or the token.
  const isRefused = isSandpipeError(error, "http") && error.hint === undefined;
  const isOfFile =
    isRefused ||
    isSandpipeError(error, "file_changed") ||
    error instanceof ExchangedDirectoryError ||
    error instanceof UnsafeNameError;
  const outcome = failed(error);
  return isOfSystem || isOfFile ? { ...outcome, exitCode: NOT_COPIED } : outcome;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
