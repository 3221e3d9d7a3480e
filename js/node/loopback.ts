// Agents on this machine are asked without a proxy: it would be handed the token and the environment of commands.

/** Addresses of this machine, as the parts of a URL have them. `0.0.0.0` and `::` lead to it, too. */
const LOOPBACK =
  /^(?:.+\.)?localhost\.?$|^127(?:\.\d+){3}$|^0\.0\.0\.0$|^\[(?:::1?|::ffff:(?:7f[\da-f]{2}:[\da-f]{1,4}|0:0))\]$/;

const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** Returns whether a URL leads to this machine. It may be the caller's, and anything else. */
export function isLoopback(url: unknown): boolean {
  try {
    return LOOPBACK.test(new URL(url as string).hostname);
  } catch {
    return false;
  }
}

/** Returns whether the environment names a proxy, which this runtime may obey. */
export function mayHaveProxy(): boolean {
  const names = PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]);
  try {
    return names.some((name) => (process.env[name] ?? "") !== "");
  } catch {
    // Deno may not let this program read them, and obeys them all the same.
    return true;
  }
}
