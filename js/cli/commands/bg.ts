import type { BackgroundProcess, SpawnOptions } from "../../core/sandpipe.js";
import type { Background } from "../../background.js";
import { isSandpipeError } from "../../core/errors.js";
import type { Runtime } from "../../runtime.js";
import { command, type CommandGroup, UsageError } from "../command.js";
import { onEach, stopEach } from "../each-id.js";
import { aborted, killOverdue } from "../exit-decision.js";
import { NO_PROGRAM, OWN_FAILURE, TIMED_OUT } from "../outcome.js";
import { idColumn, idLines, processesByPrefix } from "../ids.js";
import { onTarget, PLACE, processesAt, reachRuntime } from "../machine.js";
import { milliseconds, path, positiveNumber, shellVariables, timeLimit } from "../option-values.js";
import { errorLine, json, shellHint, shellQuote } from "../format.js";
import { withProgress } from "../progress.js";
import type { Column } from "../table.js";
import { logs } from "./bg-logs.js";

const start = command({
  name: "start",
  summary: "start a process and print its id",
  usage: "[OPTIONS] [--] COMMAND [ARGS...], or [OPTIONS] -c SCRIPT",
  about:
    "Starts a command, or a shell script, that goes on when sandpipe has ended, and prints its id. Its " +
    "stdin is empty; a hangup does not end it.",
  options: {
    command: { short: "c", value: "SCRIPT", help: "a shell script, in place of a command" },
    name: { value: "NAME", help: "a label, for people" },
    cwd: {
      short: "w",
      value: "DIR",
      help: "the directory that it runs in; ~/ is the home directory there",
    },
    env: {
      short: "e",
      value: "NAME[=VALUE]",
      multiple: true,
      help: "a variable more; NAME alone passes its value here on; repeatable",
    },
    timeout: {
      value: "TIME",
      help: "stop it after so long: SIGTERM, SIGKILL after 10 s; nobody has to look [default: never]",
    },
    json: { help: "print the process as a JSON object, not only its id" },
    ...PLACE,
  },
  operands: "[COMMAND...]",
  endsAtOperand: true,
  examples: [
    "sandpipe bg start --name 'dev server' -- npm run dev",
    "sandpipe bg start --ssh build.example.com -c 'make all && ./deploy'",
  ],

  async run(values, words) {
    const { command: script, name } = values;
    const cwd = path("--cwd", values.cwd);
    if ((script === undefined) === (words.length === 0)) {
      const example = "as in `sandpipe bg start -- npm run dev`, or a script with -c";
      throw new UsageError(`give either a command, ${example}`);
    }
    const options: SpawnOptions = { env: shellVariables(values.env) };
    const timeoutMs = timeLimit("--timeout", values.timeout);
    if (name !== undefined) options.name = name;
    if (cwd !== undefined) options.cwd = cwd;
    if (timeoutMs !== undefined) options.timeoutMs = timeoutMs;
    return await onTarget(values, async (processes, { stdout }, _, policy, runtime) => {
      const [word = ""] = words;
      if (words.length === 1 && /\s/.test(word) && !(await isProgram(runtime, word, options))) {
        return { exitCode: NO_PROGRAM, message: shellHint(process.argv.slice(2)) };
      }
      const started = await processes.spawn(script ?? shellQuote(words), options);
      await stdout.write(values.json ? json(started) : `${started.id}\n`);
      return policy === "open" ? { exitCode: 0, message: UNCONFINED } : undefined;
    });
  },
});

/** Returns whether a word is a program for a shell that is in place of the process. */
async function isProgram(
  runtime: Runtime,
  word: string,
  { cwd = "", env = {} }: SpawnOptions,
): Promise<boolean> {
  const { PATH } = env;
  const [, below] = /^~\/(.*)/s.exec(cwd) ?? [];
  const directory = below === undefined ? shellQuote([cwd]) : `~/${shellQuote([below])}`;
  const script = [
    // A directory that is not there is for the start to name.
    ...(cwd === "" ? [] : [`cd ${directory} || exit 0`]),
    ...(PATH === undefined ? [] : [`PATH=${shellQuote([PATH])}`]),
    `command -v ${shellQuote([word])}`,
  ];
  return (await runtime.run(script.join("\n"))).exitCode === 0;
}

const UNCONFINED =
  "it runs unconfined, with your permissions: `sandpipe run` confines what it runs.";

/** How many processes a table shows, unless more run. */
const LIMIT = 20;

