/** Which agent, and what it is shown. */
export interface Credentials {
  url: string;
  token: string;
}

/** In the tab's own storage: it is gone with the tab, and no other tab sees it. */
const KEY = "sandpipe.credentials";

/** The address of the agent that serves this page, which may be below a prefix. */
export const ownAgent = new URL(".", location.href).href.replace(/\/$/, "");

/** The token in an address's fragment, `#token=…`. */
export function tokenIn(hash: string): string | undefined {
  const token = new URLSearchParams(hash.replace(/^#/, "")).get("token");
  return token === null || token === "" ? undefined : token;
}

/**
 * The credentials that the page starts with: the address's, which are removed from it at once, or
 * those that the tab has kept.
 */
export function startingCredentials(): Credentials | undefined {
  const token = tokenIn(location.hash);
  if (token !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    return { url: ownAgent, token };
  }
  const kept = sessionStorage.getItem(KEY);
  return kept === null ? undefined : (JSON.parse(kept) as Credentials);
}

export function keep(credentials: Credentials): void {
  sessionStorage.setItem(KEY, JSON.stringify(credentials));
}

export function forget(): void {
  sessionStorage.removeItem(KEY);
}
