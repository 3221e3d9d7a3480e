import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { notRun, refusal } from "./failures.js";
import { quotePath, setting } from "./options.js";

/** How many sessions share a connection. OpenSSH's servers allow ten (`MaxSessions`). */
const SESSIONS = 8;

/** How long a connection that nobody uses is kept, in seconds: it outlives this process by that. */
const PERSIST = 60;

/** A connection that is made, or being made. */
interface Connection {
  socket: string;
  sessions: number;
  ready: Promise<void>;
}

/** The connections to one host. Each is a master of OpenSSH's, at a socket in a private folder. */
export class Connections {
  readonly #arguments: readonly string[];
  readonly #host: string;
  #folder: Promise<string> | undefined;
  #all: Connection[] = [];
  #made = 0;

  constructor(sshArguments: readonly string[]) {
    this.#arguments = sshArguments;
    this.#host = sshArguments.at(-1) ?? "";
  }

  /**
   * Does something with a connection, of which it gets the arguments for `ssh`.
   *
   * @throws {SshError} There is none to be had.
   */
  async use<T>(act: (sshArguments: string[]) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      // Where the connection breaks just now, `ssh` makes one for this session alone.
      return await act([...this.#control(connection.socket, "no"), ...this.#arguments]);
    } finally {
      connection.sessions -= 1;
    }
  }

  /** Forgets the connections: the next session makes a new one. Those that work go on. */
  renew(): void {
    this.#all = [];
  }

  /** Ends all connections and what is under way over them. */
  async close(): Promise<void> {
    const folder = await this.#folder;
    this.#folder = undefined;
    this.#all = [];
    if (folder === undefined) return;
    const sockets = Array.from({ length: this.#made }, (_, index) => join(folder, String(index)));
    await Promise.all(
      sockets.map((socket) => {
        const args = ["-O", "exit", ...this.#control(socket, "no"), ...this.#arguments];
        const child = spawn("ssh", args, { stdio: "ignore" });
        // One that has ended before is as good.
        return once(child, "exit").catch(() => undefined);
      }),
    );
    await rm(folder, { recursive: true, force: true });
  }

  async #take(): Promise<Connection> {
    for (;;) {
      const connection = this.#all.find(({ sessions }) => sessions < SESSIONS) ?? this.#open();
      connection.sessions += 1;
      try {
        await connection.ready;
        if (await listens(connection.socket)) return connection;
      } catch (error) {
        this.#drop(connection);
        throw error;
      }
      connection.sessions -= 1;
      this.#drop(connection);
    }
  }

  #drop(connection: Connection): void {
    this.#all = this.#all.filter((other) => other !== connection);
  }

  #open(): Connection {
    this.#folder ??= privateFolder();
    const name = String(this.#made++);
    const connection: Connection = { socket: "", sessions: 0, ready: Promise.resolve() };
    connection.ready = this.#folder.then((folder) => {
      connection.socket = join(folder, name);
      return this.#startMaster(connection.socket);
    });
    this.#all.push(connection);
    return connection;
  }

  /** Resolves when the master is connected and in the background. */
  async #startMaster(socket: string): Promise<void> {
    const args = ["-f", "-N", ...this.#control(socket, "yes"), ...this.#arguments];
    const child = spawn("ssh", args, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await once(child, "exit").catch((error: unknown) => {
      throw notRun(error);
    });
    if (child.exitCode !== 0) {
      if (!child.stderr.closed) await once(child.stderr, "close");
      throw refusal(this.#host, said);
    }
    // The master itself may still hold it.
    child.stderr.destroy();
  }

  #control(socket: string, master: "yes" | "no"): string[] {
    return [
      ...setting("ControlMaster", master),
      ...setting("ControlPath", quotePath(socket)),
      ...setting("ControlPersist", String(PERSIST)),
    ];
  }
}

/** A folder for this user alone, whose path leaves room: that of a socket has 104 bytes at most. */
async function privateFolder(): Promise<string> {
  const parent = tmpdir();
  // OpenSSH puts 18 characters behind the name while it makes the socket.
  const fits = Buffer.byteLength(parent) <= 60 && !/["$\\]/.test(parent);
  return mkdtemp(join(fits ? parent : "/tmp", "sandpipe-ssh-"));
}

/** Whether there is a master at the socket: one that was killed leaves the file. */
function listens(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.once("error", () => {
      resolve(false);
    });
  });
}
