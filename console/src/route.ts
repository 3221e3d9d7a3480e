import { rawOfAddress } from "./files/raw-path.js";

/** The pages, in the order of the navigation. */
export const PAGES = ["runs", "files", "ports", "background", "sessions"] as const;

export type Page = (typeof PAGES)[number];

/** What the page shows: one of its pages, and what is selected there. */
export interface Route {
  page: Page;
  /** Of a file, its path, absolute and percent-encoded as the `raw` of a `FileInfo` is. */
  id?: string;
}

/** The route that an address's fragment names: `#/runs/ID`. What names none is the list of runs. */
export function routeOf(hash: string): Route {
  const [, name, ...rest] = hash.split("/");
  const page = hash.startsWith("#/") ? PAGES.find((page) => page === name) : undefined;
  if (page === undefined) return { page: "runs" };
  const id = page === "files" ? rawOfAddress(`/${rest.join("/")}`) : decoded(rest.join("/"));
  return { page, ...(rest.length === 0 || id === "" ? {} : { id }) };
}

/** The fragment that names a route. */
export function hashOf({ page, id }: Route): string {
  if (id === undefined) return `#/${page}`;
  return page === "files" ? `#/files${id}` : `#/${page}/${encodeURIComponent(id)}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