const ls = command({
  name: "ls",
  summary: "list the processes",
  usage: "[OPTIONS]",
  about:
    "Lists the processes of a background namespace, newest first: all that run, and of those that have ended the " +
    "newest. AGE is since the start.",
  options: {
    all: { short: "a", help: "the processes of all namespaces, each with its own" },
    limit: {
      value: "NUMBER",
      help: `the newest so many, and those that run [default: ${LIMIT}; with -q or --json: all]`,
    },
    quiet: { short: "q", help: "only the ids" },
    json: {
      help:
        "one JSON array of objects with id, name, pid, status, exitCode, script, startedAt, exitedAt, " +
        "outputDir, stdoutPath, stderrPath; with --all also namespace",
    },
    ...PLACE,
  },
  examples: [
    "sandpipe bg ls",
    "sandpipe bg ls --all",
    "sandpipe bg ls --json | jq -r '.[] | select(.name == \"dev\").id'",
  ],

  async run(values) {
    const { all, namespace, quiet } = values;
    if (all && namespace !== undefined)
      throw new UsageError("--all and --namespace exclude each other");
    const given = values.limit === undefined ? undefined : positiveNumber("--limit", values.limit);
    const limit = given ?? (quiet || values.json ? Infinity : LIMIT);
    return await onTarget(values, async (processes, { stdout, stderr }, _, __, runtime) => {
      const listed = all ? await listAll(processes, runtime) : await processes.list();
      const shown = listed.filter(({ status }, index) => index < limit || status === "running");
      if (quiet) await stdout.write(idLines(shown));
      else await stdout.write(values.json ? json(shown) : await listing(shown));
      const left = listed.length - shown.length;
      if (left > 0 && !quiet && !values.json) {
        await stderr.write(
          errorLine(`${left} more have ended: --limit ${listed.length} shows all.`),
        );
      }
      return undefined;
    });
  },
});

/** A process in a list of several namespaces. */
type ListedProcess = BackgroundProcess & { namespace?: string };

/** Lists the processes of all namespaces, newest first. */
async function listAll(processes: Background, runtime: Runtime): Promise<ListedProcess[]> {
  const all: ListedProcess[] = [];
  for (const namespace of await processes.namespaces()) {
    const own = await processesAt(runtime, { namespace }).list();
    all.push(...own.map((process) => ({ namespace, ...process })));
  }
  return all.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
}

async function listing(processes: readonly ListedProcess[]): Promise<string> {
  // It knows the widths of all characters, which take a while to load.
  const { age, screenOf, table } = await import("../table.js");
  const screen = screenOf(process.stdout);
  const now = new Date();
  const namespaces: Column<ListedProcess>[] = processes.some(
    ({ namespace }) => namespace !== undefined,
  )
    ? [{ title: "NAMESPACE", text: ({ namespace = "" }) => namespace }]
    : [];
  const columns: Column<ListedProcess>[] = [
    idColumn(processes, screen),
    ...namespaces,
    {
      title: "STATUS",
      text: ({ status }) => status,
      colour: ({ status }) => COLOURS[status],
    },
    { title: "EXIT", text: ({ exitCode }) => (exitCode === undefined ? "" : String(exitCode)) },
    { title: "AGE", text: ({ startedAt }) => age(new Date(startedAt), now) },
    { title: "NAME", text: ({ name = "" }) => name },
    { title: "SCRIPT", text: ({ script }) => script },
  ];
  return table(columns, processes, screen);
}

const COLOURS = { running: "32", exited: undefined, killed: "33", failed: "31" } as const;

const wait = command({
  name: "wait",
  summary: "wait for the end of a process; its exit code becomes sandpipe's own",
  usage: "[OPTIONS] ID",
  about:
    "Waits for the end of a process, and ends with its exit code. ID may be the beginning of one.",
  options: {
    timeout: { value: "TIME", help: "wait no longer; the process goes on [default: for ever]" },
    ...PLACE,
  },
  operands: "<ID>",
  offers: "bg ls -q",
  notes: `
Ctrl+C ends the waiting, not the process.

Exit codes:
  the process's own  128 + N after death by signal N, 124 after its own timeout
  2                  the command line is wrong
  124                the timeout passed, and the process goes on; stderr says so
  125                sandpipe itself failed, or nobody knows how the process ended; stderr says why
  130                Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way
`,
  examples: ["sandpipe bg wait 3f9c04", "sandpipe bg wait --timeout 60 3f9c04 || echo 'not well'"],

  async run(values, [written = ""]) {
    const timeoutMs = timeLimit("--timeout", values.timeout);
    return await onTarget(values, async (processes, _, stopping) => {
      const { id } = await processesByPrefix(processes)(written);
      const options =
        timeoutMs === undefined ? { signal: stopping } : { signal: stopping, timeoutMs };
      const waiting = processes.wait(id, options);
      const { status, exitCode } = await withProgress(`waiting for ${id}`, waiting, stopping);
      if (status === "running") {
        return { exitCode: TIMED_OUT, message: `process ${id} still runs.` };
      }
      const unknown = `process ${id} is gone, and how it ended is not known.`;
      return exitCode === undefined ? { exitCode: OWN_FAILURE, message: unknown } : { exitCode };
    });
  },
});

