import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

/**
 * The environment of what runs for others: this process's own, without Sandpipe's settings and secrets
 * (`SANDPIPE_*`), as the agent has it for its commands.
 */
export function environmentOfCommands(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env);
  return Object.fromEntries(own.filter(([name]) => !name.startsWith("SANDPIPE_")));
}

/** How long a group that is stopped may take to end after SIGTERM. */
const GRACE_MS = 10_000;

/** How long a group may take to go after SIGKILL: the system holds some up, and some are not ours. */
const KILL_TIMEOUT_MS = 5_000;

/** How often a group is looked at that is to end. */
const POLL_MS = 20;

/** After how many looks its processes are looked at, too, which takes longer. */
const CLOSER_LOOK = 25;

/** Stops a process group: SIGTERM, 10 s, SIGKILL. Resolves whether nothing of it is left. */
export async function stopProcessGroup(group: number): Promise<boolean> {
  const deadline = performance.now() + GRACE_MS;
  let there = signalGroup(group, "SIGTERM");
  // One that is suspended takes it only when it goes on.
  signalGroup(group, "SIGCONT");
  for (let look = 1; there && performance.now() < deadline + KILL_TIMEOUT_MS; look += 1) {
    await setTimeout(POLL_MS);
    there = signalGroup(group, performance.now() < deadline ? 0 : "SIGKILL");
    if (there && look % CLOSER_LOOK === 0 && onlyZombies(group)) return true;
  }
  return !there;
}

/** Signals a process group. Says whether there is anything left of it, also where that is another user's. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Whether all has ended, and nobody reaps it: that is so in containers whose first process does not. */
function onlyZombies(group: number): boolean {
  let zombies = 0;
  try {
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      const [state, , itsGroup] = fieldsOf(pid);
      if (itsGroup !== String(group)) continue;
      if (state !== "Z") return false;
      zombies += 1;
    }
  } catch {
    // A system without /proc does not tell.
    return false;
  }
  // Others' processes may be hidden.
  return zombies > 0;
}

/** State, parent and group of a process (proc_pid_stat(5)); none if it has ended meanwhile. */
function fieldsOf(pid: string): string[] {
  try {
    // They come behind the name, which may hold anything.
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ") ?? [];
  } catch {
    return [];
  }
}
