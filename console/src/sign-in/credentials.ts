import { keep, kept } from "../tab-storage.js";

/** Which agent, and what it is shown. */
export interface Credentials {
  url: string;
  token: string;
}

const NAME = "credentials";

/** The address of the agent that serves this page, which may be below a prefix. */
export const ownAgent = new URL(".", location.href).href.replace(/\/$/, "");

/** The token in an address's fragment: `#token=…`, or behind a route, `#/runs/ID?token=…`. */
export function tokenIn(hash: string): string | undefined {
  const token = new URLSearchParams(hash.replace(/^#([^?]*\?)?/, "")).get("token");
  return token === null || token === "" ? undefined : token;
}

/**
 * The credentials that the page starts with: the address's, which are removed from it at once and kept in the tab, or
 * those that the tab has kept.
 */
export function startingCredentials(): Credentials | undefined {
  const token = tokenIn(location.hash);
  if (token !== undefined) {
    const [route = ""] = location.hash.split("?");
    const hash = route.startsWith("#/") ? route : "";
    history.replaceState(null, "", location.pathname + location.search + hash);
    const credentials = { url: ownAgent, token };
    keepCredentials(credentials);
    return credentials;
  }
  const before = kept(NAME);
  return isCredentials(before) ? before : undefined;
}

/** Keeps them over a reload, also before the agent has answered: it may not be reached yet. */
export function keepCredentials(credentials: Credentials): void {
  keep(NAME, credentials);
}

function isCredentials(value: unknown): value is Credentials {
  if (typeof value !== "object" || value === null) return false;
  const { url, token } = value as Record<keyof Credentials, unknown>;
  return typeof url === "string" && typeof token === "string";
}
