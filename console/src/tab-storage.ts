/** What the tab keeps over a reload begins with it. It is gone with the tab, and no other tab sees it. */
const PREFIX = "sandpipe.";

/** What the tab has kept; undefined where there is nothing, or nothing that can be read. */
export function kept(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(name: string, value: unknown): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // There is no room: it is there up to the next reload.
  }
}

/** Removes all that the tab has kept. */
export function forgetAll(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  }
}
