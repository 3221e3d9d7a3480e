// What `ssh` says when it fails, and what to do about it.
import { InterruptedError, SshError } from "../../core/errors.js";

const HINTS: [pattern: RegExp, hint: string][] = [
  [
    /HOST IDENTIFICATION HAS CHANGED/i,
    "Its key is not the known one: somebody may be in between. Only if you know why it changed, remove the old key with `ssh-keygen -R`.",
  ],
  [
    /host key verification failed|no .* host key is known/i,
    "Its key is not known: connect once by hand and compare it, or name a file that has it as `knownHostsFile`.",
  ],
  [
    /permission denied|too many authentication failures/i,
    "Check `user` and `identityFile`, and that the host knows the key. No password is asked for: load a key that has one into ssh-agent.",
  ],
  [/could not resolve hostname/i, "Check `host`."],
  [
    /connection refused|timed out|no route to host|network is unreachable|connection reset|connection closed/i,
    "Check `host` and `port`, and that an SSH server can be reached there.",
  ],
  [/session open refused|session request failed/i, "Raise MaxSessions of the SSH server."],
  [
    /control ?path|control socket|unix.*too long/i,
    "Set TMPDIR to a folder with a short path that can be written.",
  ],
];

/**
 * The banner around a changed key, for people at a terminal; a setting of ours that this `ssh` was built
 * without, as GSSAPIDelegateCredentials, and does not need therefore.
 */
const IRRELEVANT = /^(@|command-line line \d+: Unsupported option )/;

/** The error of a host that could not be reached, or does not let us in. Nothing was run. */
export function refusal(host: string, said: string): SshError {
  return new SshError(explain(`${host} can't be reached over SSH`, said), {
    hint: hint(said),
    host,
    mayHaveRun: false,
    output: "",
  });
}

/** The error of a script whose end was not seen. */
export function lost(host: string, said: string, output: string): SshError {
  const what = `the connection to ${host} was lost: what became of the script is not known`;
  return new SshError(explain(what, said, "It may have run: look before you run it again."), {
    hint: "It may have run: look before you run it again.",
    host,
    mayHaveRun: true,
    output,
  });
}

/** The error of a host that let us in and ran something else than a shell. The script was not run. */
export function noShell(host: string, exitCode: number, said: string): SshError {
  const advice = "Check that no ForceCommand or login shell of the host keeps `sh` from being run.";
  const what = `${host} gave no shell, but ended with ${exitCode}`;
  return new SshError(explain(what, said.slice(0, 1000), advice), {
    hint: advice,
    host,
    mayHaveRun: false,
    output: "",
  });
}

/** The error of a script that was stopped. */
export function interrupted(
  signal: AbortSignal,
  output = "",
  stopped: Stopped = { forced: false },
): InterruptedError {
  const { forced, left = false, cause } = stopped;
  return new InterruptedError(`interrupted${left ? "; it may still run" : ""}`, {
    cause: cause ?? (signal.reason as unknown),
    output,
    exitCode: 130,
    forced,
  });
}

/** What became of a stop. */
export interface Stopped {
  /** It took SIGKILL. */
  forced: boolean;
  /** Something may still run. */
  left?: boolean;
  /** Why it may. */
  cause?: unknown;
}

/** The error of a system where a socket can't be put. */
export function noFolder(folder: string, cause: unknown): SshError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const advice =
    "Remove it, or set TMPDIR to another folder with a short path that can be written.";
  return new SshError(`${folder} can't have the socket of a connection: ${reason}. ${advice}`, {
    hint: advice,
    cause,
    host: "",
    mayHaveRun: false,
    output: "",
  });
}

/** The error of an `ssh` that ended as if it were connected, and is not. */
export function noMaster(host: string): SshError {
  const advice =
    "Check that `ssh` is OpenSSH's client, and that the host does not close connections at once.";
  return new SshError(`${host} gives no shared connection: ssh ended without one. ${advice}`, {
    hint: advice,
    host,
    mayHaveRun: false,
    output: "",
  });
}

/** The error of a system without `ssh`, or without room for one more process. */
export function notRun(cause: unknown): SshError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const absent = (cause as NodeJS.ErrnoException).code === "ENOENT";
  const advice = absent ? "Install OpenSSH's client." : "Run less at once, or raise `ulimit`.";
  return new SshError(`ssh could not be run: ${reason}. ${advice}`, {
    hint: advice,
    cause,
    host: "",
    mayHaveRun: false,
    output: "",
  });
}

function hint(said: string): string | undefined {
  return HINTS.find(([pattern]) => pattern.test(said))?.[1];
}

function explain(what: string, said: string, advice = hint(said)): string {
  const lines = said.split("\n").map((line) => line.trim());
  const reason = lines.filter((line) => line !== "" && !IRRELEVANT.test(line)).join(" ");
  const message = reason === "" ? what : `${what}: ${reason.replace(/\.$/, "")}`;
  return advice === undefined ? message : `${message}. ${advice}`;
}
