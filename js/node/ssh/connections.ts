import { type ChildProcess, execFile, type ExecFileOptions, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { SshError } from "../../core/errors.js";
import { environmentOfPrograms, findProgram } from "../find-program.js";
import { interrupted, noFolder, noMaster, notRun, refusal } from "./failures.js";
import { quotePath, type SshArguments } from "./options.js";
import { readVersion, setting } from "./settings.js";

/** How many sessions share a connection. OpenSSH's servers allow ten (`MaxSessions`). */
const SESSIONS = 8;

/**
 * How long a connection that nobody uses is kept, in seconds. One that was not closed outlives this
 * process by that; it takes its socket with it.
 */
const PERSIST = 60;

/** How long a master may take to end when it is asked to, in milliseconds. */
const EXIT_TIMEOUT_MS = 5_000;

/** How long it may take to say its version, in milliseconds. */
const VERSION_TIMEOUT_MS = 5_000;

/** A connection that is made, or being made. */
interface Connection {
  /** The `ssh` that makes and uses it. */
  program: string;
  socket: string;
  /** Where it goes, for the `ssh` that made it. */
  arguments: readonly string[];
  sessions: number;
  /** Rejects where there is none to be had. */
  ready: Promise<void>;
  made: boolean;
  /** Gives up making it. */
  making: AbortController;
}

/** The connections to one host. Each is a master of OpenSSH's, at a socket in the user's folder. */
export class Connections {
  readonly #arguments: SshArguments;
  readonly #host: string;
  /** What the names of its sockets begin with, unlike those of others. */
  readonly #name = randomBytes(4).toString("hex");
  /** Those that new sessions may use. */
  #usable: Connection[] = [];
  /** All that there may still be. */
  readonly #all = new Set<Connection>();
  #count = 0;

  constructor(host: string, sshArguments: SshArguments) {
    this.#arguments = sshArguments;
    this.#host = host;
  }

  /**
   * Does something with a connection, of which it gets the program `ssh` and the arguments for that.
   * Does it again over another where a connection that was there before breaks and nothing has run.
   *
   * @throws {InterruptedError} `signal` was aborted before there was one.
   * @throws {SshError} There is none to be had.
   */
  async use<T>(
    signal: AbortSignal,
    act: (program: string, sshArguments: string[]) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { connection, isNew } = await this.#take(signal);
      try {
        // Where the connection breaks just now, `ssh` makes one for this session alone.
        return await act(connection.program, argumentsOf(connection, "no"));
      } catch (error) {
        const hasRunNothing = error instanceof SshError && !error.mayHaveRun;
        if (isNew || !hasRunNothing || (await listens(connection.socket))) throw error;
      } finally {
        connection.sessions -= 1;
      }
    }
  }

  /** The next session gets a new connection. Those that there are go on. */
  renew(): void {
    this.#usable = [];
  }

  /** Ends all connections and what is under way over them. */
  async close(): Promise<void> {
    const all = [...this.#all];
    for (const connection of all) this.#forget(connection);
    await Promise.all(all.map((connection) => this.#end(connection)));
  }

  async #take(signal: AbortSignal): Promise<{ connection: Connection; isNew: boolean }> {
    for (;;) {
      if (signal.aborted) throw interrupted(signal);
      const known = this.#usable.find(({ sessions }) => sessions < SESSIONS);
      const connection = known ?? this.#make();
      connection.sessions += 1;
      let works = false;
      try {
        await unlessAborted(signal, connection.ready);
        works = await listens(connection.socket);
        if (works) return { connection, isNew: known === undefined };
      } finally {
        if (!works) connection.sessions -= 1;
        if (!connection.made && connection.sessions === 0) this.#forget(connection);
      }
      // The master has ended. One that was killed has left its socket.
      this.#forget(connection);
      await rm(connection.socket, { force: true });
      // One that was just made would be made again and again.
      if (known === undefined) throw noMaster(this.#host);
    }
  }

  #make(): Connection {
    const making = new AbortController();
    const connection: Connection = {
      ...{ program: "", socket: "", arguments: [], sessions: 0, made: false, making },
      ready: Promise.resolve(),
    };
    const name = `${this.#name}-${this.#count++}`;
    const make = async (): Promise<void> => {
      connection.program = findSsh();
      connection.arguments = this.#arguments(await sshVersion(connection.program));
      connection.socket = join(await privateFolder(), name);
      await this.#startMaster(connection);
      connection.made = true;
    };
    connection.ready = make();
    // Perhaps nobody waits for it any more.
    connection.ready.catch(() => undefined);
    this.#usable.push(connection);
    this.#all.add(connection);
    return connection;
  }

  /** One that is being made is given up. */
  #forget(connection: Connection): void {
    connection.making.abort();
    this.#all.delete(connection);
    this.#usable = this.#usable.filter((other) => other !== connection);
  }

  async #end(connection: Connection): Promise<void> {
    await connection.ready.catch(() => undefined);
    if (!connection.made) return;
    const child = spawn(connection.program, ["-O", "exit", ...argumentsOf(connection, "no")], {
      ...{ detached: true, stdio: "ignore", env: environmentOfPrograms() },
      ...{ timeout: EXIT_TIMEOUT_MS, killSignal: "SIGKILL" },
    });
    // One that has ended before is as good.
    await once(child, "exit").catch(() => undefined);
    await rm(connection.socket, { force: true });
  }

  /** Resolves when the master is connected and in the background. */
  async #startMaster(connection: Connection): Promise<void> {
    const args = ["-f", "-N", ...argumentsOf(connection, "yes")];
    const child: ChildProcess = spawn(connection.program, args, {
      // Ctrl+C is the caller's: it does not end connections, and nobody is asked for a password.
      ...{ detached: true, stdio: ["ignore", "ignore", "pipe"], env: environmentOfPrograms() },
      ...{ signal: connection.making.signal, killSignal: "SIGKILL" },
    });
    let said = "";
    // One that could not be started may have no pipe.
    const { stderr } = child;
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    try {
      await once(child, "exit").catch((error: unknown) => {
        throw notRun(error);
      });
      if (child.exitCode !== 0) {
        if (stderr?.closed === false) await once(stderr, "close");
        throw refusal(this.#host, said);
      }
    } finally {
      // The master itself may still hold it.
      stderr?.destroy();
    }
  }
}