const stop = command({
  name: "stop",
  summary: "stop processes and wait until they have ended",
  usage: "[OPTIONS] ID...",
  about:
    "Stops each process with all that it has started: SIGTERM to its process group, SIGKILL to what is " +
    "left after the grace period. It ends when nothing of them is left. ID may be the beginning of one.",
  options: {
    grace: { short: "t", value: "TIME", help: "how long they may take to end [default: 10s]" },
    ...PLACE,
  },
  operands: "<ID...>",
  offers: "bg ls -q",
  notes: `
Ctrl+C does not give it up; a second one kills at once. Exit codes: as of \`sandpipe stop\`.
`,
  examples: ["sandpipe bg stop 3f9c04", "sandpipe bg stop --grace 60 3f9c04 8a77e1"],

  async run(values, ids) {
    const graceMs = milliseconds("--grace", values.grace ?? "10");
    const runtime = await reachRuntime(values);
    const processes = processesAt(runtime, values);
    const find = processesByPrefix(processes);
    try {
      return await stopEach(ids, graceMs, async (written, forced) => {
        const { id } = await find(written);
        const stopped = processes.terminate(id, { graceMs });
        const killed = aborted(forced).then(() => processes.terminate(id, { graceMs: 0 }));
        return await Promise.race([stopped, killed]);
      });
    } finally {
      // After a kill that was not confirmed nothing more may come.
      await Promise.race([runtime.close(), killOverdue(AbortSignal.abort())]);
    }
  },
});

const rm = command({
  name: "rm",
  summary: "remove processes that have ended, with their output",
  usage: "[OPTIONS] ID... | --ended",
  about:
    "Removes processes that have ended, with their output: those that are named, or with --ended all. ID may be the " +
    "beginning of one. With --ended a process stays that left something running in its process group.",
  options: { ended: { help: "all that have ended; prints how many" }, ...PLACE },
  operands: "[ID...]",
  offers: "bg ls -q",
  notes: `
Exit codes:
  0    all are removed
  1    one could not be removed, since it runs, say; stderr says which and why
  2    the command line is wrong
  125  sandpipe itself failed; stderr says why
  130  Ctrl+C: it dies of SIGINT; 128 + N, of signal N, in the same way; some may have been removed
  141  stderr was closed
`,
  examples: ["sandpipe bg rm 3f9c04 8a77e1", "sandpipe bg rm --ended"],

  async run(values, ids) {
    const { ended } = values;
    if (ended && ids.length > 0) throw new UsageError("--ended removes all: leave out the ids");
    if (!ended && ids.length === 0) throw new UsageError("what is to be removed? ID... or --ended");
    return await onTarget(values, async (processes, output) => {
      if (ended) {
        await output.stdout.write(`${await removeEnded(processes)} removed\n`);
        return undefined;
      }
      const find = processesByPrefix(processes);
      return await onEach(ids, output, async (written) =>
        processes.remove((await find(written)).id),
      );
    });
  },
});

/** Removes the processes that have ended, and resolves how many. */
async function removeEnded(processes: Background): Promise<number> {
  const all = await processes.list();
  let removed = 0;
  for (const { id } of all.filter(({ status }) => status !== "running")) {
    try {
      await processes.remove(id);
      removed += 1;
    } catch (error) {
      const isBusy = isSandpipeError(error, "background") && error.reason === "running";
      // Or somebody else was faster.
      if (!isBusy && !isSandpipeError(error, "not_found")) throw error;
    }
  }
  return removed;
}

export const bg: CommandGroup = {
  name: "bg",
  summary: "processes in the background that outlive sandpipe",
  about:
    "Starts and looks after processes that go on when sandpipe has ended, on this machine, an agent's or " +
    "one over SSH. All that there is to know of them is in files there.",
  options: {},
  commands: [start, ls, logs, wait, stop, rm],
  examples: [
    "sandpipe bg start --name 'dev server' -- npm run dev",
    "sandpipe bg ls",
    "sandpipe bg logs -f --grep 'error|warn' 3f9c04",
  ],
};
