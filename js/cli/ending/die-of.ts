/**
 * Ends this process by a signal, as a shell expects of a program that was interrupted: it then ends the loop
 * or the script around it, too. Returns where that can't be: a container's first process is not ended by
 * its own signals, and Windows has none.
 */
export function dieOf(signal: NodeJS.Signals): void {
  if (process.platform === "win32") return;
  // What Node undoes only where it ends by itself: other programs may have these open, too.
  for (const name of ["stdin", "stdout", "stderr"] as const) setBlocking(name);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function setBlocking(name: "stdin" | "stdout" | "stderr"): void {
  try {
    const { _handle: handle } = process[name] as {
      _handle?: { setBlocking?(blocking: boolean): void } | null;
    };
    handle?.setBlocking?.(true);
  } catch {
    // It is nothing that Node can open: nor has it changed it.
  }
}