/** The arguments of an `ssh` that is to make a connection, or to use it. */
function argumentsOf({ socket, arguments: others }: Connection, master: "yes" | "no"): string[] {
  return [
    ...setting("ControlMaster", master),
    ...setting("ControlPath", quotePath(socket)),
    ...setting("ControlPersist", String(PERSIST)),
    ...others,
  ];
}

/**
 * Finds this machine's OpenSSH.
 *
 * @throws {SshError} There is none.
 */
function findSsh(): string {
  try {
    return findProgram("ssh");
  } catch (error) {
    throw notRun(error);
  }
}

/**
 * The version of an OpenSSH.
 *
 * @throws {SshError} It can't be run, or there is no room to run it.
 */
async function sshVersion(program: string): Promise<number> {
  const options = {
    env: environmentOfPrograms(),
    timeout: VERSION_TIMEOUT_MS,
    killSignal: "SIGKILL",
  };
  try {
    const { stderr } = await promisify(execFile)(program, ["-V"], options as ExecFileOptions);
    return readVersion(String(stderr));
  } catch (error) {
    // A system's error has a name; what ran and failed has an exit code, or none.
    if (typeof (error as NodeJS.ErrnoException).code === "string") throw notRun(error);
    return readVersion("");
  }
}

/**
 * A folder of the user's, shared by all processes: nothing is left of one that is killed but a socket,
 * and that its master removes. Its path leaves room: that of a socket has 104 bytes at most.
 */
async function privateFolder(): Promise<string> {
  const parent = tmpdir();
  // OpenSSH puts 17 characters behind the name while it makes the socket.
  const fits = Buffer.byteLength(parent) <= 49 && !/["$\\]/.test(parent);
  const user = process.geteuid?.() ?? 0;
  const folder = join(fits ? parent : "/tmp", `sandpipe-ssh-${user}`);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw noFolder(folder, error);
  }
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== user || (found.mode & 0o077) !== 0) {
    throw noFolder(folder, "it is not this user's alone");
  }
  return folder;
}

/** Waits for something, but no longer than until a signal is aborted. */
async function unlessAborted(signal: AbortSignal, waiting: Promise<void>): Promise<void> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      reject(interrupted(signal));
    };
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Whether there is a master at the socket: one that was killed leaves the file. Rejects where this
 * process has no room to look.
 */
function listens(socket: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EMFILE" || error.code === "ENFILE") reject(notRun(error));
      else resolve(false);
    });
  });
}
